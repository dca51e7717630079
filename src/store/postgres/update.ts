/** Updates: the row is locked, then looked at with what it allows, then changed, then looked at again. */
import { ApiError } from '../../errors.ts'
import type { GuardedUpdate } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { publicFields, rowSql, updateSql } from '../sql/write.ts'
import { arg, name, sql } from '../sql/writer.ts'
import type { Inputs, SqlValue } from '../values.ts'
import { requireValues, valuesOf } from '../write/assign.ts'
import { requireChecks, requireMatch } from '../write/checks.ts'
import { mergedDocuments, requireFit } from '../write/documents.ts'
import {
  CHECKS,
  changedFields,
  changedOutputs,
  changesOf,
  EVENT,
  fieldsOf,
  STORED_CHECKS,
  storedOutputs,
  TEXT,
} from '../write/update.ts'
import { none } from '../write/written.ts'
import { References, refused } from './references.ts'
import { resultOf } from './result.ts'
import { SearchWords } from './search-words.ts'
import { nowhere, type Security } from './security.ts'
import { type Rows, statementOf } from './statement.ts'
import { first, type Scope } from './transaction.ts'
import type { WriteRun } from './writer.ts'

export function updateRun(shape: GuardedUpdate, security: Security): WriteRun {
  const { collection, set, before, after, ifMatch } = shape
  const { dialect } = security
  const id = arg(shape.id, 'number')
  const row = new Row(dialect, collection.name)
  const references = new References(shape.references, dialect)
  const words = new SearchWords(collection)
  const { searchable } = collection
  // Others may still refer to it: its id stays.
  const lock = statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${id} FOR NO KEY UPDATE`)
  const look = statementOf(rowSql(row, id, storedOutputs(shape, row)))
  const returned = searchable.length === 0 ? [sql`1`] : searchable.map(field => name(field.name))
  const update = set.length === 0 ? undefined : statementOf(updateSql(collection, set, id, returned, dialect))
  const result = resultOf(changedOutputs(shape, row), TEXT, id, row, security)
  const shownNames = new Set(publicFields(collection).map(field => field.name))
  const touched = new Set([collection.name])

  /** The locked row, its values and what it refers to: one trip, but three snapshots, the last two after the lock. */
  const stored = async (inputs: Inputs, scope: Scope): Promise<readonly [Rows, Rows]> => {
    const locked = scope.rows(lock, security.itself(inputs))
    const [, found, there] = await Promise.all([
      locked,
      scope.rows(look, inputs),
      references.ask(security.writing(inputs, nowhere), scope),
    ])
    return [found, there]
  }

  const updated = async (rows: Promise<Rows>): Promise<Rows> => {
    const done = await rows.catch(cause => {
      throw refused(cause, fieldsOf(set))
    })
    // It is locked, so it is there: a policy leaves it out.
    if (done.length === 0) throw new ApiError('FORBIDDEN')
    return done
  }

  /** Changes the row, and what becomes of it: in one trip, but where its search words must be stored between. */
  const change = async (itemId: number, inputs: Inputs, searched: boolean, scope: Scope) => {
    if (update === undefined) return result(inputs, scope)
    const done = updated(scope.rows(update, security.writing(inputs, collection.name)))
    if (searched) {
      const values = first(await done)
      words.write(itemId, field => values[searchable.findIndex(each => each.name === field)], scope)
    }
    const [, became] = await Promise.all([done, result(inputs, scope)])
    return became
  }

  return async (plan, scope) => {
    const slots: SqlValue[] = valuesOf(set, plan, scope.at)
    const { args, principal } = plan
    const inputs = { args, userId: principal.userId, slots, actor: security.actor(principal) }
    const [[found], there] = await stored(inputs, scope)
    if (found === undefined || found[0] !== 1) throw new ApiError('NOT_FOUND')
    const documents = mergedDocuments(set, plan, found, STORED_CHECKS + before.length + set.length)
    for (const { index, text } of documents) slots[index] = text
    const changes = changesOf(set, found, STORED_CHECKS + before.length, documents)
    const unchanged = new Set(fieldsOf(set.filter((_, index) => !changes[index])))
    requireChecks(before, found, STORED_CHECKS, unchanged)
    if (ifMatch !== undefined) requireMatch(plan.args[ifMatch], found[1])
    requireValues(set, slots, changes)
    requireFit(documents)
    references.require(there, unchanged)
    const changed = changedFields(set, changes)
    const itemId = Number(plan.args[shape.id])
    const searched = changed.some(({ field }) => field.searchable)
    const became = await (changed.length > 0
      ? change(itemId, inputs, searched, scope)
      : result(inputs, scope))
    requireChecks(after, became, CHECKS)
    if (changed.some(({ field }) => !field.internal)) {
      const names = changed.map(({ field }) => field.name).filter(each => shownNames.has(each))
      scope.log({
        collection: collection.name,
        itemId,
        kind: 'updated',
        data: became[EVENT] ?? null,
        changed: names,
      })
    }
    const text = became[TEXT]
    return {
      id: itemId,
      text: typeof text === 'string' ? text : null,
      changed: changed.length > 0 ? touched : none,
      removed: none,
    }
  }
}
