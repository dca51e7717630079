/** Subscribers during an outage of the database: afterwards they get every event, once and in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Hub } from '../../../src/api/events/hub.ts'
import type { SubscriptionRequest } from '../../../src/api/events/subscriber.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { user } from '../../../src/base/principal.ts'
import type { ChangeFeed } from '../../../src/engine/plan/change-feed.ts'
import { until } from '../transports/service.ts'
import { stubFeed } from './stub.ts'

function fixture(retryLimitMs = 60_000) {
  const stub = stubFeed()
  const faults: unknown[] = []
  /** The part that fails: the log, every reply, or only the replies for one event. */
  const state = { log: false, replies: false, event: 0, bugs: 0 }
  const unavailable = () => new ApiError('UNAVAILABLE')
  const ask = async <T>(answer: T | Promise<T>): Promise<T> => {
    if (state.log) throw unavailable()
    return answer
  }
  const feed: ChangeFeed = {
    last: () => ask(stub.last()),
    bounds: () => ask(stub.bounds()),
    after: (event, limit) => {
      if (state.bugs-- > 0) throw new TypeError('a bug')
      return ask(stub.after(event, limit))
    },
    onCommit: stub.onCommit,
    poll: () => ask(undefined),
  }
  /** Each reply names the permissions that it was rendered with. */
  const request: SubscriptionRequest = {
    key: 'new posts',
    rendererFor: ({ access }) => ({
      topics: [{ collection: 'posts', kind: 'created' }],
      render: async ({ event }) => {
        await pause(1)
        if (state.replies || state.event === event) throw unavailable()
        return access.key
      },
    }),
  }
  const hub = new Hub({
    feed,
    maxGroups: 1000,
    beforeDelivery: () => undefined,
    onFault: error => faults.push(error),
    retryLimitMs,
  })
  const subscriber = async (id: number, role = 'user') => {
    const received: number[] = []
    const replies: string[] = []
    const ends: unknown[] = []
    const { changePrincipal, close } = await hub.subscribe(request, user(id, role, 'all'), {
      next: ({ text }, event) => {
        received.push(event)
        replies.push(text)
      },
      end: error => ends.push(error),
    })
    return { got: received, replies, ends, changePrincipal, close }
  }
  return { stub, state, faults, hub, subscriber }
}

const five = [1, 2, 3, 4, 5]

for (const [name, parts] of [
  ['the log', { log: true }],
  ['the replies', { replies: true }],
  ['both', { log: true, replies: true }],
] as const) {
  test(`after an outage of ${name}, commits are delivered and one fault is reported`, async () => {
    const { stub, state, faults, hub, subscriber } = fixture()
    const all = await Promise.all([subscriber(1), subscriber(1), subscriber(2)])
    stub.commit({}, {})
    await until(() => all.every(({ got }) => got.length === 2))
    Object.assign(state, parts)
    for (let times = 0; times < 3; times++) {
      stub.commit({})
      await pause(100)
    }
    for (const { got } of all) assert.deepEqual(got, [1, 2])
    Object.assign(state, { log: false, replies: false })
    await until(() => all.every(({ got }) => got.length >= 5))
    await pause(50)
    for (const { got, ends } of all) assert.deepEqual([got, ends], [five, []])
    assert.equal(faults.length, 1)
    for (const { close } of all) close()
    assert.equal(hub.size, 0)
  })
}

test('after a fault, the log is read again at increasing intervals without another commit', async () => {
  const { stub, state, faults, subscriber } = fixture()
  const first = await subscriber(1)
  await pause(20)
  state.bugs = 3
  stub.commit({})
  const beganAt = performance.now()
  await until(() => first.got.length === 1)
  assert.ok(performance.now() - beganAt > 1300, 'three pauses: 200, 400 and 800 ms')
  assert.deepEqual([first.got, first.ends, faults.length], [[1], [], 3])
  state.bugs = 1
  stub.commit({})
  const failedAt = performance.now()
  await until(() => first.got.length === 2)
  assert.ok(performance.now() - failedAt < 800, 'the first pause is short again')
  first.close()
})

test('a reply that keeps failing while the database responds ends the subscription', async () => {
  const { stub, state, subscriber } = fixture(500)
  const first = await subscriber(1)
  state.event = 2
  stub.commit({}, {}, {})
  await until(() => first.ends.length === 1)
  assert.deepEqual(first.got, [1])
  assert.ok(first.ends[0] instanceof ApiError && first.ends[0].code === 'UNAVAILABLE')
})

test('a subscriber whose permissions change during an outage gets every event once, rendered with the new ones', async () => {
  const { stub, state, subscriber } = fixture()
  const [changed, unchanged] = await Promise.all([subscriber(1), subscriber(1)])
  state.replies = true
  stub.commit({}, {}, {})
  await pause(50)
  const admin = user(1, 'admin', 'all')
  changed.changePrincipal(admin)
  state.replies = false
  await until(() => changed.got.length >= 3 && unchanged.got.length >= 3)
  await pause(50)
  assert.deepEqual(
    [changed.got, unchanged.got],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  )
  assert.deepEqual(changed.replies, Array(3).fill(admin.access.key))
  assert.ok(unchanged.replies.every(reply => reply !== admin.access.key))
  changed.close()
  unchanged.close()
})

test('a subscriber that leaves during an outage delays nobody', async () => {
  const { stub, state, hub, subscriber } = fixture()
  const first = await subscriber(1)
  state.replies = true
  stub.commit({})
  await pause(50)
  first.close()
  assert.equal(hub.size, 0)
  state.replies = false
  const other = await subscriber(2)
  stub.commit({})
  await until(() => other.got.length === 1)
  assert.deepEqual([first.got, other.got], [[], [2]])
  other.close()
})
