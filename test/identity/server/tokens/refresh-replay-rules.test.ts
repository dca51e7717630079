/** Which refresh requests get a stored response, without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from 'oidc-provider'
import type { NewRecord, Records } from '../../../../src/base/records.ts'
import { withRequestState } from '../../../../src/identity/server/provider/request-state.ts'
import { parseForm } from '../../../../src/identity/server/requests/form.ts'
import { replayRefreshes } from '../../../../src/identity/server/tokens/refresh-replay.ts'

interface Sent {
  readonly form?: string
  readonly authorization?: string
  readonly dpop?: string
}

const form = 'grant_type=refresh_token&refresh_token=a-token'

/** A token endpoint with a different response each time. */
function open(status = 200) {
  const stored = new Map<string, NewRecord>()
  const faults: unknown[] = []
  const records = {
    get: async (_kind: string, id: string) => stored.get(id),
    add: async (record: NewRecord) => !stored.has(record.id) && !!stored.set(record.id, record),
    put: async (record: NewRecord) => void stored.set(record.id, record),
    delete: async (_kind: string, id: string) => stored.delete(id),
  } as unknown as Records
  const replay = replayRefreshes({
    records,
    seconds: 60,
    onFault: error => faults.push(error),
  })
  let answers = 0
  const send = async (sent: Sent = {}) => {
    const headers: Record<string, string | undefined> = { authorization: sent.authorization, dpop: sent.dpop }
    const ctx = {
      path: '/oauth/token',
      get: (name: string) => headers[name] ?? '',
      set() {},
      status: 404,
      type: '',
      body: undefined as unknown,
    }
    const answer = async () => {
      ctx.status = status
      ctx.body = { answer: ++answers }
    }
    const state = { browser: { userAgent: '', address: '' }, form: parseForm(sent.form ?? form) }
    await withRequestState(state, async () => replay(ctx as unknown as Context, answer))
    assert.deepEqual(faults, [])
    return (ctx.body as { readonly answer: number }).answer
  }
  return { send, stored }
}

test('an identical request gets the same response', async () => {
  const { send } = open()
  assert.deepEqual([await send(), await send(), await send()], [1, 1, 1])
})

test('concurrent identical requests get the same response', async () => {
  const { send } = open()
  assert.deepEqual(await Promise.all([send(), send(), send()]), [1, 1, 1])
})

const others: readonly (readonly [what: string, sent: Sent])[] = [
  ['with another token', { form: 'grant_type=refresh_token&refresh_token=another' }],
  ['for another scope', { form: `${form}&scope=read:post` }],
  ['with another client’s credentials', { authorization: 'Basic eA==' }],
  ['with another DPoP proof', { dpop: 'proof' }],
  ['for another grant type', { form: 'grant_type=authorization_code&refresh_token=a-token' }],
]

for (const [what, sent] of others) {
  test(`a request ${what} gets its own response`, async () => {
    const { send } = open()
    assert.deepEqual([await send(), await send(sent), await send()], [1, 2, 1])
  })
}

test('a refusal is not stored', async () => {
  const { send, stored } = open(400)
  assert.deepEqual([await send(), await send()], [1, 2])
  assert.equal(stored.size, 0)
})

test('a response is stored for the configured time, encrypted', async () => {
  const { send, stored } = open()
  const before = Date.now()
  await send()
  const after = Date.now()
  const [{ expiresAt, payload } = assert.fail()] = [...stored.values()]
  assert.ok(Number(expiresAt) >= before + 60_000 && Number(expiresAt) <= after + 60_000)
  assert.ok(!Buffer.from(payload, 'base64url').toString('latin1').includes('answer'))
})
