import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Consents } from '../../../../src/identity/server/consent/consents.ts'
import {
  type InteractionRequest,
  Interactions,
} from '../../../../src/identity/server/consent/interactions.ts'

class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound'
}

/** A request to an interaction page; `end` rejects when the interaction is to be finished. */
function requestOf(end: Error): InteractionRequest {
  const provider = {
    interactionDetails: async () => ({ uid: 'one' }),
    interactionResult: () => Promise.reject(end),
  }
  return { provider, req: { url: '/oauth/interaction/one' }, res: {} } as unknown as InteractionRequest
}

const interactions = new Interactions({ consents: {} as Consents, sentencesOf: () => [], onConnected() {} })

test('a form that is sent twice at the same time is answered as one that is late', async () => {
  const request = requestOf(new SessionNotFound('interaction session not found'))
  const signIn = { userId: 1, remember: true, at: 0 }
  for (const end of [
    interactions.deny(request),
    interactions.keepAccount(request),
    interactions.finishLogin(request, signIn),
  ]) {
    await assert.rejects(end, { code: 'NOT_FOUND', message: /finished in another tab/ })
  }
})

test('another failure is not hidden', async () => {
  await assert.rejects(interactions.deny(requestOf(new Error('the disk is full'))), /the disk is full/)
})
