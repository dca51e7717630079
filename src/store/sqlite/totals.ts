/** How many items a list has. */
import type { GuardedList } from '../../plan/guarded.ts'
import { countSql } from '../sql/read.ts'
import { sqlite } from '../sql/sqlite.ts'
import { slot, sql } from '../sql/writer.ts'
import type { Inputs } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { Connection, Statement } from './connection.ts'

/** How many rows whole collections have, from the table that triggers keep. */
export class Totals {
  readonly #connection: Connection
  readonly #versions: Versions
  readonly #known = new Map<string, { readonly version: number; readonly total: number }>()
  #statement: Statement | undefined

  constructor(connection: Connection, versions: Versions) {
    this.#connection = connection
    this.#versions = versions
  }

  of(collection: string): number {
    const version = this.#versions.cell(collection).value
    const known = this.#known.get(collection)
    if (known?.version === version) return known.total
    this.#statement ??= this.#connection.prepare(
      sql`SELECT "n" FROM "_totals" WHERE "collection" = ${slot(0)}`,
    )
    const row = this.#statement.get({ args: [], userId: null, slots: [collection] })
    const total = Number(row?.[0] ?? 0)
    this.#known.set(collection, { version, total })
    return total
  }
}

export function totalReader(
  shape: GuardedList,
  connection: Connection,
  totals: Totals,
): (inputs: Inputs) => number {
  const { collection, rows, within } = shape
  if (rows.kind === 'always' && within === undefined) return () => totals.of(collection.name)
  const statement = connection.prepare(countSql(shape, sqlite))
  return inputs => Number(statement.get(inputs)?.[0] ?? 0)
}
