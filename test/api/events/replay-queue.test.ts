/** The order in which replaying subscribers have their turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplayQueue } from '../../../src/api/events/replay-queue.ts'
import { Subscriber } from '../../../src/api/events/subscriber.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import { stubRequest } from './stub.ts'

function subscriberAt(position: number, principal: Principal): Subscriber {
  const subscriber = new Subscriber(stubRequest(), principal, { next: () => {}, end: () => {} })
  subscriber.pass(position)
  return subscriber
}

test('a replay is taken once, even if the principal of its subscriber changes', () => {
  const queue = new ReplayQueue()
  const subscriber = subscriberAt(7, user(1, 'user', 'all'))
  queue.add(subscriber)
  subscriber.principal = user(2, 'user', 'all')
  assert.deepEqual([...(queue.take()?.members ?? [])], [subscriber])
  assert.equal(queue.take(), undefined)
  assert.ok(queue.isEmpty)
})

test('subscribers at the same event form one turn, which counts for each of their callers', () => {
  const queue = new ReplayQueue()
  const [ada, ben] = [user(1, 'user', 'all'), user(2, 'user', 'all')]
  for (const [position, principal] of [
    [5, ada],
    [5, ben],
    [9, ada],
    [3, ben],
  ] as const) {
    queue.add(subscriberAt(position, principal))
  }
  const turns = [queue.take(), queue.take(), queue.take(), queue.take()]
  assert.deepEqual(
    turns.map(turn => turn && [turn.position, turn.members.size]),
    [[9, 1], [3, 1], [5, 2], undefined],
  )
})
