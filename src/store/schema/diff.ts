/** What turns one schema into another: steps, each with a sentence, its statements and whether data is lost. */
import {
  columnDefinition,
  createIndex,
  createTable,
  createUpkeep,
  createWhole,
  dropUpkeep,
  ident,
  literal,
} from './ddl.ts'
import type { Column, Schema, Table } from './tables.ts'

export interface Step {
  /** What happens, for the operator. */
  readonly sentence: string
  readonly sql: readonly string[]
  /** Data may be lost or refused: takes a flag. */
  readonly destructive: boolean
  /** Adds only: may be applied at a start by itself. */
  readonly additive: boolean
}

/** The steps in the order in which they are applied, within one transaction and without foreign keys. */
export function diff(before: Schema, after: Schema): Step[] {
  const old = new Map(before.tables.map(table => [table.name, table]))
  const kept = new Set<string>()
  const steps: Step[] = []
  for (const table of after.tables) {
    const from = predecessor(table, old)
    if (from) kept.add(from.name)
    if (from) steps.push(...changeTable(from, table, after))
    else steps.push(makeTable(table))
  }
  const gone = before.tables.filter(table => !kept.has(table.name))
  // Tables go first, so that a new one may take an old one's name.
  return [...gone.map(dropTable), ...steps]
}

function predecessor<T extends { readonly name: string; readonly renamedFrom: string | null }>(
  item: T,
  old: ReadonlyMap<string, T>,
): T | undefined {
  return old.get(item.name) ?? (item.renamedFrom === null ? undefined : old.get(item.renamedFrom))
}

function makeTable(table: Table): Step {
  const sentence = `Create the collection ${table.name}.`
  return { sentence, sql: createWhole(table), destructive: false, additive: true }
}

function dropTable(table: Table): Step {
  return {
    sentence: `Drop the collection ${table.name} with all its items.`,
    sql: [...dropUpkeep(table), `DROP TABLE ${ident(table.name)}`],
    destructive: true,
    additive: false,
  }
}

interface Change {
  readonly sentence: string
  readonly destructive: boolean
  readonly additive: boolean
  /** A statement that does it; without one the table is rebuilt. */
  readonly alter: string | undefined
}

function changeTable(from: Table, to: Table, after: Schema): Step[] {
  const changes = [...columnChanges(from, to, after), ...droppedColumns(from, to)]
  const renamed = from.name !== to.name
  const indexes = indexChanges(from, to)
  const searchChanged = from.search.join() !== to.search.join() || renamed
  if (changes.length === 0 && indexes.length === 0 && !searchChanged) return []
  const rebuilds = changes.some(change => change.alter === undefined)
  const structural = rebuilds ? rebuild(from, to) : alter(from, to, changes)
  const sentences = [
    ...(renamed ? [`Rename the collection ${from.name} to ${to.name}.`] : []),
    ...changes.map(change => change.sentence),
    ...indexes.map(change => change.sentence),
    ...(searchChanged && !renamed ? [`Make the search of ${to.name} anew.`] : []),
  ]
  const upkeep = rebuilds || searchChanged ? [...dropUpkeep(from), ...structural] : structural
  return [
    {
      sentence: sentences.join(' '),
      sql: [
        ...from.indexes.filter(index => rebuilds || renamed || !same(index, to.indexes)).map(dropIndex),
        ...upkeep,
        ...to.indexes
          .filter(index => rebuilds || renamed || !same(index, from.indexes))
          .map(index => createIndex(to, index)),
        ...(rebuilds || searchChanged ? createUpkeep(to) : []),
      ],
      destructive: changes.some(change => change.destructive),
      additive: !renamed && [...changes, ...indexes].every(change => change.additive),
    },
  ]
}

function dropIndex({ name }: { readonly name: string }): string {
  return `DROP INDEX IF EXISTS ${ident(name)}`
}

function same<T extends { readonly name: string }>(item: T, among: readonly T[]): boolean {
  return among.some(other => JSON.stringify(other) === JSON.stringify(item))
}

function columnChanges(from: Table, to: Table, after: Schema): Change[] {
  const old = new Map(from.columns.map(column => [column.name, column]))
  return to.columns.flatMap(column => {
    const was = predecessor(column, old)
    return was ? changeColumn(was, column, to, after) : addColumn(column, to)
  })
}

function addColumn(column: Column, table: Table): Change[] {
  const place = `${table.name}.${column.name}`
  const plain = column.optional && column.initial === null
  const definition = `ALTER TABLE ${ident(table.name)} ADD COLUMN ${columnDefinition(column)}`
  const lacking = !column.optional && column.initial === null
  return [
    {
      sentence: lacking
        ? `Add the field ${place}, which every item must have; it has no default, so the collection must be empty.`
        : `Add the field ${place}.`,
      destructive: lacking,
      additive: !lacking,
      alter: plain ? definition : undefined,
    },
  ]
}

function droppedColumns(from: Table, to: Table): Change[] {
  const kept = new Set(to.columns.flatMap(column => predecessor(column, byName(from))?.name ?? []))
  return from.columns
    .filter(column => !kept.has(column.name))
    .map(column => ({
      sentence: `Drop the field ${from.name}.${column.name} with its values.`,
      destructive: true,
      additive: false,
      alter: undefined,
    }))
}

function byName(table: Table): ReadonlyMap<string, Column> {
  return new Map(table.columns.map(column => [column.name, column]))
}

function changeColumn(was: Column, is: Column, table: Table, after: Schema): Change[] {
  const place = `${table.name}.${is.name}`
  const changes: Change[] = []
  const change = (sentence: string, destructive: boolean, additive: boolean, alter?: string) =>
    changes.push({ sentence, destructive, additive, alter })
  if (was.name !== is.name) {
    const rename = `ALTER TABLE ${ident(table.name)} RENAME COLUMN ${ident(was.name)} TO ${ident(is.name)}`
    change(`Rename the field ${table.name}.${was.name} to ${is.name}.`, false, false, rename)
  }
  if (was.sqlite !== is.sqlite || was.encoding !== is.encoding) {
    change(`Turn ${place} from ${was.type} into ${is.type}.`, !widens(was, is), false)
  }
  if (was.optional && !is.optional) {
    const filled = is.initial !== null
    change(`Make ${place} required${filled ? ', its default where it is missing' : ''}.`, !filled, false)
  }
  if (!was.optional && is.optional) change(`Make ${place} optional.`, false, true)
  if (reference(was, after) !== reference(is, after)) change(`Change what ${place} refers to.`, false, false)
  // Faces and guard hold to the values: the table itself has nothing to change.
  if (narrows(was, is)) change(`Allow fewer values in ${place}.`, true, false, 'SELECT 1')
  else if (narrows(is, was)) change(`Allow more values in ${place}.`, false, true, 'SELECT 1')
  return changes
}

/** Whether every value of the one type is one of the other. */
function widens(was: Column, is: Column): boolean {
  if (was.encoding === 'number' && is.encoding === 'number') return is.sqlite === 'REAL'
  const text = ['text', 'datetime', 'date']
  return text.includes(was.encoding) && is.encoding === 'text'
}

function narrows(was: Column, is: Column): boolean {
  if (is.values === null) return false
  if (was.values === null) return true
  const allowed = new Set(is.values)
  return was.values.some(value => !allowed.has(value))
}

/** As it will be: the name of a table that is renamed is not a change. */
function reference({ reference }: Column, after: Schema): string {
  if (reference === null) return ''
  const renamed = after.tables.find(table => table.renamedFrom === reference.table)
  return `${renamed?.name ?? reference.table} ${reference.onDelete}`
}

interface IndexChange {
  readonly sentence: string
  readonly additive: boolean
}

function indexChanges(from: Table, to: Table): IndexChange[] {
  const shape = (table: Table) =>
    new Map(table.indexes.map(({ columns, unique }) => [`${unique} ${columns.join()}`, { columns, unique }]))
  const old = shape(from)
  const now = shape(to)
  const words = ({ columns, unique }: { columns: readonly string[]; unique: boolean }) =>
    `${unique ? 'unique index' : 'index'} of ${to.name} on ${columns.join(', ')}`
  return [
    ...[...now]
      .filter(([key]) => !old.has(key))
      .map(([, index]) => ({
        sentence: `Add the ${words(index)}.`,
        // It fails where two items share a value: not for a start to find out.
        additive: !index.unique || !index.columns.every(column => byName(from).has(column)),
      })),
    ...[...old]
      .filter(([key]) => !now.has(key))
      .map(([, index]) => ({
        sentence: `Drop the ${words(index)}.`,
        additive: true,
      })),
  ]
}

function alter(from: Table, to: Table, changes: readonly Change[]): string[] {
  const rename = from.name === to.name ? [] : [`ALTER TABLE ${ident(from.name)} RENAME TO ${ident(to.name)}`]
  return [...rename, ...changes.flatMap(change => change.alter ?? [])]
}

/** https://sqlite.org/lang_altertable.html, 7: make anew, copy, drop, rename. Foreign keys are off meanwhile. */
function rebuild(from: Table, to: Table): string[] {
  const made = `_new_${to.name}`
  const old = byName(from)
  const columns = to.columns.map(column => ident(column.name)).join(', ')
  const values = to.columns.map(column => copied(predecessor(column, old), column)).join(', ')
  const sequence = `(SELECT "seq" FROM "sqlite_sequence" WHERE "name" = ${literal(to.name)})`
  return [
    // First, so that other tables' references follow the name.
    ...alter(from, to, []),
    createTable(to, made),
    `INSERT INTO ${ident(made)} (${columns}) SELECT ${values} FROM ${ident(to.name)}`,
    `DELETE FROM "sqlite_sequence" WHERE "name" = ${literal(made)}`,
    // Ids of deleted items are never given out again.
    `INSERT INTO "sqlite_sequence" ("name", "seq") SELECT ${literal(made)}, ${sequence} WHERE ${sequence} IS NOT NULL`,
    `DROP TABLE ${ident(to.name)}`,
    `ALTER TABLE ${ident(made)} RENAME TO ${ident(to.name)}`,
  ]
}

function copied(was: Column | undefined, is: Column): string {
  if (was === undefined) return initialSql(is)
  const value = was.sqlite === is.sqlite ? ident(was.name) : `CAST(${ident(was.name)} AS ${is.sqlite})`
  if (was.optional && !is.optional && is.initial !== null) return `coalesce(${value}, ${initialSql(is)})`
  return value
}

const now = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
const hex = (bytes: number) => `lower(hex(randomblob(${bytes})))`
/** RFC 9562, 5.4. */
const uuid = `${hex(4)} || '-' || ${hex(2)} || '-4' || substr(${hex(2)}, 2) || '-' || substr('89ab', 1 + (abs(random()) % 4), 1) || substr(${hex(2)}, 2) || '-' || ${hex(6)}`

function initialSql({ initial, encoding }: Column): string {
  if (initial === null) return 'NULL'
  if (initial.kind === 'now') return encoding === 'date' ? `date('now')` : now
  if (initial.kind === 'uuid') return uuid
  const { value } = initial
  if (value === null) return 'NULL'
  if (encoding === 'json') return literal(JSON.stringify(value))
  if (typeof value === 'boolean') return value ? '1' : '0'
  return typeof value === 'number' ? String(value) : literal(String(value))
}
