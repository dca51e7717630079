/** Probes whether changes can be stored while another process writes to the file, with a clock that the test sets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '../../../../../src/engine/store/sqlite/connection.ts'
import { WriteProbes } from '../../../../../src/engine/store/sqlite/file/write-probes.ts'
import { WriteHealth } from '../../../../../src/engine/store/write-health.ts'

const BUSY = 5
const IOERR_FSYNC = 1034
const isLocked =
  'Changes cannot be stored: another process has held the write lock of the database for seconds.'
const diskFails = 'Changes cannot be stored: the disk fails.'

/** `look`: the result of a probe at a time, in milliseconds, whose empty commit fails with this code or succeeds. */
function withProbes() {
  const state: { now: number; errcode: number | undefined } = { now: 0, errcode: undefined }
  const connection = {
    commitEmpty() {
      const { errcode } = state
      if (errcode !== undefined) throw Object.assign(new Error('SQLite says no'), { errcode })
    },
  } as unknown as Connection
  const probes = new WriteProbes({ connection, health: new WriteHealth(), clock: () => state.now })
  const probe = (now: number, errcode?: number) => {
    Object.assign(state, { now, errcode })
    return probes.probe()?.message
  }
  return { probes, look: probe }
}

test('a lock of another process is reported once it has lasted five seconds, until a commit succeeds', () => {
  const { look: probe } = withProbes()
  assert.equal(probe(0, BUSY), undefined)
  assert.equal(probe(4999, BUSY), undefined)
  assert.equal(probe(5000, BUSY), isLocked)
  assert.equal(probe(5001), undefined)
})

test('each commit of a probe or a write restarts the five seconds', () => {
  const { probes, look: probe } = withProbes()
  assert.equal(probe(0, BUSY), undefined)
  assert.equal(probe(1000), undefined)
  assert.equal(probe(6000, BUSY), undefined)
  probes.recordCommit()
  assert.equal(probe(12_000, BUSY), undefined)
})

test('a failed sync is reported, even while another process holds the lock, until a commit is durable', () => {
  const { probes, look: probe } = withProbes()
  assert.equal(probe(0, IOERR_FSYNC), diskFails)
  assert.equal(probe(1, BUSY), diskFails)
  probes.recordCommit()
  assert.equal(probe(2, BUSY), undefined)
})
