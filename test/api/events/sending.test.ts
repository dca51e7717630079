/** What many subscribers are sent at once: in shares of a turn of the event loop, and held in memory once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { EventReply } from '../../../src/api/events/event-reply.ts'
import { EventStream } from '../../../src/api/events/event-stream.ts'
import { Hub } from '../../../src/api/events/hub.ts'
import { user } from '../../../src/base/principal.ts'
import { until } from '../transports/service.ts'
import { stubFeed, stubRequest } from './stub.ts'

const subscriberCount = 60
const rowCharacters = 100_000
/** 1 MiB, and the reply that exceeds it. */
const maxTurnCharacters = 1_048_576 + rowCharacters

/** A hub on a log in memory, and the most characters that its subscribers were sent in one turn of the event loop. */
function measuredHub(t: TestContext) {
  const stub = stubFeed()
  const hub = new Hub({
    feed: stub,
    maxGroups: 1000,
    beforeDelivery: () => undefined,
    onFault: error => assert.fail(String(error)),
  })
  const measured = { most: 0, turns: 0 }
  let inThisTurn = 0
  // Queued before what the hub queues, so it runs first in every turn.
  const countTurn = () => {
    inThisTurn = 0
    immediate = setImmediate(countTurn)
  }
  let immediate = setImmediate(countTurn)
  t.after(() => clearImmediate(immediate))
  const count = ({ text }: EventReply) => {
    if (inThisTurn === 0) measured.turns++
    inThisTurn += text.length
    measured.most = Math.max(measured.most, inThisTurn)
  }
  const subscribe = async (after?: number, onEvent?: () => void) => {
    const replies: EventReply[] = []
    const events: number[] = []
    const next = (reply: EventReply, event: number) => {
      count(reply)
      replies.push(reply)
      events.push(event)
      onEvent?.()
    }
    const sink = { next, end: assert.fail }
    return {
      replies,
      events,
      ...(await hub.subscribe(stubRequest(), user(1, 'user', 'all'), sink, { after })),
    }
  }
  return { stub, measured, subscribe }
}

const row = 'x'.repeat(rowCharacters)

async function subscribeAll(hub: ReturnType<typeof measuredHub>, after?: number) {
  return Promise.all(Array.from({ length: subscriberCount }, () => hub.subscribe(after)))
}

for (const way of ['live', 'replayed'] as const) {
  test(`long ${way} events for many equal subscribers are spread over turns, in order, encoded once`, async t => {
    const hub = measuredHub(t)
    const rows = [{ row }, { row: `${row}y` }]
    if (way === 'replayed') hub.stub.commit(...rows)
    const subscribers = await subscribeAll(hub, way === 'replayed' ? 0 : undefined)
    if (way === 'live') hub.stub.commit(...rows)
    await until(() => subscribers.every(({ events }) => events.length === rows.length))
    for (const { events } of subscribers) assert.deepEqual(events, [1, 2])
    assert.ok(hub.measured.most <= maxTurnCharacters, `${hub.measured.most} characters in one turn`)
    for (const index of rows.keys()) {
      const chunks = new Set(subscribers.map(({ replies }) => replies[index]?.chunk))
      assert.equal(chunks.size, 1)
      assert.ok([...chunks].every(Buffer.isBuffer))
    }
    for (const { close } of subscribers) close()
  })
}

test('subscribers that leave or change their rights during a long delivery get nothing twice, and the others everything', async t => {
  const hub = measuredHub(t)
  // It is sent each event first, when the others still wait for theirs.
  const first = await hub.subscribe(undefined, () => {
    if (first.events.length > 1) return
    for (const { close } of leaving) close()
    for (const { changePrincipal } of changing) changePrincipal(user(1, 'admin', 'all'))
  })
  const others = await subscribeAll(hub)
  const leaving = others.splice(-5)
  const changing = others.splice(-5)
  hub.stub.commit({ row }, { row })
  await until(() => [first, ...others, ...changing].every(({ events }) => events.length === 2))
  for (const { events } of [first, ...others, ...changing]) assert.deepEqual(events, [1, 2])
  assert.deepEqual(
    leaving.flatMap(({ events }) => events),
    [],
  )
  for (const { close } of [first, ...others, ...changing]) close()
})

test('short events are sent to all in one turn', async t => {
  const hub = measuredHub(t)
  const subscribers = await subscribeAll(hub)
  hub.stub.commit({})
  await until(() => subscribers.every(({ events }) => events.length === 1))
  assert.equal(hub.measured.turns, 1)
  for (const { close } of subscribers) close()
})

test('a stream passes bytes on without copying them, and takes any event of a client that has read everything', async () => {
  const stream = new EventStream(100, () => assert.fail())
  const bytes = Buffer.alloc(1000, 'x')
  await stream.next()
  stream.send('data: ', bytes, '\n\n')
  assert.deepEqual(await stream.next(), { value: 'data: ', done: false })
  assert.equal((await stream.next()).value, bytes)
  stream.send('a', 'b')
  assert.deepEqual(await stream.next(), { value: '\n\nab', done: false })
  stream.end('')
})
