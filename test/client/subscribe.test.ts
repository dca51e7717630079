/** Subscriptions whose connections fail in every way; the clock is mocked. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ApiError, createClient } from '../../src/client.ts'
import type tracker from '../models/tracker.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
afterEach(() => mock.timers.reset())

type Connect = (request: Request, signal: AbortSignal) => Response | Promise<Response>

/** A stream with these blocks, which then ends, breaks or stays open. */
function stream(blocks: readonly string[], end: 'end' | 'break' | 'stay' = 'end'): Connect {
  return (_request, signal) => {
    const body = new ReadableStream({
      start(controller) {
        for (const block of blocks) controller.enqueue(new TextEncoder().encode(block))
        if (end === 'end') controller.close()
        signal.addEventListener('abort', () => end === 'stay' && controller.error(signal.reason))
      },
      pull(controller) {
        if (end === 'break') controller.error(new TypeError('terminated'))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }
}

const event = (id: number) => `id: ${id}\nevent: task.created\ndata: {"id":"${id}","type":"task.created"}\n\n`
const refuse =
  (status: number, code: string, headers = {}) =>
  () =>
    Response.json({ error: { code, message: code } }, { status, headers })

/** Subscribes over these connections, one after the other, until `count` events have arrived. */
async function listen(connections: readonly Connect[], count: number, after?: string) {
  const requests: Request[] = []
  let token = 'old'
  const api = createClient<typeof tracker>({
    baseUrl: 'https://api.example.com',
    token: refused => {
      if (refused !== undefined) token = 'new'
      return token
    },
    fetch: async (url, init = {}) => {
      const request = new Request(url, init)
      const connect = connections[requests.length] ?? stream([], 'stay')
      requests.push(request)
      return connect(request, init.signal ?? assert.fail('a stream can be ended'))
    },
  })
  const ids: string[] = []
  const states: boolean[] = []
  const options = { after, onConnection: (isConnected: boolean) => states.push(isConnected) }
  const work = (async () => {
    for await (const { id } of api.tasks.subscribe(options)) if (ids.push(id) === count) return undefined
    return undefined
  })().catch((error: unknown) => error)
  let error: unknown
  let isOver = false
  void work.then(thrown => {
    error = thrown
    isOver = true
  })
  let seconds = 0
  for (; !isOver && seconds < 300; seconds++) {
    for (let n = 0; n < 20; n++) await turn()
    if (!isOver) mock.timers.tick(1_000)
  }
  assert.ok(isOver, `${ids.length} of ${count} events`)
  const places = requests.map(({ url }) => new URL(url).searchParams.get('after'))
  return { ids, states, error, seconds, places, requests }
}

test('a subscription resumes after the last event, whether the connection ends or breaks', async () => {
  const connections = [
    stream([':\nid: 3\n\n', event(4)]),
    stream([event(5)], 'break'),
    stream([event(6)], 'stay'),
  ]
  const { ids, places, states } = await listen(connections, 3)
  assert.deepEqual(ids, ['4', '5', '6'])
  assert.deepEqual(places, [null, '4', '5'])
  assert.deepEqual(states, [true, false, true, false, true, false])
})

test('a subscription resumes from its first position if no event has arrived', async () => {
  assert.deepEqual((await listen([stream([':\nid: 3\n\n']), stream([event(4)])], 1)).places, [null, '3'])
  assert.deepEqual((await listen([stream(['\n', ':\n\n']), stream([event(1)])], 1)).places, [null, '0'])
  assert.deepEqual((await listen([stream(['\n']), stream([event(1)])], 1)).places, [null, null])
  assert.deepEqual((await listen([stream([event(9)])], 1, '8')).places, ['8'])
})

test('a subscription yields an event once, and never a partial one', async () => {
  const cut = event(5).slice(0, 30)
  const connections = [stream([event(4), cut]), stream([event(4), event(5)])]
  const { ids, places } = await listen(connections, 2)
  assert.deepEqual(
    [ids, places],
    [
      ['4', '5'],
      [null, '4'],
    ],
  )
})

test('a subscription aborts a silent connection', async () => {
  const { ids, seconds, places } = await listen([stream([event(4)], 'stay'), stream([event(5)])], 2)
  assert.deepEqual(
    [ids, places],
    [
      ['4', '5'],
      [null, '4'],
    ],
  )
  assert.ok(seconds >= 40 && seconds <= 42, String(seconds))
})

test('a subscription reconnects with back-off, and not before Retry-After', async () => {
  mock.method(Math, 'random', () => 0.999)
  const down = () => Promise.reject(new TypeError('fetch failed'))
  const tries = await listen([...Array(8).fill(down), stream([event(1)])], 1)
  // 0.5 + 1 + 2 + 4 + 8 + 16 + 30 + 30 seconds.
  assert.ok(tries.seconds >= 89 && tries.seconds <= 100, String(tries.seconds))
  const busy = await listen([refuse(503, 'UNAVAILABLE', { 'retry-after': '20' }), stream([event(1)])], 1)
  assert.ok(busy.seconds >= 20 && busy.seconds <= 22, String(busy.seconds))
  mock.restoreAll()
})

test('a subscription requests a new token when the old one has expired', async () => {
  const connections = [stream([event(1)]), refuse(401, 'UNAUTHORIZED'), stream([event(2)])]
  const { ids, requests } = await listen(connections, 2)
  assert.deepEqual(ids, ['1', '2'])
  assert.deepEqual(
    requests.map(({ headers }) => headers.get('authorization')),
    ['Bearer old', 'Bearer old', 'Bearer new'],
  )
})

test('a subscription throws errors that reconnecting would not fix', async () => {
  const resync =
    'id: 9\nevent: resync_required\ndata: {"error":{"code":"RESYNC_REQUIRED","message":"Gone."}}\n\n'
  const page = () => new Response('<h1>Hello</h1>', { headers: { 'content-type': 'text/html' } })
  const cases: readonly [connect: Connect, code: string][] = [
    [stream([resync]), 'RESYNC_REQUIRED'],
    [refuse(403, 'INSUFFICIENT_SCOPE'), 'INSUFFICIENT_SCOPE'],
    [refuse(400, 'BAD_REQUEST'), 'BAD_REQUEST'],
    [page, 'UNEXPECTED_ANSWER'],
  ]
  for (const [connect, code] of cases) {
    const { error, requests } = await listen([connect], 1)
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.code, requests.length], [code, 1])
  }
})
