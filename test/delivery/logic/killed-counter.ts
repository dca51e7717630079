/**
 * A process that increments, by single writes and in transactions, until it is killed. It prints a line before and after each.
 * Arguments: the database, the id of the counter.
 */
import { service } from '../../../src/base/principal.ts'
import { createData, executeBy } from '../../../src/engine/logic/data/create-data.ts'
import { operationParts } from '../../../src/engine/logic/operations/call.ts'
import { runTransaction } from '../../../src/engine/logic/operations/transaction.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { collection, integer, model } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'

export const counters = checkModel(
  model({ counters: collection({ fields: { n: integer({ default: 0 }), both: integer({ default: 0 }) } }) }),
)

const concurrency = 8

if (process.argv[1] === import.meta.filename) {
  const [url = '', id = ''] = process.argv.slice(2)
  const store = url.startsWith('postgres')
    ? await openPostgres(counters, { url })
    : openSqlite(counters, { file: url })
  const run = createRun(createGuard(counters), store)
  const parts = operationParts(counters, new Map())
  const data = createData(
    { model: counters, hooks: new Map(), execute: executeBy(run, parts.limits) },
    service,
  )
  const single = () => data['counters']?.update(Number(id), { n: { increment: 1 } })
  const inTransaction = () =>
    runTransaction(parts, run, {
      ...{ place: 'jobs.count', isDeclared: true, principal: service },
      async code(inner) {
        await inner['counters']?.update(Number(id), { n: { increment: 1 } })
        await inner['counters']?.update(Number(id), { both: { increment: 1 } })
      },
    })
  const count = async (writer: number) => {
    for (let n = 0; ; n++) {
      const isSingle = (writer + n) % 3 > 0
      process.stdout.write('sent\n')
      await (isSingle ? single() : inTransaction())
      process.stdout.write(isSingle ? 'single\n' : 'both\n')
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, writer) => count(writer)))
}
