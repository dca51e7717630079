/** The WAL position that a replica must have replayed for a read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Positions } from '../../../../src/store/postgres/replicas/positions.ts'

const unknown = Number.POSITIVE_INFINITY

function checked(): Positions {
  const positions = new Positions()
  positions.sent()
  positions.found(100, undefined)
  return positions
}

test('the position is unknown before the first check, and again after a change of servers', () => {
  const positions = new Positions()
  assert.equal(positions.of([]), unknown)
  positions.sent()
  positions.found(100, undefined)
  assert.equal(positions.of(['posts']), 100)
  positions.forget()
  assert.equal(positions.of(['posts']), unknown)
  positions.sent()
  positions.found(7, undefined)
  assert.equal(positions.of(['posts']), 7, 'its WAL may be shorter')
})

test('the position of several collections is that of the one that changed last', () => {
  const positions = checked()
  positions.sent()
  positions.found(200, ['posts'])
  positions.sent()
  positions.found(300, ['tags'])
  positions.sent()
  positions.found(400, [])
  assert.deepEqual(
    [['users'], ['posts'], ['tags'], ['users', 'posts'], ['tags', 'posts']].map(names => positions.of(names)),
    [100, 200, 300, 200, 300],
  )
  assert.equal(positions.newest, 400)
})

test('the position of an own commit is known once a check sent after it has completed', () => {
  const positions = checked()
  positions.sent()
  positions.committed(['posts'])
  assert.equal(positions.of(['posts']), unknown)
  assert.equal(positions.of(['users']), 100)
  positions.found(200, [])
  assert.equal(positions.of(['posts']), unknown, 'the snapshot of this check may be older')
  positions.sent()
  assert.equal(positions.of(['users', 'posts']), unknown)
  positions.found(300, [])
  assert.equal(positions.of(['posts']), 300)
})

test('the check after a failed one covers the commits of both', () => {
  const positions = checked()
  positions.committed(['posts'])
  positions.sent()
  positions.committed(['tags'])
  positions.sent()
  positions.found(300, [])
  assert.deepEqual([positions.of(['posts']), positions.of(['tags'])], [300, 300])
})
