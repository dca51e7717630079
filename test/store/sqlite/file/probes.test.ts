/** Whether changes can be stored, while another process writes to the same file: by a clock of our own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection } from '../../../../src/store/sqlite/connection.ts'
import { Probes } from '../../../../src/store/sqlite/file/write-probes.ts'
import { WriteHealth } from '../../../../src/store/write-health.ts'

const BUSY = 5
const IOERR_FSYNC = 1034
const hasItForSeconds =
  'Changes cannot be stored: another process has held the write lock of the database for seconds.'
const diskFails = 'Changes cannot be stored: the disk fails.'

/** `look`: what is found at a time, in milliseconds, where a commit of nothing fails with this code, or does not. */
function withProbes() {
  const state: { now: number; errcode: number | undefined } = { now: 0, errcode: undefined }
  const connection = {
    mark() {
      const { errcode } = state
      if (errcode !== undefined) throw Object.assign(new Error('SQLite says no'), { errcode })
    },
  } as unknown as Connection
  const probes = new Probes({ connection, health: new WriteHealth(), clock: () => state.now })
  const look = (now: number, errcode?: number) => {
    Object.assign(state, { now, errcode })
    return probes.look()?.message
  }
  return { probes, look }
}

test('another process may write for five seconds; from then on changes cannot be stored, until one can', () => {
  const { look } = withProbes()
  assert.equal(look(0, BUSY), undefined)
  assert.equal(look(4999, BUSY), undefined)
  assert.equal(look(5000, BUSY), hasItForSeconds)
  assert.equal(look(5001), undefined)
})

test('the five seconds begin anew after each commit, whether of a probe or of a write', () => {
  const { probes, look } = withProbes()
  assert.equal(look(0, BUSY), undefined)
  assert.equal(look(1000), undefined)
  assert.equal(look(6000, BUSY), undefined)
  probes.stored()
  assert.equal(look(12_000, BUSY), undefined)
})

test('a disk that fails is told while another process writes, too, until a commit is durable', () => {
  const { probes, look } = withProbes()
  assert.equal(look(0, IOERR_FSYNC), diskFails)
  assert.equal(look(1, BUSY), diskFails)
  probes.stored()
  assert.equal(look(2, BUSY), undefined)
})
