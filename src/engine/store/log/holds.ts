/** Holds: stored positions of readers of the log. Pruning by age keeps the events after the lowest one. */
import { type Sql, slot, sql } from '../sql/writer.ts'
import { slotInputs } from '../values.ts'
import type { WorkSteps } from '../write/work.ts'
import { none } from '../write/written.ts'
import { holdKey } from './keys.ts'

export type Hold = (name: string, event: number | null) => Promise<void>

const put = sql`INSERT INTO "_portico" ("key", "value") VALUES (${slot(0)}, ${slot(1)}) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"`
const drop = sql`DELETE FROM "_portico" WHERE "key" = ${slot(0)}`

/** `work`: see `doWork`. */
export function createHold<S>(
  prepare: (fragment: Sql) => S,
  work: (steps: WorkSteps<S, undefined>, key: string) => Promise<undefined>,
): Hold {
  const statements = { put: prepare(put), drop: prepare(drop) }
  return (name, event) => {
    const key = holdKey(name)
    return work(function* () {
      yield event === null
        ? [{ statement: statements.drop, inputs: slotInputs([key]) }]
        : [{ statement: statements.put, inputs: slotInputs([key, String(event)]) }]
      return { value: undefined, changed: none }
    }, key)
  }
}
