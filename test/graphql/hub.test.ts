/** Joining a log that answers later, as other databases do: nothing is lost, nothing comes twice, and nothing that was before. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Feed } from '../../src/graphql/graphql.ts'
import { Hub } from '../../src/graphql/subscriptions.ts'
import { user } from '../../src/principal.ts'
import { stubEngine, stubFeed } from '../transports/stub.ts'

const pause = (milliseconds: number) => new Promise(resolve => setTimeout(resolve, milliseconds))

/** A feed whose answers are true when they are made, and come `after` milliseconds later. */
function late(after: () => number) {
  const stub = stubFeed()
  const later = async <T>(answer: T | Promise<T>): Promise<T> => {
    await pause(after())
    return answer
  }
  const feed: Feed = {
    last: () => later(stub.last()),
    after: (event, limit) => later(stub.after(event, limit)),
    onCommit: stub.onCommit,
    look: async () => {},
  }
  return { stub, feed }
}

function subscriber(hub: Hub, engine: ReturnType<typeof stubEngine>) {
  const got: number[] = []
  const prepared = engine.prepare('subscription { newPost { id } }', undefined)
  assert.equal(prepared.outcome, 'prepared')
  if (prepared.outcome !== 'prepared') throw new Error('not prepared')
  const bound = engine.bind(prepared, undefined)
  if (bound.outcome !== 'bound') throw new Error('not bound')
  const sink = {
    next: (text: string) => got.push(Number(JSON.parse(text).data.newPost.id)),
    end: (text: string | undefined) => assert.fail(`ended: ${text}`),
  }
  return { got, joined: hub.subscribe(bound, user(1, 'user', 'all'), sink) }
}

function hubOn(feed: Feed) {
  const engine = stubEngine()
  const hub = new Hub({
    engine,
    feed,
    beforeDelivery: () => undefined,
    onFault: error => assert.fail(String(error)),
  })
  return { engine, hub }
}

test('a commit while somebody joins is told, also when the log is read faster than its end', async () => {
  const delays = [30, 80]
  const { stub, feed } = late(() => delays.shift() ?? 1)
  const { engine, hub } = hubOn(feed)
  stub.commit({})
  const { got, joined } = subscriber(hub, engine)
  await pause(50)
  // The first question is answered, the second is under way: it was asked before this.
  stub.commit({})
  await pause(20)
  assert.deepEqual(got, [])
  const { close } = await joined
  stub.commit({})
  await pause(30)
  assert.deepEqual(got, [2, 3])
  close()
  assert.equal(hub.size, 0)
})

test('each of many who come at any time hears of all that follows, once and in order', async () => {
  const { stub, feed } = late(() => Math.random() * 4)
  const { engine, hub } = hubOn(feed)
  const all: { from: number; until: number; got: number[]; close: () => void }[] = []
  for (let round = 0; round < 60; round++) {
    stub.commit(...Array.from({ length: round % 4 }, () => ({})))
    if (round % 3 === 0) {
      const from = stub.log.length
      const { got, joined } = subscriber(hub, engine)
      joined.then(({ close }) => all.push({ from, until: stub.log.length, got, close }))
    }
    await pause(Math.random() * 4)
  }
  await pause(100)
  assert.equal(all.length, 20)
  for (const { from, until, got } of all) {
    const first = got[0] ?? stub.log.length + 1
    assert.ok(first > from && first <= until + 1, `${first} after ${from}, at last ${until}`)
    assert.deepEqual(
      got,
      stub.log.map(change => change.event).filter(event => event >= first),
    )
  }
  for (const { close } of all) close()
  assert.equal(hub.size, 0)
})
