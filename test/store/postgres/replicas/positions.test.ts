/** Which position of the log a replica must have for what is read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Positions } from '../../../../src/store/postgres/replicas/positions.ts'

const nobodyKnows = Number.POSITIVE_INFINITY

function checked(): Positions {
  const positions = new Positions()
  positions.sent()
  positions.found(100, undefined)
  return positions
}

test('before the first check, and before the first one of another server, nobody knows', () => {
  const positions = new Positions()
  assert.equal(positions.of([]), nobodyKnows)
  positions.sent()
  positions.found(100, undefined)
  assert.equal(positions.of(['posts']), 100)
  positions.forget()
  assert.equal(positions.of(['posts']), nobodyKnows)
  positions.sent()
  positions.found(7, undefined)
  assert.equal(positions.of(['posts']), 7, 'its log may be a shorter one')
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

test('an own commit has a position when a check that was sent after it is answered', () => {
  const positions = checked()
  positions.sent()
  positions.committed(['posts'])
  assert.equal(positions.of(['posts']), nobodyKnows)
  assert.equal(positions.of(['users']), 100)
  positions.found(200, [])
  assert.equal(positions.of(['posts']), nobodyKnows, 'the snapshot of this check may be older')
  positions.sent()
  assert.equal(positions.of(['users', 'posts']), nobodyKnows)
  positions.found(300, [])
  assert.equal(positions.of(['posts']), 300)
})

test('a check that failed is made up for by the next', () => {
  const positions = checked()
  positions.committed(['posts'])
  positions.sent()
  positions.committed(['tags'])
  positions.sent()
  positions.found(300, [])
  assert.deepEqual([positions.of(['posts']), positions.of(['tags'])], [300, 300])
})
