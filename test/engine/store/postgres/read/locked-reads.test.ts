import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DataRows, statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { LockedReads } from '../../../../../src/engine/store/postgres/read/locked-reads.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'

const query = statementOf(sql`SELECT * FROM "locks"`).with(noInputs)

function lockedReads(size: number, count: number): LockedReads {
  const reads = new LockedReads(size)
  for (let n = 0; n < count; n++) {
    const { resolve, reject } = Promise.withResolvers<readonly DataRows[]>()
    const read = {
      queries: [query],
      resolve,
      reject,
      callers: new Set(['']),
      deadline: performance.now() + 60_000,
      tries: 0,
    }
    reads.add(read, query)
  }
  return reads
}

/** Starts reads until no more may start; returns how many. */
function startAll(reads: LockedReads): number {
  let count = 0
  while (reads.mayStart) {
    reads.next(1)
    count++
  }
  return count
}

test('reads of locked tables use at most a quarter of the connections, but at least one', () => {
  for (const [size, most] of [
    [1, 1],
    [7, 1],
    [8, 2],
    [20, 5],
  ] as const) {
    const reads = lockedReads(size, 10)
    assert.equal(startAll(reads), most, `of ${size} connections`)
    assert.equal(reads.waiting, 10 - most)
    reads.ended()
    assert.equal(startAll(reads), 1, 'the connection that became free')
  }
})
