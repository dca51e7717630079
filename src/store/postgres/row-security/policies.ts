/**
 * Row-level security, made from the model's rules: a second defence behind the guard. Policies read on whose behalf a
 * statement runs from settings of the transaction; without settings, they let nothing pass.
 *
 * Rules see rows as they are stored, whatever the caller may read. Policies of a table do not apply when its rows are read
 * through a parent (https://www.postgresql.org/docs/15/ddl-inherit.html), so each table that rules read has one, `_all_…`,
 * with the columns that they need.
 */
import { createHash } from 'node:crypto'
import type { Collection, Model } from '../../../model/model.ts'
import { followPath, pathsOf } from '../../../model/rule/paths.ts'
import { rulesOf } from '../../../model/rule/rules-of.ts'
import type { Rule } from '../../../model/rule.ts'
import { shortened } from '../../schema/postgres/ddl.ts'
import { ident, literal } from '../../schema/quoted.ts'
import { searchTable, storedTable } from '../../sql/dialect.ts'
import {
  anywaySql,
  collectionOf,
  hasScope,
  once,
  ownAddressSql,
  relationOf,
  ruleSql,
  setting,
} from './rule-sql.ts'

/** What the names of our triggers and their functions begin with, and the name of the constraint that they stand for. */
export const ROW_SECURITY = '_row_security'

export interface RowSecurity {
  /** The statements that create it, on tables without it. */
  readonly sql: readonly string[]
  /** The objects that exist then, as `migration.ts` finds them. */
  readonly objects: readonly string[]
  /** Of all of it. */
  readonly fingerprint: string
}

interface Part {
  readonly sql: readonly string[]
  readonly objects: readonly string[]
}

export function rowSecurity(model: Model): RowSecurity {
  const collections = [...model.collections.values()]
  const parts = [
    ...[...lookedAt(model)].map(([name, columns]) => parentOf(name, columns, model)),
    ...collections.flatMap(collection => [
      lockedTable(collection.name, policies(collection, model)),
      ...triggers(collection, model),
      ...(collection.searchable.length === 0 ? [] : [searchOf(collection)]),
    ]),
    lockedTable('_events', [{ name: 'portico_service', text: `USING (${isService})` }]),
    lockedTable('_records', [
      { name: 'portico_service', text: `USING (${isService})` },
      { name: 'portico_address', text: `FOR SELECT USING (${ownAddressSql})` },
    ]),
    lockedTable('_totals', [
      { name: 'portico_service', text: `USING (${isService})` },
      { name: 'portico_read', text: `FOR SELECT USING (${totalsSql(collections, model)})` },
    ]),
  ]
  const sql = parts.flatMap(part => part.sql)
  const fingerprint = createHash('sha256').update(sql.join(';\n')).digest('hex')
  return { sql, objects: parts.flatMap(part => part.objects), fingerprint }
}

// --- policies

const serviceIs = `${setting('service')} = 'on'`
const isService = once(serviceIs)
const actorIs = `${setting('actor')} IN ('anonymous', 'user', 'app')`

function may(action: 'read' | 'write', { singular }: Collection): string {
  return `${actorIs} AND ${hasScope(`${action}:${singular}`)}`
}

/** A write may refer to rows that its scopes do not allow to be read. */
function mayRead({ singular }: Collection): string {
  const isWriting = `${setting('writing')} <> ''`
  return `${actorIs} AND (${isWriting} OR ${hasScope(`read:${singular}`)})`
}

function holds(rule: Rule, collection: Collection, model: Model, name = ident(collection.name)): string {
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
  const isAllowed = `${holds(read, collection, model)} AND ${holds(rule, collection, model)}`
  return `${isService} OR (${once(may('write', collection))} AND ${isAllowed})`
}

interface Policy {
  readonly name: string
  /** What stands after the table. */
  readonly text: string
}

/** `portico.writing`: the statement returns what it wrote, which its caller may not be able to read. */
function policies(collection: Collection, model: Model): readonly Policy[] {
  const { name, access } = collection
  const isWriting = once(`${actorIs} AND ${setting('writing')} = ${literal(name)}`)
  const isRead = `${once(mayRead(collection))} AND ${holds(access.read, collection, model)}`
  const made = (rule: Rule) => {
    const isAllowed = looksBack(rule, collection, model) ? 'TRUE' : holds(rule, collection, model)
    return `(${isService} OR (${once(may('write', collection))} AND ${isAllowed}))`
  }
  const update = changing(access.update, collection, model)
  return [
    { name: 'portico_read', text: `FOR SELECT USING (${isService} OR ${isWriting} OR (${isRead}))` },
    { name: 'portico_create', text: `FOR INSERT WITH CHECK ${made(access.create)}` },
    { name: 'portico_update', text: `FOR UPDATE USING (${update}) WITH CHECK ${made(access.update)}` },
    { name: 'portico_delete', text: `FOR DELETE USING (${deletion(collection, model)})` },
  ]
}

/** Forced: it applies to the owner too, which is Portico. */
function lockedTable(table: string, all: readonly Policy[]): Part {
  return {
    sql: [
      ...all.map(({ name, text }) => `CREATE POLICY ${ident(name)} ON ${ident(table)} ${text}`),
      `ALTER TABLE ${ident(table)} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
    ],
    objects: [...all.map(({ name }) => `policy ${table} ${name}`), `locked ${table} forced`],
  }
}

/** For everyone but its owner: a statement under a policy could not use the index of words. */
function searchOf({ name }: Collection): Part {
  const table = searchTable(name)
  return {
    sql: [`ALTER TABLE ${ident(table)} ENABLE ROW LEVEL SECURITY`],
    objects: [`locked ${table}`],
  }
}

/** The totals of whole collections are for those who may read every row. */
function totalsSql(collections: readonly Collection[], model: Model): string {
  const whens = collections.map(collection => {
    const { name, access } = collection
    const isAnyway = anywaySql(access.read, { collection, name: '' }, model)
    return `WHEN ${literal(name)} THEN ${once(`${may('read', collection)} AND ${isAnyway}`)}`
  })
  return `CASE "collection" ${whens.join(' ')} ELSE FALSE END`
}

// --- rules that look back at the table that is written

/** Whether the rule's result for a row depends on what the same statement does to the table. */
function looksBack(rule: Rule, of: Collection, model: Model): boolean {
  let found = false
  walk(rule, of, model, true, ({ collection, isOwn }) => {
    if (!isOwn && collection === of) found = true
  })
  return found
}

/** A policy is evaluated before the row is stored, a trigger afterwards. */
function triggers(collection: Collection, model: Model): readonly Part[] {
  return (['create', 'update'] as const)
    .filter(operation => looksBack(collection.access[operation], collection, model))
    .map(operation => {
      const { name, access } = collection
      const made = shortened(`${ROW_SECURITY}_${operation}_${name}`)
      const refused = `new row violates row-level security policy for table ${ident(name)}`
      const body = `BEGIN
  IF ${isService} OR ${holds(access[operation], collection, model, 'NEW')} THEN RETURN NULL; END IF;
  RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = ${literal(refused)}, CONSTRAINT = ${literal(ROW_SECURITY)};
END`
      const event = operation === 'create' ? 'INSERT' : 'UPDATE'
      return {
        sql: [
          `CREATE FUNCTION ${ident(made)}() RETURNS trigger LANGUAGE plpgsql AS ${literal(body)}`,
          `CREATE TRIGGER ${ident(made)} AFTER ${event} ON ${ident(name)} FOR EACH ROW EXECUTE FUNCTION ${ident(made)}()`,
        ],
        objects: [`trigger ${name} ${made}`],
      }
    })
}

// --- what rules look at in other rows

interface Seen {
  readonly collection: Collection
  /** Whether it is the row that the rule is about. */
  readonly isOwn: boolean
  readonly columns: readonly string[]
}

function walk(rule: Rule, of: Collection, model: Model, isOwn: boolean, see: (seen: Seen) => void): void {
  switch (rule.kind) {
    case 'and':
    case 'or':
      for (const one of rule.rules) walk(one, of, model, isOwn, see)
      break
    case 'not':
      walk(rule.rule, of, model, isOwn, see)
      break
    case 'compare':
      for (const path of pathsOf(rule)) walkPath(path, of, model, isOwn, see)
      if (rule.operand.kind === 'caller') {
        see({ collection: collectionOf(model, 'users'), isOwn: false, columns: [rule.operand.field] })
      }
      break
    case 'related':
      walkRelated(rule, of, model, isOwn, see)
      break
    default:
  }
}

function walkPath(
  path: string,
  of: Collection,
  model: Model,
  isOwn: boolean,
  see: (seen: Seen) => void,
): void {
  const { steps, field } = followPath(path, of, name => collectionOf(model, name))
  let from: Pick<Seen, 'collection' | 'isOwn'> = { collection: of, isOwn }
  for (const { relation, target } of steps) {
    see({ ...from, columns: [relation.field] })
    from = { collection: target, isOwn: false }
  }
  see({ ...from, columns: [field.name] })
}

function walkRelated(
  { relation: name, rule }: Rule & { readonly kind: 'related' },
  of: Collection,
  model: Model,
  isOwn: boolean,
  see: (seen: Seen) => void,
): void {
  const relation = relationOf(of, name)
  const target = model.collections.get(relation.target)
  if (!target) throw new Error(`${of.name}.${name} leads nowhere`)
  see({ collection: of, isOwn, columns: relation.kind === 'one' ? [relation.field] : [] })
  see({ collection: target, isOwn: false, columns: relation.kind === 'many' ? [relation.field] : [] })
  if (relation.kind === 'manyToMany') {
    const through = model.collections.get(relation.through)
    if (through) see({ collection: through, isOwn: false, columns: [relation.from, relation.to] })
  }
  walk(rule, target, model, false, see)
}

/** The columns that rules read in other rows, by table; and, for events, the columns that the log does not have. */
function lookedAt(model: Model): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  const add = ({ name, fields }: Collection, columns: readonly string[]) => {
    const known = found.get(name) ?? new Set(['id'])
    found.set(name, known)
    for (const column of columns) if (fields.has(column)) known.add(column)
  }
  const see = ({ collection, isOwn, columns }: Seen) => {
    const unlogged = columns.filter(column => {
      const field = collection.fields.get(column)
      return field?.internal || field?.writeOnly
    })
    if (!isOwn) add(collection, columns)
    else if (unlogged.length > 0) add(collection, unlogged)
  }
  for (const [rule, collection] of rulesOf(model)) walk(rule, collection, model, true, see)
  return found
}

function parentOf(name: string, columns: ReadonlySet<string>, { collections }: Model): Part {
  const table = storedTable(name)
  const [parent, child] = [ident(table), ident(name)]
  const fields = [...(collections.get(name)?.fields.values() ?? [])].filter(field => columns.has(field.name))
  const definitions = fields.map(field => `${ident(field.name)} ${field.type.encoding.postgres.type}`)
  const known = lockedTable(table, [
    { name: 'portico_rules', text: `FOR SELECT USING (${once(`${serviceIs} OR ${actorIs}`)})` },
  ])
  return {
    sql: [
      `CREATE TABLE ${parent} (${definitions.join(', ')})`,
      `ALTER TABLE ${child} INHERIT ${parent}`,
      ...known.sql,
    ],
    objects: [`parent ${name} ${table}`, ...known.objects],
  }
}
