/** Keeps the last enabled administrator: without one, only the operator could grant the role or enable an account. */
import { ApiError } from '../../../base/errors.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { referencesTo } from '../../../model/references.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { type Sql, sql, textLiteral } from '../sql/writer.ts'
import { noInputs, type ResultRows } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { QuerySteps, StepQuery } from './steps.ts'

const refusal =
  'This would leave the service without an enabled administrator. Give another enabled account the role `admin` first.'

export interface LastAdministrator<S> {
  /** An output of the stored row, before the write: 1 for an enabled administrator. */
  readonly stateSql: (row: RowAlias) => Sql
  /** To be called after the write, with the output. Throws CONFLICT if it is 1 and no enabled administrator remains. */
  require(state: unknown): QuerySteps<S, void>
}

function isEnabledAdministrator(row: RowAlias): Sql {
  return sql`${row.column('role')} = ${textLiteral('admin')} AND NOT ${row.column('disabled')}`
}

/**
 * The lock is held until the commit: if two administrators disable each other at once, the second finds none left.
 * Undefined for writes that change no administrators. `sets`: the fields that an update sets; omitted for a deletion.
 */
export function lastAdministrator<S>(
  collection: Collection,
  database: WriteDatabase<S>,
  sets?: readonly string[],
): LastAdministrator<S> | undefined {
  if (collection.name !== 'users' || !collection.fields.has('disabled')) return undefined
  if (sets !== undefined && !sets.includes('role') && !sets.includes('disabled')) return undefined
  const { requireOne } = remaining(collection, database)
  return {
    stateSql: stored => sql`CASE WHEN ${isEnabledAdministrator(stored)} THEN 1 END`,
    *require(state) {
      if (state === 1) yield* requireOne()
    },
  }
}

export interface RemainingAdministrator<S> {
  /** To be sent before the deletion. */
  readonly before: StepQuery<S>
  /** To be called after it, if users were deleted. Throws CONFLICT if `before` found an administrator and none remains. */
  require(before: ResultRows | undefined): QuerySteps<S, void>
}

/** For deletions that may cascade to users; undefined for others. */
export function remainingAdministrator<S>(
  collection: Collection,
  database: WriteDatabase<S>,
): RemainingAdministrator<S> | undefined {
  const users = database.model.collections.get('users')
  if (!users?.fields.has('disabled') || !canDeleteUsers(collection, database.model)) return undefined
  const { remainingQuery, requireOne } = remaining(users, database)
  return {
    before: remainingQuery,
    *require(before) {
      if (before !== undefined && before.length > 0) yield* requireOne()
    },
  }
}

/** Whether a deletion in the collection may delete users besides the item itself. */
function canDeleteUsers(collection: Collection, model: Model): boolean {
  const reached = new Set<Collection>()
  for (let level = [collection]; level.length > 0; ) {
    const cascading = level
      .flatMap(target => referencesTo(target, model))
      .filter(({ onDelete }) => onDelete === 'cascade')
    level = [...new Set(cascading.map(reference => reference.collection))].filter(next => !reached.has(next))
    for (const next of level) reached.add(next)
  }
  return [...reached].some(({ name }) => name === 'users')
}

function remaining<S>(users: Collection, { dialect, prepare, locksGroup }: WriteDatabase<S>) {
  const lock = prepare(sql`SELECT ${locksGroup?.(textLiteral('users administrators'), undefined) ?? sql`1`}`)
  const row = new RowAlias(dialect, users.name)
  const remainingQuery: StepQuery<S> = {
    statement: prepare(sql`SELECT 1 FROM ${row.from()} WHERE ${isEnabledAdministrator(row)} LIMIT 1`),
    inputs: noInputs,
  }
  return {
    remainingQuery: remainingQuery,
    *requireOne(): QuerySteps<S, void> {
      const [, remainingRows] = yield [{ statement: lock, inputs: noInputs }, remainingQuery]
      if (remainingRows?.length === 0) throw new ApiError('CONFLICT', refusal)
    },
  }
}
