/** When the readiness check has to write in order to know that changes can be stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WriteHealth } from '../../../../src/engine/store/write-health.ts'

/** The counters that threads share. */
function shared() {
  const counts = { commits: 0, failures: 0 }
  return {
    counts,
    commits: () => counts.commits,
    failures: () => counts.failures,
    addFailure: () => void counts.failures++,
  }
}

test('a commit proves for ten seconds that changes can be stored', () => {
  let now = 0
  const health = new WriteHealth(shared(), () => now)
  assert.equal(health.isProven, false)
  health.recordCommit()
  now = 9_999
  assert.equal(health.isProven, true)
  now = 10_000
  assert.equal(health.isProven, false)
})

test('a failure ends the proof until a commit that needs what all writes need', () => {
  const health = new WriteHealth(shared(), () => 0)
  health.recordCommit()
  health.recordFailure()
  assert.equal(health.isProven, false)
  health.recordCommit()
  assert.equal(health.isProven, false, 'on a full disk, some commits find space')
  health.recordProof()
  assert.equal(health.isProven, true)
})

test('a commit of another thread is a proof too, and its failure ends the proof of all threads', () => {
  const common = shared()
  let now = 0
  const [one, other] = [new WriteHealth(common, () => now), new WriteHealth(common, () => now)]
  common.counts.commits++
  assert.deepEqual([one.isProven, other.isProven], [true, true])
  one.recordFailure()
  assert.deepEqual([one.isProven, other.isProven], [false, false])
  common.counts.commits++
  assert.equal(other.isProven, false, 'that commit may have preceded the failure')
  other.recordProof()
  assert.equal(other.isProven, true)
  assert.equal(one.isProven, false)
  now = 20_000
  assert.equal(other.isProven, false)
})
