/** Updates: the row is locked, then looked at with what it allows, then changed, then looked at again. */
import { ApiError } from '../../errors.ts'
import type { GuardedAssignment, GuardedUpdate } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { rowSql, updateSql } from '../sql/write.ts'
import { arg, name, sql } from '../sql/writer.ts'
import type { Inputs, ResultRow } from '../values.ts'
import { valuesOf } from '../write/assign.ts'
import { changedOutputs, decide, eventOf, requireAllowed, storedOutputs, TEXT } from '../write/update.ts'
import { none, textOf } from '../write/written.ts'
import type { WriteRun } from './context.ts'
import { References, refused } from './references.ts'
import { resultOf } from './result.ts'
import { SearchWords } from './search-words.ts'
import { nowhere, type Security } from './security.ts'
import { type Rows, type Statement, statementOf } from './statement.ts'
import { first, type Scope } from './transaction.ts'

export function updateRun(shape: GuardedUpdate, security: Security): WriteRun {
  const { collection, set } = shape
  const references = new References(shape.references, security.dialect)
  const look = looker(shape, references, security)
  const change = changer(shape, security)
  const touched = new Set([collection.name])
  return async (plan, scope) => {
    const slots = valuesOf(set, plan, scope.at)
    const { args, principal } = plan
    const inputs = { args, userId: principal.userId, slots, actor: security.actor(principal) }
    const [stored, there] = await look(inputs, scope)
    const { changed, unchanged } = decide(shape, plan, stored[0], slots)
    references.require(there, unchanged)
    const id = Number(args[shape.id])
    const became = await change(id, changed, inputs, scope)
    requireAllowed(shape, became)
    const event = eventOf(shape, id, changed, became)
    if (event !== undefined) scope.log(event)
    return { id, text: textOf(became[TEXT]), changed: changed.length > 0 ? touched : none, removed: none }
  }
}

type Look = (inputs: Inputs, scope: Scope) => Promise<readonly [stored: Rows, there: Rows]>

/** The locked row, its values and what it refers to: one trip, but three snapshots, the last two after the lock. */
function looker(shape: GuardedUpdate, references: References, security: Security): Look {
  const { collection } = shape
  const id = arg(shape.id, 'number')
  const row = new Row(security.dialect, collection.name)
  // Others may still refer to it: its id stays.
  const lock = statementOf(sql`SELECT 1 FROM ${name(collection.name)} WHERE "id" = ${id} FOR NO KEY UPDATE`)
  const look = statementOf(rowSql(row, id, storedOutputs(shape, row)))
  return async (inputs, scope) => {
    const [, stored, there] = await Promise.all([
      scope.rows(lock, security.itself(inputs)),
      scope.rows(look, inputs),
      references.ask(security.writing(inputs, nowhere), scope),
    ])
    return [stored, there]
  }
}

type Change = (
  id: number,
  changed: readonly GuardedAssignment[],
  inputs: Inputs,
  scope: Scope,
) => Promise<ResultRow>

/** Changes the row, and tells what became of it: in one trip, but where its search words must be stored between. */
function changer(shape: GuardedUpdate, security: Security): Change {
  const { collection, set } = shape
  const row = new Row(security.dialect, collection.name)
  const result = resultOf(changedOutputs(shape, row), TEXT, arg(shape.id, 'number'), row, security)
  const update = set.length === 0 ? undefined : updateOf(shape, security)
  const words = new SearchWords(collection)
  const fields = set.map(({ field }) => field)
  const { searchable } = collection
  const updated = async (rows: Promise<Rows>): Promise<Rows> => {
    const done = await rows.catch(cause => {
      throw refused(cause, fields)
    })
    // It is locked, so it is there: a policy leaves it out.
    if (done.length === 0) throw new ApiError('FORBIDDEN')
    return done
  }
  return async (id, changed, inputs, scope) => {
    if (update === undefined || changed.length === 0) return result(inputs, scope)
    const done = updated(scope.rows(update, security.writing(inputs, collection.name)))
    if (changed.some(({ field }) => field.searchable)) {
      const values = first(await done)
      words.write(id, field => values[searchable.findIndex(each => each.name === field)], scope)
    }
    const [, became] = await Promise.all([done, result(inputs, scope)])
    return became
  }
}

/** Tells what the searchable fields hold afterwards. */
function updateOf({ id, collection, set }: GuardedUpdate, { dialect }: Security): Statement {
  const { searchable } = collection
  const returned = searchable.length === 0 ? [sql`1`] : searchable.map(field => name(field.name))
  return statementOf(updateSql(collection, set, arg(id, 'number'), returned, dialect))
}
