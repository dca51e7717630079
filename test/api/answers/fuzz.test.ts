/**
 * The widest requests on the largest data: no answer exceeds its bound, and none takes more time on the event loop or more
 * memory than decisions/bounded-answers.md says. `PORTICO_MATRIX=whole` sends 20 times as many; `PORTICO_SEED` chooses others.
 */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { defaultAnswerLimits } from '../../../src/engine/plan/answer-bound.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { caseCount, isWhole, seed } from '../../cases.ts'
import { chosen } from '../../chosen.ts'
import { postgres } from '../../setups/postgres.ts'
import type { Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { openWebSocket, until } from '../transports/service.ts'
import { fillWith, samples } from './data.ts'
import { MeasuredService, type Usage } from './measured.ts'
import { type WideRequest, wideRequests } from './requests.ts'

const count = caseCount(200, 10)

/** Other programs on the same cores also make processor time longer. */
const maxTurnMs = 50 * (isWhole ? 1 : 3)
/** The heap keeps some garbage between requests. */
const maxBytes = 8 * defaultAnswerLimits.readBytes

/** Headers, and what surrounds an answer in its response. */
const envelopeBytes = 20_000

interface Outcome {
  readonly status: number
  readonly text: string
}

type Send = (url: string, request: WideRequest, headers: Record<string, string>) => Promise<Outcome>

const byHttp: Send = async (url, { method, path, body }, headers) => {
  const response = await fetch(url + path, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

const byEventStream: Send = (url, request, headers) =>
  byHttp(url, request, { ...headers, Accept: 'text/event-stream' })

const bySocket: Send = async (url, { body }, headers) => {
  const opened = await openWebSocket(`${url.replace('http', 'ws')}/graphql`)
  try {
    opened.send({ type: 'connection_init', payload: headers })
    await until(() => opened.messages.length === 1, 60_000)
    opened.send({ id: '1', type: 'subscribe', payload: body })
    await until(() => opened.messages.length > 1, 60_000)
    return { status: 200, text: opened.messages[1] ?? '' }
  } finally {
    opened.socket.close()
  }
}

const graphqlTransports = [byHttp, byEventStream, bySocket]

/** What is wrong with the outcome; undefined if nothing is. */
function faultOf({ status, text }: Outcome, { maxTurnMs: turnMs, bytes }: Usage, isRead: boolean) {
  const bound = isRead ? defaultAnswerLimits.readBytes : defaultAnswerLimits.writeBytes
  const size = Buffer.byteLength(text)
  if (status >= 500 || text.includes('INTERNAL_ERROR')) return `${status} ${text.slice(0, 300)}`
  if (size > bound + envelopeBytes) return `an answer of ${size} bytes`
  if (turnMs > maxTurnMs) return `${turnMs} ms of one turn of the event loop`
  if (bytes > maxBytes) return `${bytes} bytes of memory`
  return undefined
}

function isReading({ method, body }: WideRequest): boolean {
  return method === 'GET' || JSON.stringify(body ?? '').startsWith('{"query":"{')
}

async function fuzz(setup: Setup, name: keyof typeof samples): Promise<string> {
  const { declaration, newItems } = samples[name]
  const deployment = await setup.open()
  try {
    const headers = { Authorization: `Bearer ${await fillWith(samples[name], deployment)}` }
    const settings = { ...deployment.settings, port: 0, host: '127.0.0.1', logLevel: 'silent' } as const
    const limits = { rateLimit: 'off', maxDelay: '60 s', cacheSize: '0 B', databaseTimeout: '60 s' } as const
    const service = await MeasuredService.start({ model: name, settings: { ...settings, ...limits } })
    try {
      return await sendAll(service, wideRequests(checkModel(declaration), newItems, seed, count), headers)
    } finally {
      await service.close()
    }
  } finally {
    await deployment.close()
  }
}

/** Returns what the requests took at most. */
async function sendAll(
  service: MeasuredService,
  requests: readonly WideRequest[],
  headers: Record<string, string>,
): Promise<string> {
  const faults: string[] = []
  const most = { turnMs: 0, bytes: 0, answered: 0, tooLarge: 0 }
  // Compiling what the first request needs takes a long turn.
  for (const path of ['/api/v1/users', '/graphql?query={__typename}']) {
    await byHttp(service.url, { method: 'GET', path }, headers)
  }
  for (const [index, request] of requests.entries()) {
    const isGraphql = request.path === '/graphql'
    const send = (isGraphql && graphqlTransports[index % graphqlTransports.length]) || byHttp
    let outcome: Outcome = { status: 0, text: '' }
    const usage = await service.measure(async () => {
      outcome = await send(service.url, request, headers)
    })
    const fault = faultOf(outcome, usage, isReading(request))
    if (fault !== undefined) faults.push(`${index}: ${fault}: ${JSON.stringify(request).slice(0, 300)}`)
    most.turnMs = Math.max(most.turnMs, usage.maxTurnMs)
    most.bytes = Math.max(most.bytes, usage.bytes)
    if (outcome.text.includes('ANSWER_TOO_LARGE')) most.tooLarge++
    else if (outcome.text.length > 100_000) most.answered++
  }
  assert.deepEqual(faults, [])
  // Otherwise, the requests would not be what they should be.
  assert.ok(most.answered > 0 && most.tooLarge > 0, JSON.stringify(most))
  return JSON.stringify(most)
}

for (const setup of chosen([sqlite, postgres])) {
  suite(`the widest requests on ${setup.name}`, () => {
    for (const name of ['blog', 'tracker'] as const) {
      test(`the ${name} answers within the bounds of size, time and memory`, async context => {
        context.diagnostic(await fuzz(setup, name))
      })
    }
  })
}
