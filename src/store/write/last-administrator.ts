/** Keeps the last enabled administrator: without one, only the operator could grant the role or enable an account. */
import { ApiError } from '../../errors.ts'
import type { Collection, Model } from '../../model/model.ts'
import { Row } from '../sql/row.ts'
import { quoted, type Sql, sql } from '../sql/writer.ts'
import { noInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import { referencesTo } from './removal/cascade-set.ts'
import type { Ask, Rows, Steps } from './steps.ts'

const refusal =
  'This would leave the service without an enabled administrator. Give another enabled account the role `admin` first.'

export interface LastAdministrator<S> {
  /** An output of the stored row, before the write: 1 for an enabled administrator. */
  readonly was: (row: Row) => Sql
  /** To be called after the write. Throws CONFLICT if the row `was` one, and none is left. */
  require(was: unknown): Steps<S, void>
}

function isOne(row: Row): Sql {
  return sql`${row.column('role')} = ${quoted('admin')} AND NOT ${row.column('disabled')}`
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
    was: stored => sql`CASE WHEN ${isOne(stored)} THEN 1 END`,
    *require(was) {
      if (was === 1) yield* requireOne()
    },
  }
}

export interface RemainingAdministrator<S> {
  /** To be sent before the deletion. */
  readonly before: Ask<S>
  /** To be called after it, if users were deleted. Throws CONFLICT if `before` found an administrator, and none is left. */
  require(before: Rows | undefined): Steps<S, void>
}

/** For deletions that cascade to users; undefined for those that cannot. */
export function remainingAdministrator<S>(
  collection: Collection,
  database: WriteDatabase<S>,
): RemainingAdministrator<S> | undefined {
  const users = database.model.collections.get('users')
  if (!users?.fields.has('disabled') || !takesUsers(collection, database.model)) return undefined
  const { left, requireOne } = remaining(users, database)
  return {
    before: left,
    *require(before) {
      if (before !== undefined && before.length > 0) yield* requireOne()
    },
  }
}

/** Whether a deletion in the collection may delete users besides the item itself. */
function takesUsers(collection: Collection, model: Model): boolean {
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
  const lock = prepare(sql`SELECT ${locksGroup?.(quoted('users administrators'), undefined) ?? sql`1`}`)
  const row = new Row(dialect, users.name)
  const left: Ask<S> = {
    statement: prepare(sql`SELECT 1 FROM ${row.from()} WHERE ${isOne(row)} LIMIT 1`),
    inputs: noInputs,
  }
  return {
    left,
    *requireOne(): Steps<S, void> {
      const [, found] = yield [{ statement: lock, inputs: noInputs }, left]
      if (found?.length === 0) throw new ApiError('CONFLICT', refusal)
    },
  }
}
