/** The steps of a transaction, without a database: a failed step is rolled back alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { statementOf } from '../../../../../src/engine/store/postgres/connections/statement.ts'
import { Transaction } from '../../../../../src/engine/store/postgres/connections/transaction.ts'
import { Scope } from '../../../../../src/engine/store/postgres/write/scope.ts'
import { sql } from '../../../../../src/engine/store/sql/writer.ts'
import { noInputs } from '../../../../../src/engine/store/values.ts'
import type { ItemChange } from '../../../../../src/engine/store/write/event.ts'
import { stubConnection } from '../connections/stub-connection.ts'

const change = statementOf(sql`INSERT INTO "things" VALUES (1)`)
const index = statementOf(sql`INSERT INTO "terms" VALUES (1)`)
const created: ItemChange = {
  collection: 'things',
  itemId: 1,
  kind: 'created',
  data: '{}',
  before: null,
  facts: null,
  factsBefore: null,
  changed: undefined,
  by: { userId: null, app: null },
}

test('a step fails with its deferred statement, and its changes and events are undone', async () => {
  const refused = Object.assign(new pg.DatabaseError('row is too big', 0, 'error'), {
    code: '54000',
    severity: 'ERROR',
  })
  const { connection, statements } = stubConnection(text => (text === index.text ? refused : undefined))
  const scope = new Scope(new Transaction(connection), { at: '2026-01-01T00:00:00.000Z', now: undefined })
  const step = (isIndexed: boolean) =>
    scope.savepoint(async own => {
      await own.rows(change, noInputs)
      if (isIndexed) own.defer(index, noInputs)
      own.log(created)
      own.count('things', 1)
    })
  await assert.rejects(step(true), refused)
  await step(false)
  assert.equal(scope.events.length, 1)
  assert.equal(scope.growth('things'), 1)
  assert.deepEqual(statements, [
    'SAVEPOINT "one_step"',
    change.text,
    index.text,
    'ROLLBACK TO "one_step"',
    'RELEASE "one_step"',
    'SAVEPOINT "one_step"',
    change.text,
  ])
})

test('a step can log 300,000 events, as a large deletion does', async () => {
  const scope = new Scope(new Transaction(stubConnection().connection), { at: '', now: undefined })
  await scope.savepoint(async own => {
    for (let count = 0; count < 300_000; count++) own.log(created)
  })
  assert.equal(scope.events.length, 300_000)
})
