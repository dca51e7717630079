/** The WAL position that a replica must have replayed for a read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Positions } from '../../../../../src/engine/store/postgres/replicas/positions.ts'

const unknown = Number.POSITIVE_INFINITY

function checked(): Positions {
  const positions = new Positions()
  positions.checkSent()
  positions.checkAnswered(100, undefined)
  return positions
}

test('the position is unknown before the first check, and again after a change of servers', () => {
  const positions = new Positions()
  assert.equal(positions.required([]), unknown)
  positions.checkSent()
  positions.checkAnswered(100, undefined)
  assert.equal(positions.required(['posts']), 100)
  positions.forget()
  assert.equal(positions.required(['posts']), unknown)
  positions.checkSent()
  positions.checkAnswered(7, undefined)
  assert.equal(positions.required(['posts']), 7, 'its WAL may be shorter')
})

test('the position of several collections is that of the one that changed last', () => {
  const positions = checked()
  positions.checkSent()
  positions.checkAnswered(200, ['posts'])
  positions.checkSent()
  positions.checkAnswered(300, ['tags'])
  positions.checkSent()
  positions.checkAnswered(400, [])
  assert.deepEqual(
    [['users'], ['posts'], ['tags'], ['users', 'posts'], ['tags', 'posts']].map(names =>
      positions.required(names),
    ),
    [100, 200, 300, 200, 300],
  )
  assert.equal(positions.newest, 400)
})

test('the position of an own commit is known once a check sent after it has completed', () => {
  const positions = checked()
  positions.checkSent()
  positions.committed(['posts'])
  assert.equal(positions.required(['posts']), unknown)
  assert.equal(positions.required(['users']), 100)
  positions.checkAnswered(200, [])
  assert.equal(positions.required(['posts']), unknown, 'the snapshot of this check may be older')
  positions.checkSent()
  assert.equal(positions.required(['users', 'posts']), unknown)
  positions.checkAnswered(300, [])
  assert.equal(positions.required(['posts']), 300)
})

test('the check after a failed one covers the commits of both', () => {
  const positions = checked()
  positions.committed(['posts'])
  positions.checkSent()
  positions.committed(['tags'])
  positions.checkSent()
  positions.checkAnswered(300, [])
  assert.deepEqual([positions.required(['posts']), positions.required(['tags'])], [300, 300])
})
