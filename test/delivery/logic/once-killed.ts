/**
 * A node that is killed while it runs the job `pay`. Arguments: the database, and `before` or `after`: whether the process
 * ends before the transaction of `once` is committed, or afterwards, before the success of the run is stored.
 */

import { systemClock } from '../../../src/delivery/consumer/timetable.ts'
import { Runner } from '../../../src/delivery/runs/runner.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { integer, job } from '../../../src/index.ts'
import type { LogicDeclaration } from '../../../src/model/logic/logic.ts'
import { handler, logic, nodeParts } from './fixture.ts'

/** `results`: what `once` has returned. */
export function paying(killed?: string, results: unknown[] = []): LogicDeclaration {
  const dieIf = (point: string) => {
    if (killed === point) process.kill(process.pid, 'SIGKILL')
  }
  const pay = handler(async ({ once }) => {
    results.push(
      await once(async data => {
        await data['notes']?.create({ body: 'paid' })
        dieIf('before')
      }),
    )
    dieIf('after')
  })
  return { jobs: { pay: job({ input: { n: integer() }, run: pay }) } }
}

if (process.argv[1] === import.meta.filename) {
  const [url = '', killed = ''] = process.argv.slice(2)
  const model = logic(paying(killed))
  const store = url.startsWith('postgres')
    ? await openPostgres(model, { url })
    : await openSqlite(model, { file: url })
  new Runner({ ...nodeParts(model, store), clock: systemClock, elapsed: () => performance.now() }).start()
  // The system clock's timers keep no process running.
  setInterval(() => {}, 60_000)
}
