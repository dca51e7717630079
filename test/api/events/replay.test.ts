/** Resuming from an event: missed events come before live ones; none is lost, repeated or out of order. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EventReply } from '../../../src/api/events/event-reply.ts'
import { Hub } from '../../../src/api/events/hub.ts'
import type { ReplySink, SubscriptionRequest } from '../../../src/api/events/subscriber.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import type { ChangeFeed } from '../../../src/engine/plan/change-feed.ts'
import { until } from '../transports/service.ts'
import { stubFeed, stubRequest } from './stub.ts'

const ada = user(1, 'user', 'all')
const ben = user(2, 'user', 'all')
const admin = user(3, 'admin', 'all')

interface Fixture {
  /** Delays of each read of the log and of each reply; undefined: none. */
  readonly answer?: () => Promise<unknown>
  readonly render?: () => Promise<unknown>
}

function fixture({ answer, render }: Fixture = {}) {
  const stub = stubFeed()
  /** The positions at which the log was read. */
  const reads: number[] = []
  let rendered = 0
  const feed: ChangeFeed = {
    ...stub,
    last: () => (answer ? answer().then(() => stub.last()) : stub.last()),
    bounds: () => (answer ? answer().then(() => stub.bounds()) : stub.bounds()),
    after(event, limit, maxBytes) {
      reads.push(event)
      const changes = stub.after(event, limit, maxBytes)
      return answer ? answer().then(() => changes) : changes
    },
  }
  const request = stubRequest(({ row }) => {
    rendered++
    return render ? render().then(() => row) : row
  })
  const hub = new Hub({
    feed,
    maxGroups: 1000,
    beforeDelivery: () => undefined,
    onFault: error => assert.fail(String(error)),
  })
  const subscribe = async (after?: number, principal: Principal = ada, sink: Partial<ReplySink> = {}) => {
    const received: number[] = []
    const ends: unknown[] = []
    const subscription = await hub.subscribe(
      request,
      principal,
      { next: (_reply, event) => void received.push(event), end: error => void ends.push(error), ...sink },
      { after },
    )
    return { got: received, ends, subscription }
  }
  return { stub, hub, subscribe, reads, rendered: () => rendered }
}

const commit = (stub: ReturnType<typeof stubFeed>, count: number) =>
  stub.commit(...Array.from({ length: count }, () => ({})))
const pause = () => new Promise(resolve => setTimeout(resolve, Math.random() * 3))
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

const kinds: readonly (readonly [string, Fixture])[] = [
  ['a log without latency', {}],
  ['a log and replies with latency', { answer: pause, render: pause }],
]

for (const [name, parts] of kinds) {
  describe(name, () => {
    test('missed events come before live ones and in order, even when both arrive at the same time', async () => {
      const { stub, hub, subscribe } = fixture(parts)
      commit(stub, 700)
      const starts = [0, 1, 255, 256, 257, 511, 699, 700, undefined]
      const all = await Promise.all(starts.map(after => subscribe(after)))
      for (let round = 0; round < 60; round++) {
        commit(stub, 1 + (round % 7))
        await pause()
      }
      const last = stub.log.length
      await until(() => all.every(({ got }) => got.at(-1) === last))
      for (const [index, { got, ends }] of all.entries()) {
        assert.deepEqual(ends, [])
        assert.deepEqual(
          got,
          numbers((starts[index] ?? got[0] ?? 0) + (starts[index] === undefined ? 0 : 1), last),
        )
      }
      assert.ok((all.at(-1)?.got[0] ?? 0) > 700)
      await until(() => all.every(({ subscription }) => subscription.position === last))
      for (const { subscription } of all) subscription.close()
      assert.equal(hub.size, 0)
    })

    test('permissions that change during a replay apply from the next event on, and no event is repeated', async () => {
      const { stub, subscribe } = fixture(parts)
      commit(stub, 600)
      const changed: number[] = []
      const { got, subscription } = await subscribe(0, ada, {
        next: (_reply, event) => {
          got.push(event)
          if (event % 50 !== 0) return
          subscription.changePrincipal(event % 100 === 0 ? ada : ben)
          changed.push(event)
        },
      })
      commit(stub, 100)
      await until(() => got.at(-1) === 700)
      assert.deepEqual(got, numbers(1, 700))
      assert.ok(changed.length > 10)
      subscription.close()
    })

    test('closing the hub ends replays and refuses one that is about to begin', async () => {
      const { stub, hub, subscribe } = fixture(parts)
      commit(stub, 6000)
      const running = await subscribe(0)
      await until(() => running.got.length > 0)
      const opening = subscribe(0)
      hub.close()
      await assert.rejects(opening, /stopping/)
      assert.deepEqual(running.ends, [undefined])
      assert.equal(hub.size, 0)
      const count = running.got.length
      await pause()
      await pause()
      assert.equal(running.got.length, count)
    })

    test('a subscription closed during its replay gets no further events', async () => {
      const { stub, hub, subscribe } = fixture(parts)
      commit(stub, 600)
      const { got, subscription } = await subscribe(0, ada, {
        next: (_reply, event) => {
          got.push(event)
          if (event === 20) subscription.close()
        },
      })
      const other = await subscribe(300)
      await until(() => other.got.at(-1) === 600)
      assert.equal(got.at(-1), 20)
      other.subscription.close()
      assert.equal(hub.size, 0)
    })
  })
}

describe('the transition from replay to live events', () => {
  /** A hub whose replies name the user they were rendered for; `held` delays those of one event. */
  function openHubHolding(heldEvent: number) {
    const stub = stubFeed()
    const held = Promise.withResolvers<void>()
    const request: SubscriptionRequest = {
      key: 'new posts',
      rendererFor: ({ userId }) => ({
        topics: [{ collection: 'posts', kind: 'created' }],
        render: ({ event }) =>
          event === heldEvent ? held.promise.then(() => `${event} for ${userId}`) : `${event} for ${userId}`,
      }),
    }
    const hub = new Hub({
      feed: stub,
      maxGroups: 1000,
      beforeDelivery: () => undefined,
      onFault: error => assert.fail(String(error)),
    })
    const subscribe = async (principal: Principal, after?: number) => {
      const received: string[] = []
      const sink = { next: ({ text }: EventReply) => void received.push(text), end: assert.fail }
      return { got: received, ...(await hub.subscribe(request, principal, sink, { after })) }
    }
    return { stub, held, subscribe }
  }

  test('an event in delivery reaches a subscriber that joins during the delivery', async () => {
    const { stub, held, subscribe } = openHubHolding(6)
    commit(stub, 5)
    const live = await subscribe(ada)
    commit(stub, 1)
    await pause()
    const resumed = await subscribe(ben, 5)
    held.resolve()
    commit(stub, 1)
    await until(() => live.got.length === 2 && resumed.got.length === 2)
    assert.deepEqual(resumed.got, ['6 for 2', '7 for 2'])
    for (const { close } of [live, resumed]) close()
  })

  test('held replies are rendered again when permissions change', async () => {
    const { stub, held, subscribe } = openHubHolding(1)
    commit(stub, 1)
    const live = await subscribe(admin)
    const resumed = await subscribe(ada, 0)
    await pause()
    commit(stub, 1)
    await until(() => live.got.length === 1)
    resumed.changePrincipal(ben)
    held.resolve()
    await until(() => resumed.got.length === 2)
    assert.deepEqual(resumed.got, ['1 for 2', '2 for 2'])
    for (const { close } of [live, resumed]) close()
  })

  test('no event is lost when more replies arrive than can be held', async () => {
    const { stub, held, subscribe } = openHubHolding(1)
    commit(stub, 1)
    const live = await subscribe(admin)
    const resumed = await subscribe(ada, 0)
    await pause()
    commit(stub, 1000)
    await until(() => live.got.length === 1000)
    assert.deepEqual(resumed.got, [])
    held.resolve()
    await until(() => resumed.got.length === 1001)
    assert.deepEqual(
      resumed.got,
      numbers(1, 1001).map(event => `${event} for 1`),
    )
    for (const { close } of [live, resumed]) close()
  })
})

describe('an event that cannot be resumed from', () => {
  const isRefused = (error: unknown) => error instanceof ApiError && error.code === 'RESYNC_REQUIRED'

  test('is refused before anything is sent', async () => {
    const { stub, hub, subscribe } = fixture()
    commit(stub, 10)
    stub.pruned = 4
    await assert.rejects(subscribe(3), isRefused)
    await assert.rejects(subscribe(11), isRefused)
    assert.equal(hub.size, 0)
    const resumed = await subscribe(4)
    await until(() => resumed.got.length === 6)
    resumed.subscription.close()
  })

  test('ends a replay when pruning overtakes it', async () => {
    const drained = Promise.withResolvers<void>()
    let isSlow = true
    const { stub, hub, subscribe } = fixture()
    commit(stub, 600)
    const { got, ends } = await subscribe(0, ada, {
      keptUp: () => (isSlow ? drained.promise : undefined),
    })
    await until(() => got.length === 1)
    stub.pruned = 300
    stub.log.splice(0, 300)
    isSlow = false
    drained.resolve()
    await until(() => ends.length === 1)
    assert.ok(isRefused(ends[0]), String(ends[0]))
    assert.deepEqual(got, [1])
    assert.equal(hub.size, 0)
  })
})

describe('a slow client', () => {
  test('is sent no more than it reads, and does not delay others', async () => {
    const { stub, subscribe } = fixture()
    commit(stub, 1000)
    const waits: PromiseWithResolvers<void>[] = []
    const slow = await subscribe(0, ada, {
      keptUp() {
        if (slow.got.length % 100 !== 0) return undefined
        const wait = Promise.withResolvers<void>()
        waits.push(wait)
        return wait.promise
      },
    })
    const fast = await subscribe(0)
    await until(() => fast.got.at(-1) === 1000)
    assert.deepEqual(slow.got, numbers(1, 100))
    assert.equal(slow.subscription.position, 100)
    for (let takenCount = 1; takenCount < 10; takenCount++) {
      waits.shift()?.resolve()
      await until(() => slow.got.length === 100 * (takenCount + 1))
    }
    commit(stub, 1)
    waits.shift()?.resolve()
    await until(() => slow.got.length === 1001)
    assert.deepEqual(slow.got, numbers(1, 1001))
    slow.subscription.close()
    fast.subscription.close()
  })
})

describe('large rows', () => {
  test('are read a few at a time, and none is missed', async () => {
    const { stub, subscribe, reads } = fixture()
    const body = 'x'.repeat(1_000_000)
    const large = Array.from({ length: 30 }, () => ({ row: { body } }))
    stub.commit(...large)
    const resumed = await subscribe(0)
    await until(() => resumed.got.length === 30)
    assert.deepEqual(resumed.got, numbers(1, 30))
    assert.ok(reads.length >= 10, `${reads.length} reads`)
    const live = await subscribe()
    stub.commit(...large)
    await until(() => resumed.got.length === 60 && live.got.length === 30)
    assert.deepEqual([resumed.got, live.got], [numbers(1, 60), numbers(31, 60)])
    for (const { subscription } of [resumed, live]) subscription.close()
  })
})

describe('many subscribers that resume at once', () => {
  test('from the same event share one read and one rendering', async () => {
    const { stub, subscribe, reads, rendered } = fixture()
    commit(stub, 2000)
    const all = await Promise.all(Array.from({ length: 200 }, () => subscribe(10)))
    await until(() => all.every(({ got }) => got.at(-1) === 2000))
    for (const { got } of all) assert.deepEqual(got, numbers(11, 2000))
    assert.ok(reads.length < 60, `${reads.length} reads`)
    assert.ok(rendered() < 10_000, `${rendered()} renderings`)
    for (const { subscription } of all) subscription.close()
  })

  test('of one caller delay neither another caller nor live events', async () => {
    const { stub, subscribe } = fixture()
    commit(stub, 100_000)
    const many = await Promise.all(
      Array.from({ length: 50 }, (_, index) => subscribe(index * 300, user(1, `role ${index}`, 'all'))),
    )
    const live = await subscribe(undefined, ben)
    const other = await subscribe(99_000, ben)
    commit(stub, 10)
    await until(() => other.got.length === 1010 && live.got.length === 10)
    assert.ok(many.filter(({ got }) => got.at(-1) === 100_010).length < 5)
    for (const { subscription } of [...many, live, other]) subscription.close()
  })
})
