/** What turns one schema into another: steps, each with a sentence and whether data is lost. A database adds its SQL. */
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import { type ColumnChange, columnsByName, isConverted, predecessor } from './changes.ts'
import { checksOf, type TableChecks } from './data-checks.ts'
import type { Column, Schema, Table, TableIndex } from './tables.ts'

export interface Step<S = readonly string[]> {
  /** What happens, for the operator. */
  readonly sentence: string
  readonly sql: S
  /** Data may be lost or refused: the command needs a flag for it. */
  readonly destructive: boolean
  /** It only adds: a start may apply it. */
  readonly additive: boolean
  /** A service of the new schema, such as an older version, does not need it: a start that changes no tables ignores it. */
  readonly surplus: boolean
  /** The parts of the sentence; omitted if there is one. */
  readonly parts?: readonly Part[]
  /** The checks of the data. */
  readonly checks?: TableChecks
  /** In a plan: the faults in the data that prevent the step. */
  readonly faults?: readonly string[]
  /** Only the allowed values change, not the tables: a start need not wait for it. */
  readonly isQuiet?: boolean
}

export interface Part {
  readonly sentence: string
  readonly destructive: boolean
}

/** What a database supplies for each kind of step. */
export interface Maker<S> {
  /** Whether the database itself fills a column that an INSERT does not name. */
  fillsDefault(table: string, column: Column): boolean
  /** An index as the database holds it, without its name. */
  definition(index: TableIndex): string
  make(table: Table): S
  drop(table: Table, before: Schema): S
  change(change: TableChange): S
}

export interface TableChange {
  readonly from: Table
  readonly to: Table
  readonly columns: readonly ColumnChange[]
  readonly searchChanged: boolean
}

type Told<T> = T & Pick<Step<unknown>, 'sentence' | 'destructive' | 'additive' | 'surplus' | 'isQuiet'>

/** The steps in the order in which they are applied. */
export function diff<S>(before: Schema, after: Schema, maker: Maker<S>): Step<S>[] {
  const old = new Map(before.tables.map(table => [table.name, table]))
  const kept = new Set<string>()
  const steps: Step<S>[] = []
  for (const table of after.tables) {
    const from = predecessor(table, old)
    if (from) kept.add(from.name)
    if (from) steps.push(...changeTable(from, table, { before, after }, maker))
    else steps.push(makeTable(table, maker))
  }
  const gone = before.tables.filter(table => !kept.has(table.name))
  // Tables are dropped first, so that a new one may take an old one's name.
  return [...gone.map(table => dropTable(table, before, maker)), ...steps]
}

function makeTable<S>(table: Table, maker: Maker<S>): Step<S> {
  const sentence = `Create the collection ${table.name}.`
  return { sentence, sql: maker.make(table), destructive: false, additive: true, surplus: false }
}

function dropTable<S>(table: Table, before: Schema, maker: Maker<S>): Step<S> {
  const sentence = `Drop the collection ${table.name} with all its items.`
  return { sentence, sql: maker.drop(table, before), destructive: true, additive: false, surplus: true }
}

interface Schemas {
  readonly before: Schema
  readonly after: Schema
}

function changeTable<S>(from: Table, to: Table, schemas: Schemas, maker: Maker<S>): Step<S>[] {
  const columns = [...columnChanges(from, to, schemas), ...droppedColumns(from, to, maker)]
  const renamed = from.name !== to.name
  const indexes = indexChanges(from, to, maker)
  const searchChanged = from.search.join() !== to.search.join() || renamed || fillsSearched(from, to)
  // Running nodes of the older model write the search columns that they know.
  const keepsSearch = from.search.every(name => to.search.includes(name))
  if (columns.length === 0 && indexes.length === 0 && !searchChanged) return []
  const harmless = (sentence: string): Part => ({ sentence, destructive: false })
  const parts = [
    ...(renamed ? [harmless(`Rename the collection ${from.name} to ${to.name}.`)] : []),
    ...columns.map(({ sentence, destructive }) => ({ sentence, destructive })),
    ...indexes.map(change => harmless(change.sentence)),
    ...(searchChanged && !renamed ? [harmless(`Rebuild the search of ${to.name}.`)] : []),
  ]
  const made = indexes.flatMap(({ made }) => made ?? [])
  return [
    {
      sentence: parts.map(part => part.sentence).join(' '),
      parts,
      checks: checksOf({ from, to, columns, indexes: made, ...schemas }),
      sql: maker.change({ from, to, columns, searchChanged }),
      destructive: columns.some(change => change.destructive),
      additive: !renamed && keepsSearch && [...columns, ...indexes].every(change => change.additive),
      surplus: !renamed && !searchChanged && [...columns, ...indexes].every(change => change.surplus),
      isQuiet: columns.length === parts.length && columns.every(change => change.isQuiet === true),
    },
  ]
}

/** Whether items get the default of a searchable field that was optional: they must then be found by it. */
function fillsSearched(from: Table, to: Table): boolean {
  const old = columnsByName(from)
  return to.columns.some(column => {
    const was = predecessor(column, old)
    return to.search.includes(column.name) && was?.optional === true && !column.optional
  })
}

function columnChanges(from: Table, to: Table, schemas: Schemas): Told<ColumnChange>[] {
  const old = columnsByName(from)
  return to.columns.flatMap(column => {
    const was = predecessor(column, old)
    return was ? changeColumn(was, column, to, schemas) : [addColumn(column, to)]
  })
}

function addColumn(is: Column, table: Table): Told<ColumnChange> {
  const place = `${table.name}.${is.name}`
  const lacking = !is.optional && is.initial === null
  return {
    kind: 'add',
    is,
    sentence: lacking
      ? `Add the field ${place}, which every item must have; it has no default, so the collection must be empty.`
      : `Add the field ${place}.`,
    destructive: false,
    additive: !lacking,
    surplus: false,
  }
}

function droppedColumns<S>(from: Table, to: Table, maker: Maker<S>): Told<ColumnChange>[] {
  const kept = new Set(to.columns.flatMap(column => predecessor(column, columnsByName(from))?.name ?? []))
  return from.columns
    .filter(column => !kept.has(column.name))
    .map(was => ({
      kind: 'drop',
      was,
      sentence: `Drop the field ${from.name}.${was.name} with its values.`,
      destructive: true,
      additive: false,
      surplus: was.optional || maker.fillsDefault(from.name, was),
    }))
}

function changeColumn(was: Column, is: Column, table: Table, schemas: Schemas): Told<ColumnChange>[] {
  const place = `${table.name}.${is.name}`
  const changes: Told<ColumnChange>[] = []
  const change = (
    kind: Exclude<ColumnChange['kind'], 'add' | 'drop'>,
    sentence: string,
    { destructive = false, additive = false } = {},
  ) => changes.push({ kind, was, is, sentence, destructive, additive, surplus: false })
  if (was.name !== is.name) change('rename', `Rename the field ${table.name}.${was.name} to ${is.name}.`)
  if (isConverted(was, is)) {
    change('type', `Turn ${place} from ${was.type} into ${is.type}.`, {
      destructive: !is.encoding.widens.includes(was.encoding.name),
    })
  }
  if (was.optional && !is.optional) {
    const filled = is.initial !== null
    change('require', `Make ${place} required${filled ? ', its default where it is missing' : ''}.`)
  }
  if (!was.optional && is.optional) change('release', `Make ${place} optional.`, { additive: true })
  if (isOtherReference(was.reference, is.reference, schemas))
    change('reference', `Change what ${place} refers to.`)
  return [...changes, ...changeValues(was, is, place, changes)]
}

/**
 * The tables stay as they are, since transports and guard enforce the allowed values; the data is checked. A start waits for
 * it only where an older node could not read what a newer one writes: a choice.
 */
function changeValues(
  was: Column,
  is: Column,
  place: string,
  changes: readonly Told<ColumnChange>[],
): Told<ColumnChange>[] {
  const isRetyped = changes.some(change => change.kind === 'type')
  const same = { kind: 'values', was, is, destructive: false } as const
  const fewer = `Allow fewer values in ${place}.`
  const more = `Allow more values in ${place}.`
  if (narrows(was, is)) return [{ ...same, sentence: fewer, narrows: true, additive: false, surplus: false }]
  if (narrows(is, was)) return [{ ...same, sentence: more, additive: true, surplus: false }]
  if (isRetyped || was.accepts === undefined || is.accepts === undefined) return []
  const quiet = { ...same, additive: true, surplus: true, isQuiet: true }
  if (!covers(is.accepts, was.accepts)) return [{ ...quiet, sentence: fewer, narrows: true }]
  return covers(was.accepts, is.accepts) ? [] : [{ ...quiet, sentence: more }]
}

const atMost: ReadonlySet<string> = new Set(['maxLength', 'maximum', 'maxItems'])
const atLeast: ReadonlySet<string> = new Set(['minLength', 'minimum', 'minItems'])

/** Whether a schema certainly allows all that another one does: the other has each of its keywords, as strict or stricter. */
function covers(schema: JsonSchema, other: JsonSchema): boolean {
  return Object.entries(schema).every(([keyword, value]) => {
    const theirs = other[keyword]
    if (theirs === undefined) return false
    if (atMost.has(keyword)) return Number(value) >= Number(theirs)
    if (atLeast.has(keyword)) return Number(value) <= Number(theirs)
    if (keyword === 'enum')
      return (theirs as readonly JsonValue[]).every(one => (value as readonly JsonValue[]).includes(one))
    return JSON.stringify(value) === JSON.stringify(theirs)
  })
}

function narrows(was: Column, is: Column): boolean {
  if (is.values === null) return false
  if (was.values === null) return true
  const allowed = new Set(is.values)
  return was.values.some(value => !allowed.has(value))
}

/** A reference to a table that is only renamed does not change: the database itself follows the name. */
function isOtherReference(
  was: Column['reference'],
  is: Column['reference'],
  { before, after }: Schemas,
): boolean {
  if (was === null || is === null) return was !== is
  const target = after.tables.find(table => table.name === is.table)
  const old = new Map(before.tables.map(table => [table.name, table]))
  return was.onDelete !== is.onDelete || was.table !== (target && predecessor(target, old)?.name)
}

/** Whether a new column is null or distinct in every row, including those that older nodes still insert. */
function isDistinct(column: string, from: Table, to: Table): boolean {
  if (columnsByName(from).has(column)) return false
  const initial = columnsByName(to).get(column)?.initial ?? null
  return initial === null || initial.kind === 'uuid'
}

interface IndexChange {
  readonly sentence: string
  readonly made?: TableIndex
  readonly additive: boolean
  readonly surplus: boolean
}

/** A start does not need an index that is not unique: without it lists are slow, but nothing fails. */
function indexChanges<S>(from: Table, to: Table, { definition }: Maker<S>): IndexChange[] {
  const shape = (index: TableIndex) => `${index.unique} ${definition(index)}`
  const old = new Map(from.indexes.map(index => [shape(index), index]))
  const now = new Map(to.indexes.map(index => [shape(index), index]))
  const added = [...now].filter(([key]) => !old.has(key)).map(([, index]) => index)
  const dropped = [...old].filter(([key]) => !now.has(key)).map(([, index]) => index)
  const isReplaced = (index: TableIndex, others: readonly TableIndex[]) =>
    others.some(other => other.name === index.name)
  return [
    ...added.map(index => ({
      sentence: `${isReplaced(index, dropped) ? 'Rebuild' : 'Add'} the ${indexWords(index, to)}.`,
      made: index,
      additive: !index.unique || index.columns.some(column => isDistinct(column, from, to)),
      surplus: !index.unique,
    })),
    ...dropped
      .filter(index => !isReplaced(index, added))
      .map(index => ({ sentence: `Drop the ${indexWords(index, to)}.`, additive: true, surplus: true })),
  ]
}

function indexWords({ columns, order, unique }: TableIndex, { name }: Table): string {
  const named = order
    ?.slice(0, columns.length)
    .map(({ column, descending }) => (descending ? `-${column}` : column))
  return `${unique ? 'unique index' : 'index'} of ${name} on ${(named ?? columns).join(', ')}`
}
