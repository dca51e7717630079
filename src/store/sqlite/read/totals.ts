/** How many items a list has. */
import type { GuardedList } from '../../../plan/guarded.ts'
import type { TotalMode } from '../../../plan/plan.ts'
import { counted, type Total } from '../../lists.ts'
import { estimated, estimateSql } from '../../sql/estimate.ts'
import { countSql } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { type Sql, slot, sql } from '../../sql/writer.ts'
import { type Inputs, slotted } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import type { Connection, Statement } from '../connection.ts'
import type { ReadContext } from '../context.ts'
import { parsePlan } from '../plans/query-plan.ts'
import { relatedForm } from './related-rows.ts'

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

/** An index alone gives up to this many entries within some 2 ms: to watch the time would take as long again. */
const unwatchedEntries = 100_000

/**
 * All rows are looked at, so that a set is always the better way where it is made from no more of them. What counts the
 * entries of one index is watched in large collections only.
 */
function countStatement(shape: GuardedList, build: typeof countSql, context: CountContext): () => Statement {
  const { connection, totals } = context
  const isCheap = context.dialect !== sqlite && readsIndexOnly(build(shape, sqlite), connection)
  const statements = new Map<string, Statement>()
  return () => {
    const form = relatedForm(shape, context)
    const isUnwatched = isCheap && totals.of(shape.collection.name) <= unwatchedEntries
    const key = `${form} ${isUnwatched}`
    const known = statements.get(key)
    if (known !== undefined) return known
    const made = connection.prepare(build(shape, isUnwatched ? sqlite : context.dialect, form))
    statements.set(key, made)
    return made
  }
}

/** Whether the statement reads the entries of one index, or of one full-text index, and nothing else. */
function readsIndexOnly(fragment: Sql, connection: Connection): boolean {
  const [step, ...others] = parsePlan(connection.explain(fragment).rows)
  return step?.kind === 'access' && (step.covering || step.access === 'virtual') && others.length === 0
}
