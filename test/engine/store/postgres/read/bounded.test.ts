/** Answers that may have many times too many bytes are measured before they are read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnswerBound } from '../../../../../src/engine/plan/answer-bound.ts'
import {
  type BoundStatement,
  type DataRows,
  statementOf,
} from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { boundedQueries } from '../../../../../src/engine/store/postgres/read/bounded.ts'

const limits = { readBytes: 1000, writeBytes: 1000 }
const measure = statementOf(['SELECT 1'])
const answer = statementOf(['SELECT 2'])

/** Runs a list of at most `maxRows` rows of these sizes; returns whether the rows themselves were read. */
async function isRead(sizes: readonly number[], maxRows: number | undefined): Promise<boolean> {
  const statements: unknown[] = []
  const run = boundedQueries(async queries =>
    queries.map(({ statement }): DataRows => {
      statements.push(statement)
      return statement === measure ? sizes.map(size => [size]) : [['[]']]
    }),
  )
  const inputs = { args: [], userId: 1, slots: [] }
  const query: BoundStatement = {
    ...answer.with(inputs),
    answerBound: new AnswerBound(limits, 'readBytes'),
    sizes: measure.with(inputs),
    maxRows,
  }
  const isTooLarge = await run([query]).then(
    () => false,
    error => error.code === 'ANSWER_TOO_LARGE' || assert.fail(error),
  )
  const wasRead = statements.includes(answer)
  assert.equal(wasRead, !isTooLarge)
  return wasRead
}

test('the last row of a full page does not count: it may only show that a page follows', async () => {
  assert.equal(await isRead([500, 500, 500], 3), true)
  assert.equal(await isRead([500, 501, 500], 3), false)
})

test('all rows of a shorter page count', async () => {
  assert.equal(await isRead([500, 500], 3), true)
  assert.equal(await isRead([500, 501], 3), false)
  assert.equal(await isRead([], 3), true)
})

test('the only row of an answer counts', async () => {
  assert.equal(await isRead([1000], undefined), true)
  assert.equal(await isRead([1001], undefined), false)
})
