/** How many items a list has. */
import type { GuardedList } from '../../../plan/guarded.ts'
import type { TotalMode } from '../../../plan/plan.ts'
import { counted, type Total } from '../../lists.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import { estimated, estimateSql } from '../../sql/estimate.ts'
import { countSql } from '../../sql/read.ts'
import { slot, sql } from '../../sql/writer.ts'
import { type Inputs, slotted } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import type { Connection, Statement } from '../connection.ts'
import type { ReadContext } from '../context.ts'
import { followsRelations, prefersSets } from './related-rows.ts'

/** How many rows the collection has that slot 0 names. */
export const totalSql = sql`SELECT "n" FROM "_totals" WHERE "collection" = ${slot(0)}`

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
    this.#statement ??= this.#connection.prepare(totalSql)
    const row = this.#statement.get(slotted([collection]))
    const total = Number(row?.[0] ?? 0)
    this.#known.set(collection, { version, total })
    return total
  }
}

type CountContext = Pick<ReadContext, 'connection' | 'totals' | 'walkedRows' | 'dialect'>

/** Counts a list's items; undefined where no total is asked for. */
export function totalReader(
  shape: GuardedList,
  mode: TotalMode,
  context: CountContext,
): ((inputs: Inputs) => Total) | undefined {
  if (mode === 'none') return undefined
  const { collection, rows, within } = shape
  if (rows.kind === 'always' && within === undefined) {
    return () => ({ total: context.totals.of(collection.name), isEstimate: false })
  }
  const isExact = mode === 'exact'
  const statement = countStatement(shape, isExact ? countSql : estimateSql, context)
  if (!isExact) return inputs => estimated(statement().get(inputs))
  return inputs => counted(statement().get(inputs))
}

/** All rows are looked at, so that a set is always the better way where it is made from no more of them. */
function countStatement(shape: GuardedList, build: typeof countSql, context: CountContext): () => Statement {
  const prepare = (form: RelatedForm) => context.connection.prepare(build(shape, context.dialect, form))
  if (!followsRelations(shape.rows)) {
    const statement = prepare('exists')
    return () => statement
  }
  const statements = new Map<RelatedForm, Statement>()
  return () => {
    const form = prefersSets(shape, context) ? 'set' : 'exists'
    const statement = statements.get(form) ?? prepare(form)
    statements.set(form, statement)
    return statement
  }
}
