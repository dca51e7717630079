/**
 * Row-level security from the model's rules: a second defence behind the guard. Settings of the transaction tell the policies
 * on whose behalf a statement runs. Without these settings, no row is visible.
 *
 * Rules see all rows, whatever the caller may read. Policies of a table do not apply if its rows are read through a parent
 * table (https://www.postgresql.org/docs/15/ddl-inherit.html). So each table that rules read has a parent, `_all_…`, with the
 * columns that the rules need.
 */
import { createHash } from 'node:crypto'
import type { Collection, Model } from '../../../../model/model.ts'
import { type ReadColumns, readsOf } from '../../../../model/rule/paths.ts'
import type { Rule } from '../../../../model/rule/rule.ts'
import { rulesOf } from '../../../../model/rule/rules-of.ts'
import { shortened } from '../../schema/postgres/ddl.ts'
import { ident, literal } from '../../schema/quoted.ts'
import { searchTable, storedTable } from '../../sql/dialect.ts'
import {
  collectionNamed,
  hasScopeSql,
  oncePerStatement,
  ownAddressSql,
  ruleSql,
  sessionSetting,
  unconditionalSql,
} from './rule-sql.ts'

/** The prefix of the names of Portico's triggers and their functions, and the name of the constraint that they report. */
export const ROW_SECURITY = '_row_security'

export interface RowSecurity {
  /** The statements that create it on tables without row security. */
  readonly sql: readonly string[]
  /** The resulting objects, in the form in which `migration.ts` reads them. */
  readonly objects: readonly string[]
  /** A hash of all statements. */
  readonly fingerprint: string
}

interface SecurityObjects {
  readonly sql: readonly string[]
  readonly objects: readonly string[]
}

export function rowSecurity(model: Model): RowSecurity {
  const collections = [...model.collections.values()]
  const parts = [
    ...[...columnsRead(model)].map(([name, columns]) => parentOf(name, columns, model)),
    ...collections.flatMap(collection => [
      securedTable(collection.name, policies(collection, model)),
      ...triggers(collection, model),
      ...(collection.searchable.length === 0 ? [] : [searchOf(collection)]),
    ]),
    securedTable('_events', [{ name: 'portico_service', text: `USING (${isService})` }]),
    securedTable('_records', [
      { name: 'portico_service', text: `USING (${isService})` },
      { name: 'portico_address', text: `FOR SELECT USING (${ownAddressSql})` },
    ]),
    securedTable('_totals', [
      { name: 'portico_service', text: `USING (${isService})` },
      { name: 'portico_read', text: `FOR SELECT USING (${totalsSql(collections, model)})` },
    ]),
  ]
  const sql = parts.flatMap(part => part.sql)
  const fingerprint = createHash('sha256').update(sql.join(';\n')).digest('hex')
  return { sql, objects: parts.flatMap(part => part.objects), fingerprint }
}

// --- policies

const serviceCondition = `${sessionSetting('service')} = 'on'`
const isService = oncePerStatement(serviceCondition)
const actorCondition = `${sessionSetting('actor')} IN ('anonymous', 'user', 'app')`

function mayAccess(action: 'read' | 'write', { singular }: Collection): string {
  return `${actorCondition} AND ${hasScopeSql(`${action}:${singular}`)}`
}

/** A write may refer to rows that its scopes do not allow it to read. */
function mayRead({ singular }: Collection): string {
  const isWriting = `${sessionSetting('writing')} <> ''`
  return `${actorCondition} AND (${isWriting} OR ${hasScopeSql(`read:${singular}`)})`
}

function ruleCondition(
  rule: Rule,
  collection: Collection,
  model: Model,
  name = ident(collection.name),
): string {
  return ruleSql(rule, { collection, name }, model)
}

/** The condition for rows that the caller may delete, over the collection's table under its own name. */
export function deleteRule(name: string, model: Model): string {
  const collection = model.collections.get(name)
  return collection === undefined ? 'FALSE' : deletion(collection, model)
}

function deletion(collection: Collection, model: Model): string {
  return changing(collection.access.delete, collection, model)
}

/** A row that is changed or deleted must be readable too. */
function changing(rule: Rule, collection: Collection, model: Model): string {
  const { read } = collection.access
  const isAllowed = `${ruleCondition(read, collection, model)} AND ${ruleCondition(rule, collection, model)}`
  return `${isService} OR (${oncePerStatement(mayAccess('write', collection))} AND ${isAllowed})`
}

interface Policy {
  readonly name: string
  /** The rest of the statement, after the table. */
  readonly text: string
}

/** `portico.writing`: a statement may return the row that it wrote even if its caller cannot read it. */
function policies(collection: Collection, model: Model): readonly Policy[] {
  const { name, access } = collection
  const isWriting = oncePerStatement(`${actorCondition} AND ${sessionSetting('writing')} = ${literal(name)}`)
  const isRead = `${oncePerStatement(mayRead(collection))} AND ${ruleCondition(access.read, collection, model)}`
  const check = (rule: Rule) => {
    const isAllowed = readsOwnTable(rule, collection, model) ? 'TRUE' : ruleCondition(rule, collection, model)
    return `(${isService} OR (${oncePerStatement(mayAccess('write', collection))} AND ${isAllowed}))`
  }
  const update = changing(access.update, collection, model)
  return [
    { name: 'portico_read', text: `FOR SELECT USING (${isService} OR ${isWriting} OR (${isRead}))` },
    { name: 'portico_create', text: `FOR INSERT WITH CHECK ${check(access.create)}` },
    { name: 'portico_update', text: `FOR UPDATE USING (${update}) WITH CHECK ${check(access.update)}` },
    { name: 'portico_delete', text: `FOR DELETE USING (${deletion(collection, model)})` },
  ]
}

/** Forced, so that it applies to the owner too, which is Portico. */
function securedTable(table: string, policies: readonly Policy[]): SecurityObjects {
  return {
    sql: [
      ...policies.map(({ name, text }) => `CREATE POLICY ${ident(name)} ON ${ident(table)} ${text}`),
      `ALTER TABLE ${ident(table)} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
    ],
    objects: [...policies.map(({ name }) => `policy ${table} ${name}`), `secured ${table} forced`],
  }
}

/** Not forced: with a policy, a statement could not use the index of the search terms. */
function searchOf({ name }: Collection): SecurityObjects {
  const table = searchTable(name)
  return {
    sql: [`ALTER TABLE ${ident(table)} ENABLE ROW LEVEL SECURITY`],
    objects: [`secured ${table}`],
  }
}

/** The totals of whole collections are for those who may read every row. */
function totalsSql(collections: readonly Collection[], model: Model): string {
  const whens = collections.map(collection => {
    const { name, access } = collection
    const isForAll = unconditionalSql(access.read, { collection, name: '' }, model)
    return `WHEN ${literal(name)} THEN ${oncePerStatement(`${mayAccess('read', collection)} AND ${isForAll}`)}`
  })
  return `CASE "collection" ${whens.join(' ')} ELSE FALSE END`
}

// --- rules that read the written table

/** Whether the rule's result for a row depends on other changes that the same statement makes to the table. */
function readsOwnTable(rule: Rule, written: Collection, model: Model): boolean {
  const reads = readsOf(rule, written, name => collectionNamed(model, name))
  return reads.some(({ collection, of }) => of !== 'row' && collection === written)
}

/** A policy is evaluated before the row is stored, a trigger afterwards. */
function triggers(collection: Collection, model: Model): readonly SecurityObjects[] {
  return (['create', 'update'] as const)
    .filter(operation => readsOwnTable(collection.access[operation], collection, model))
    .map(operation => {
      const { name, access } = collection
      const trigger = shortened(`${ROW_SECURITY}_${operation}_${name}`)
      const message = `new row violates row-level security policy for table ${ident(name)}`
      const body = `BEGIN
  IF ${isService} OR ${ruleCondition(access[operation], collection, model, 'NEW')} THEN RETURN NULL; END IF;
  RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = ${literal(message)}, CONSTRAINT = ${literal(ROW_SECURITY)};
END`
      const event = operation === 'create' ? 'INSERT' : 'UPDATE'
      return {
        sql: [
          `CREATE FUNCTION ${ident(trigger)}() RETURNS trigger LANGUAGE plpgsql AS ${literal(body)}`,
          `CREATE TRIGGER ${ident(trigger)} AFTER ${event} ON ${ident(name)} FOR EACH ROW EXECUTE FUNCTION ${ident(trigger)}()`,
        ],
        objects: [`trigger ${name} ${trigger}`],
      }
    })
}

// --- the columns of other rows that rules read

/** The columns that rules read in other rows, by table; and, for events, the columns that the log does not have. */
function columnsRead(model: Model): ReadonlyMap<string, ReadonlySet<string>> {
  const columnsByTable = new Map<string, Set<string>>()
  const add = ({ name, fields }: Collection, columns: readonly string[]) => {
    const columnSet = columnsByTable.get(name) ?? new Set(['id'])
    columnsByTable.set(name, columnSet)
    for (const column of columns) if (fields.has(column)) columnSet.add(column)
  }
  const addRead = ({ collection, of, columns }: ReadColumns) => {
    const unlogged = columns.filter(column => {
      const field = collection.fields.get(column)
      return field?.internal || field?.writeOnly
    })
    if (of !== 'row') add(collection, columns)
    // Of a row with related rows, events ask whether it still exists.
    else if (unlogged.length > 0 || columns.length === 0) add(collection, unlogged)
  }
  for (const [rule, collection] of rulesOf(model))
    readsOf(rule, collection, name => collectionNamed(model, name)).forEach(addRead)
  return columnsByTable
}

function parentOf(name: string, columns: ReadonlySet<string>, { collections }: Model): SecurityObjects {
  const table = storedTable(name)
  const [parent, child] = [ident(table), ident(name)]
  const fields = [...(collections.get(name)?.fields.values() ?? [])].filter(field => columns.has(field.name))
  const definitions = fields.map(field => `${ident(field.name)} ${field.type.encoding.postgres.type}`)
  const securedParent = securedTable(table, [
    {
      name: 'portico_rules',
      text: `FOR SELECT USING (${oncePerStatement(`${serviceCondition} OR ${actorCondition}`)})`,
    },
  ])
  return {
    sql: [
      `CREATE TABLE ${parent} (${definitions.join(', ')})`,
      `ALTER TABLE ${child} INHERIT ${parent}`,
      ...securedParent.sql,
    ],
    objects: [`parent ${name} ${table}`, ...securedParent.objects],
  }
}
