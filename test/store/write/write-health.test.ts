/** When readiness has to write something to know that it can. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WriteHealth } from '../../../src/store/write-health.ts'

/** What threads share. */
function shared() {
  const counts = { commits: 0, failures: 0 }
  return {
    counts,
    commits: () => counts.commits,
    failures: () => counts.failures,
    failed: () => void counts.failures++,
  }
}

test('a commit proves for ten seconds that the next one can be stored', () => {
  let now = 0
  const health = new WriteHealth(shared(), () => now)
  assert.equal(health.isProven, false)
  health.stored()
  now = 9_999
  assert.equal(health.isProven, true)
  now = 10_000
  assert.equal(health.isProven, false)
})

test('a failure ends the proof until something is stored again', () => {
  const health = new WriteHealth(shared(), () => 0)
  health.stored()
  health.suspect()
  assert.equal(health.isProven, false)
  health.stored()
  assert.equal(health.isProven, true)
})

test('what another thread stores is a proof as well, and its failure ends every proof', () => {
  const common = shared()
  let now = 0
  const [one, other] = [new WriteHealth(common, () => now), new WriteHealth(common, () => now)]
  common.counts.commits++
  assert.deepEqual([one.isProven, other.isProven], [true, true])
  one.suspect()
  assert.deepEqual([one.isProven, other.isProven], [false, false])
  common.counts.commits++
  assert.equal(other.isProven, false, 'that may have been before the failure')
  other.stored()
  assert.equal(other.isProven, true)
  assert.equal(one.isProven, false)
  now = 20_000
  assert.equal(other.isProven, false)
})
