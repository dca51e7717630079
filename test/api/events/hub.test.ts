/** Subscribing to a log with latency, as on a remote database: each event is delivered once, and no older one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Hub } from '../../../src/api/events/hub.ts'
import type { SubscriptionRequest } from '../../../src/api/events/subscriber.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import type { ChangeFeed } from '../../../src/engine/plan/change-feed.ts'
import { until } from '../transports/service.ts'
import { loggedChange, stubFeed, stubRequest } from './stub.ts'

/** A feed whose results are correct when they are read, and arrive when `delay` resolves. */
function delayedFeed(delay: () => Promise<void>) {
  const stub = stubFeed()
  const later = async <T>(answer: T | Promise<T>): Promise<T> => {
    await delay()
    return answer
  }
  const feed: ChangeFeed = {
    last: () => later(stub.last()),
    bounds: () => later(stub.bounds()),
    after: (event, limit) => later(stub.after(event, limit)),
    onCommit: stub.onCommit,
    poll: async () => {},
  }
  return { stub, feed }
}

function subscribe(hub: Hub) {
  const received: number[] = []
  const sink = {
    next: (_reply: unknown, event: number) => received.push(event),
    end: (error: unknown) => assert.fail(`ended: ${error}`),
  }
  return { got: received, opened: hub.subscribe(stubRequest(), user(1, 'user', 'all'), sink) }
}

function hubOn(feed: ChangeFeed) {
  return new Hub({
    feed,
    maxGroups: 1000,
    beforeDelivery: () => undefined,
    onFault: error => assert.fail(String(error)),
  })
}

test('an event committed during a subscribe is delivered, even if the log is read before its end is known', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const delays = [first.promise, second.promise]
  const { stub, feed } = delayedFeed(() => delays.shift() ?? Promise.resolve())
  const hub = hubOn(feed)
  stub.commit({})
  const { got, opened } = subscribe(hub)
  first.resolve()
  await until(() => delays.length === 0)
  // The first query has returned; the second was sent before this commit and has not returned.
  stub.commit({})
  await pause(20)
  assert.deepEqual(got, [])
  second.resolve()
  const { close } = await opened
  stub.commit({})
  await until(() => got.length === 2)
  assert.deepEqual(got, [2, 3])
  close()
  assert.equal(hub.size, 0)
})

test('a subscription ends with RESYNC_REQUIRED when events were pruned before they were read', async () => {
  const stub = stubFeed()
  const hub = hubOn(stub)
  stub.commit({}, {}, {})
  const ends: unknown[] = []
  const received: number[] = []
  await hub.subscribe(stubRequest(), user(1, 'user', 'all'), {
    next: (_reply, event) => received.push(event),
    end: error => ends.push(error),
  })
  stub.pruned = 8
  stub.log.splice(0, 3, loggedChange({ event: 9 }))
  stub.commit({})
  await until(() => ends.length === 1)
  assert.ok(ends[0] instanceof ApiError && ends[0].code === 'RESYNC_REQUIRED', String(ends[0]))
  assert.deepEqual(received, [])
  assert.equal(hub.size, 0)
})

test('a subscription that is closed while it opens stays closed', async () => {
  const stub = stubFeed()
  const answers = [Promise.resolve(0)]
  const position = Promise.withResolvers<number>()
  answers.push(position.promise)
  const hub = hubOn({ ...stub, last: () => answers.shift() ?? stub.last() })
  const ends: unknown[] = []
  const sink = { next: () => assert.fail('nothing is sent'), end: (error: unknown) => ends.push(error) }
  const subscribing = hub.subscribe(stubRequest(), user(1, 'user', 'all'), sink)
  await pause(20)
  // More replies than are buffered for the subscriber: it would have to replay them.
  stub.commit(...Array.from({ length: 300 }, () => ({})))
  await pause(20)
  hub.close()
  position.resolve(0)
  const { close } = await subscribing
  assert.equal(hub.size, 0)
  close()
  await pause(20)
  assert.equal(hub.size, 0)
  assert.deepEqual(ends, [undefined])
})

test('a gap in the event ids is not taken for lost events', async () => {
  const stub = stubFeed()
  const hub = hubOn(stub)
  stub.commit({}, {}, {})
  const { got, opened } = subscribe(hub)
  const { close } = await opened
  stub.pruned = 3
  stub.log.push(loggedChange({ event: 9 }))
  stub.commit({})
  await until(() => got.length === 2)
  assert.deepEqual(got, [9, 10])
  close()
})

test('each of many subscribers gets every later event, once and in order', async () => {
  const { stub, feed } = delayedFeed(() => pause(Math.random() * 4))
  const hub = hubOn(feed)
  const all: { from: number; until: number; received: number[]; close: () => void }[] = []
  for (let round = 0; round < 60; round++) {
    stub.commit(...Array.from({ length: round % 4 }, () => ({})))
    if (round % 3 === 0) {
      const from = stub.log.length
      const { got, opened } = subscribe(hub)
      opened.then(({ close }) => all.push({ from, until: stub.log.length, received: got, close }))
    }
    await pause(Math.random() * 4)
  }
  await pause(100)
  assert.equal(all.length, 20)
  for (const { from, until, received } of all) {
    const first = received[0] ?? stub.log.length + 1
    assert.ok(first > from && first <= until + 1, `${first} after ${from}, at last ${until}`)
    assert.deepEqual(
      received,
      stub.log.map(change => change.event).filter(event => event >= first),
    )
  }
  for (const { close } of all) close()
  assert.equal(hub.size, 0)
})

test('a delivery to many groups yields to other work, and each member gets each event once', async () => {
  const stub = stubFeed()
  const hub = hubOn(stub)
  let turn = 0
  const turns = setInterval(() => turn++, 0)
  const renderedIn = new Set<number>()
  const render = ({ row, event }: { readonly row: string; readonly event: number }) => {
    if (event === 1) renderedIn.add(turn)
    // A slow rule.
    for (const until = performance.now() + 2; performance.now() < until; );
    return row
  }
  const received: number[][] = []
  const subscriptions = await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const events: number[] = []
      received.push(events)
      const sink = { next: (_: unknown, event: number) => events.push(event), end: () => assert.fail() }
      return hub.subscribe({ ...stubRequest(render), key: `group ${index}` }, user(1, 'user', 'all'), sink)
    }),
  )
  try {
    stub.commit({}, {})
    await until(() => (received[0]?.length ?? 0) === 1)
    // In the middle of a delivery: some have the event, others join a group that has it or not.
    for (const subscription of subscriptions) subscription.changePrincipal(user(2, 'user', 'all'))
    await until(() => received.every(events => events.length === 2))
    for (const events of received) assert.deepEqual(events, [1, 2])
    assert.ok(renderedIn.size > 1)
  } finally {
    clearInterval(turns)
    for (const { close } of subscriptions) close()
  }
})

test('listeners of one user whose tokens have different claims get what their own claims allow', async () => {
  const stub = stubFeed()
  const hub = hubOn(stub)
  const request: SubscriptionRequest = {
    key: 'posts of the own organisation',
    rendererFor: ({ claims }) => ({
      topics: [{ collection: 'posts', kind: 'created' }],
      render: ({ row }) => (JSON.parse(row).org === claims?.values.get('org') ? row : null),
    }),
  }
  const listeners = await Promise.all(
    ['red', 'blue'].map(async org => {
      const received: string[] = []
      const principal = {
        ...user(1, 'user', 'all'),
        claims: { key: `org=${org}`, values: new Map([['org', org]]) },
      }
      const sink = {
        next: ({ text }: { readonly text: string }) => received.push(JSON.parse(text).org),
        end: (error: unknown) => assert.fail(`ended: ${error}`),
      }
      const { close } = await hub.subscribe(request, principal, sink)
      return { received, close }
    }),
  )
  stub.commit({ row: { org: 'red' } }, { row: { org: 'blue' } }, { row: { org: 'red' } })
  const all = () => listeners.map(({ received }) => received)
  await until(() => all().flat().length === 3)
  assert.deepEqual(all(), [['red', 'red'], ['blue']])
  for (const { close } of listeners) close()
})

test('listeners of one user through different apps get what their own app allows', async () => {
  const stub = stubFeed()
  const hub = hubOn(stub)
  const request: SubscriptionRequest = {
    key: 'posts of the own app',
    rendererFor: ({ app }) => ({
      topics: [{ collection: 'posts', kind: 'created' }],
      render: ({ row }) => (JSON.parse(row).org === app?.name ? row : null),
    }),
  }
  const listeners = await Promise.all(
    ['red', 'blue'].map(async org => {
      const received: string[] = []
      const app = { id: org.length, name: org }
      const principal = user(1, 'user', 'all', undefined, undefined, { app, grant: null })
      const sink = {
        next: ({ text }: { readonly text: string }) => received.push(JSON.parse(text).org),
        end: (error: unknown) => assert.fail(`ended: ${error}`),
      }
      const { close } = await hub.subscribe(request, principal, sink)
      return { received, close }
    }),
  )
  stub.commit({ row: { org: 'red' } }, { row: { org: 'blue' } }, { row: { org: 'red' } })
  const all = () => listeners.map(({ received }) => received)
  await until(() => all().flat().length === 3)
  assert.deepEqual(all(), [['red', 'red'], ['blue']])
  for (const { close } of listeners) close()
})
