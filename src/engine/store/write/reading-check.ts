/** Checks of the model that read: an asynchronous function within a write, once the write has changed its row. */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { referencesTo } from '../../../model/references.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import { RowAlias } from '../sql/row-alias.ts'
import { logicItemSql, rowSql } from '../sql/write.ts'
import { type Sql, slot } from '../sql/writer.ts'
import { type SqlValue, slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { LogicWrite } from './logic.ts'
import { LogicFault, requireNoFaults } from './logic-results.ts'
import type { QuerySteps, WriteScope } from './steps.ts'

export interface ReadingCheck<S> {
  /** An output of the stored row, before a write. */
  stored(row: RowAlias): Sql
  /**
   * Throws VALIDATION_FAILED with the faults of the row with this id. `previous`: the value of the output; undefined for a new
   * row.
   */
  require(
    id: number,
    previous: SqlValue | undefined,
    by: Principal,
    scope: WriteScope<S>,
  ): QuerySteps<S, void>
}

/** The place of a collection's check in the model, for messages. */
export function placeOfCheck(collection: string): string {
  return `checks.${collection}`
}

/** The collections whose checks a write may run. A deletion runs those of the items whose references it clears. */
export function checkedBy({ kind, collection }: GuardedWrite['shape'], model: Model): readonly string[] {
  const { checks } = model.logic
  if (checks.size === 0) return []
  if (kind !== 'delete') return checks.has(collection.name) ? [collection.name] : []
  const cleared = new Set<string>()
  const deleted = new Set([collection])
  // What is added meanwhile comes later.
  for (const target of deleted) {
    for (const { collection: referring, onDelete } of referencesTo(target, model)) {
      if (onDelete === 'cascade') deleted.add(referring)
      if (onDelete === 'clear') cleared.add(referring.name)
    }
  }
  return [...cleared].filter(name => checks.has(name))
}

/** Undefined for a collection without such a check. */
export function readingCheckOf<S>(
  collection: Collection,
  { model, dialect, prepare, checks }: WriteDatabase<S>,
): ReadingCheck<S> | undefined {
  const { name } = collection
  if (!model.logic.checks.has(name)) return undefined
  if (checks === undefined) throw new TypeError(`nothing runs ${placeOfCheck(name)}`)
  const row = new RowAlias(dialect, name)
  const next = prepare(rowSql(row, slot(0), [logicItemSql(collection, row)]))
  return {
    stored: storedRow => logicItemSql(collection, storedRow),
    *require(id, previous, principal, { at: now }) {
      const [rows] = yield [{ statement: next, inputs: slotInputs([id]) }]
      const { step, returned } = checks.stepOf(name, {
        next: itemOf(rows?.[0]?.[0]),
        previous: previous === undefined ? undefined : itemOf(previous),
        principal,
        now,
      })
      yield step
      const fault = faultIn(returned(), collection)
      if (fault !== undefined) throw fault
    },
  }
}

function itemOf(text: SqlValue | undefined): LogicWrite['next'] {
  return JSON.parse(String(text))
}

function faultIn(returned: unknown, collection: Collection): ApiError | undefined {
  try {
    return requireNoFaults(returned, collection, placeOfCheck(collection.name))
  } catch (cause) {
    throw cause instanceof LogicFault ? new ApiError('INTERNAL_ERROR', undefined, { cause }) : cause
  }
}
