/** Subscribers while the database is away: they wait, and then they hear all of it, once and in order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/errors.ts'
import type { Engine, ItemChange } from '../../src/graphql/engine.ts'
import type { Feed } from '../../src/graphql/graphql.ts'
import { Hub } from '../../src/graphql/subscriptions.ts'
import { user } from '../../src/principal.ts'
import { until } from '../transports/service.ts'
import { stubEngine, stubFeed } from '../transports/stub.ts'

const pause = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))

function world(patience = 60_000) {
  const stub = stubFeed()
  const faults: unknown[] = []
  /** What fails: the log, or the answers for subscribers, or only those of one event. */
  const state = { log: false, answers: false, event: 0 }
  const away = () => new ApiError('UNAVAILABLE')
  const ask = async <T>(answer: T | Promise<T>): Promise<T> => {
    if (state.log) throw away()
    return answer
  }
  const feed: Feed = {
    last: () => ask(stub.last()),
    after: (event, limit) => ask(stub.after(event, limit)),
    onCommit: stub.onCommit,
    look: () => ask(undefined),
  }
  const inner = stubEngine()
  const engine: Engine = {
    ...inner,
    subscribe(bound, principal, onFault) {
      const made = inner.subscribe(bound, principal, onFault)
      if ('outcome' in made) return made
      const deliver = async (change: ItemChange) => {
        await pause(1)
        if (state.answers || state.event === change.event) throw away()
        return made.deliver(change)
      }
      return { ...made, deliver }
    },
  }
  const hub = new Hub({
    engine,
    feed,
    beforeDelivery: () => undefined,
    onFault: error => faults.push(error),
    patience,
  })
  const subscriber = async (id: number, role = 'user') => {
    const got: number[] = []
    const ends: (string | undefined)[] = []
    const prepared = engine.prepare('subscription { newPost { id } }', undefined)
    if (prepared.outcome !== 'prepared') throw new Error('not prepared')
    const bound = engine.bind(prepared, undefined)
    if (bound.outcome !== 'bound') throw new Error('not bound')
    const { as, close } = await hub.subscribe(bound, user(id, role, 'all'), {
      next: text => got.push(Number(JSON.parse(text).data.newPost.id)),
      end: text => ends.push(text),
    })
    return { got, ends, as, close }
  }
  return { stub, state, faults, hub, subscriber }
}

const five = [1, 2, 3, 4, 5]

for (const [what, parts] of [
  ['the log', { log: true }],
  ['the answers', { answers: true }],
  ['both', { log: true, answers: true }],
] as const) {
  test(`${what} away: what was committed meanwhile comes when it is back; one fault is told`, async () => {
    const { stub, state, faults, hub, subscriber } = world()
    const all = await Promise.all([subscriber(1), subscriber(1), subscriber(2)])
    stub.commit({}, {})
    await until(() => all.every(({ got }) => got.length === 2))
    Object.assign(state, parts)
    for (let times = 0; times < 3; times++) {
      stub.commit({})
      await pause(100)
    }
    for (const { got } of all) assert.deepEqual(got, [1, 2])
    Object.assign(state, { log: false, answers: false })
    await until(() => all.every(({ got }) => got.length >= 5))
    await pause(50)
    for (const { got, ends } of all) assert.deepEqual([got, ends], [five, []])
    assert.equal(faults.length, 1)
    for (const { close } of all) close()
    assert.equal(hub.size, 0)
  })
}

test('an answer that fails again and again while the database is there ends the subscription, and no other event is lost', async () => {
  const { stub, state, subscriber } = world(500)
  const one = await subscriber(1)
  state.event = 2
  stub.commit({}, {}, {})
  await until(() => one.ends.length === 1)
  assert.deepEqual(one.got, [1])
  assert.match(one.ends[0] ?? '', /UNAVAILABLE/)
})

test('who gets other rights while a delivery waits for the database hears of it by these', async () => {
  const { stub, state, subscriber } = world()
  const [changed, same] = await Promise.all([subscriber(1), subscriber(1)])
  state.answers = true
  stub.commit({}, {}, {})
  await pause(50)
  changed.as(user(1, 'admin', 'all'))
  state.answers = false
  await until(() => changed.got.length >= 3 && same.got.length >= 3)
  await pause(50)
  assert.deepEqual(
    [changed.got, same.got],
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
  )
  changed.close()
  same.close()
})

test('who leaves while a delivery waits keeps nobody', async () => {
  const { stub, state, hub, subscriber } = world()
  const one = await subscriber(1)
  state.answers = true
  stub.commit({})
  await pause(50)
  one.close()
  assert.equal(hub.size, 0)
  state.answers = false
  const other = await subscriber(2)
  stub.commit({})
  await until(() => other.got.length === 1)
  assert.deepEqual([one.got, other.got], [[], [2]])
  other.close()
})
