/** Creates: one INSERT that checks the references and returns the answer, the event and the checks, where it can. */
import { ApiError } from '../../errors.ts'
import type { Field } from '../../model/model.ts'
import type { GuardedCreate } from '../../plan/guarded.ts'
import { Row } from '../sql/row.ts'
import { returned } from '../sql/write.ts'
import { join, name, type Sql, slot, sql } from '../sql/writer.ts'
import type { Inputs, SqlValue } from '../values.ts'
import { requireValues, valuesOf } from '../write/assign.ts'
import { requireChecks } from '../write/checks.ts'
import { createdOutputs, ID, isToldAtOnce, placesOf, TEXT } from '../write/create.ts'
import { none, textOf } from '../write/written.ts'
import type { WriteRun } from './context.ts'
import { References, refused } from './references.ts'
import { resultOf } from './result.ts'
import { roomRun } from './room.ts'
import { SearchWords } from './search-words.ts'
import { nowhere, type Security } from './security.ts'
import { statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'

export function createRun(shape: GuardedCreate, security: Security): WriteRun {
  const { collection, set, after } = shape
  const { dialect } = security
  const fields = set.map(one => one.field)
  const references = new References(shape.references, dialect)
  const words = new SearchWords(collection)
  const places = placesOf(shape)
  const atOnce = isToldAtOnce(shape)
  const requireRoom = roomRun(shape)
  const own = returned(collection, dialect)
  const outputs = atOnce ? createdOutputs(shape, own) : [own.column('id')]
  const insert = statementOf(insertSql(collection.name, fields, references, outputs))
  const row = new Row(dialect, collection.name)
  const look = atOnce ? undefined : resultOf(createdOutputs(shape, row), TEXT, slot(0), row, security)
  const changed = new Set([collection.name])
  const inserted = async (inputs: Inputs, scope: Scope): Promise<readonly SqlValue[]> => {
    const rows = await scope.rows(insert, security.writing(inputs, collection.name)).catch(cause => {
      throw refused(cause, fields)
    })
    if (rows[0] !== undefined) return rows[0]
    scope.hasChanged = false
    return references.fail(security.writing(inputs, nowhere), scope)
  }
  return async (plan, scope) => {
    const values = valuesOf(set, plan, scope.at)
    requireValues(set, values)
    if (requireRoom !== undefined) await requireRoom(values, scope)
    const { args, principal } = plan
    const inputs = { args, userId: principal.userId, slots: values, actor: security.actor(principal) }
    const made = await inserted(inputs, scope)
    const id = Number(made[ID])
    words.write(id, name => values[fields.findIndex(field => field.name === name)], scope)
    const result = look === undefined ? made : await look({ ...inputs, slots: [id] }, scope)
    requireChecks(after, result, places.checks)
    const data = result[places.event] ?? null
    if (data === null) throw new ApiError('FORBIDDEN')
    scope.log({ collection: collection.name, itemId: id, kind: 'created', data, changed: undefined })
    scope.count(collection.name, 1)
    return { id, text: textOf(result[TEXT]), changed, removed: none }
  }
}

/** Inserts nothing where a reference leads nowhere. */
function insertSql(
  table: string,
  fields: readonly Field[],
  references: References,
  outputs: readonly Sql[],
): Sql {
  const columns = join(
    fields.map(field => name(field.name)),
    ', ',
  )
  const into = sql`INSERT INTO ${name(table)} (${columns})`
  const returning = sql` RETURNING ${join(outputs, ', ')}`
  if (references.isEmpty) {
    const values = fields.map((_, index): Sql => [slot(index)])
    return sql`${into} VALUES (${join(values, ', ')})${returning}`
  }
  const values = fields.map(({ type }, index): Sql => [slot(index), `::${bare(type.column.postgres)}`])
  const there = references.there('refs')
  return sql`WITH "refs" AS MATERIALIZED (${references.sql}) ${into} SELECT ${join(values, ', ')} FROM "refs" WHERE ${there}${returning}`
}

function bare(column: string): string {
  return column.replace(/ COLLATE .*$/, '')
}
