/** The migration from one schema to another: steps, each described by a sentence. A database adds its SQL. */
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import { type ColumnChange, columnsByName, isConverted, predecessor } from './changes.ts'
import { checksOf, type TableChecks } from './data-checks.ts'
import { dropObjects, objectChanges, renameObjects } from './objects.ts'
import { type KeptSum, sumsOf } from './sums.ts'
import type { Column, Schema, Table, TableIndex } from './tables.ts'

export interface MigrationStep<S = readonly string[]> {
  /** A description for the operator. */
  readonly sentence: string
  readonly sql: S
  /** Data may be lost: the command needs a flag for it. */
  readonly destructive: boolean
  /** It only adds, so a start may apply it. */
  readonly additive: boolean
  /** A service of the new schema, such as an older version, runs without the step: a start that changes no tables skips it. */
  readonly surplus: boolean
  /** The parts of the sentence; omitted if there is one. */
  readonly parts?: readonly StepPart[]
  /** The checks of the data. */
  readonly checks?: TableChecks
  /** In a plan: the faults in the data that prevent the step. */
  readonly faults?: readonly string[]
  /** Only the allowed values change, not the tables: a start skips it without a report. */
  readonly allowsValuesOnly?: boolean
}

export interface StepPart {
  readonly sentence: string
  readonly destructive: boolean
}

/** The differences between databases: SQL for each kind of step. */
export interface MigrationDialect<S> {
  /** Whether the column has a default in the database. */
  fillsDefault(table: string, column: Column): boolean
  /** The indexed columns and expressions, as in CREATE INDEX. */
  definition(index: TableIndex): string
  createTable(table: Table): S
  dropTable(table: Table, before: Schema): S
  alterTable(change: TableChange): S
  /** Changes of rows, in the transaction of the tables. */
  statements(all: readonly string[]): S
  /** The present time as a stored datetime. */
  readonly now: string
  /** Before the tables change, and after that. */
  dropSums(sums: readonly KeptSum[]): S
  keepSums(sums: readonly KeptSum[]): S
}

export interface TableChange {
  readonly from: Table
  readonly to: Table
  readonly columns: readonly ColumnChange[]
  readonly searchChanged: boolean
}

type DescribedStep<T> = T &
  Pick<MigrationStep<unknown>, 'sentence' | 'destructive' | 'additive' | 'surplus' | 'allowsValuesOnly'>

/** The steps in the order in which they are applied. */
export function diff<S>(before: Schema, after: Schema, dialect: MigrationDialect<S>): MigrationStep<S>[] {
  const oldTables = new Map(before.tables.map(table => [table.name, table]))
  const predecessors = new Set<string>()
  const steps: MigrationStep<S>[] = []
  for (const table of after.tables) {
    const from = predecessor(table, oldTables)
    if (from) predecessors.add(from.name)
    if (from) steps.push(...alterTable(from, table, { before, after }, dialect))
    else steps.push(createTable(table, dialect))
  }
  const dropped = before.tables.filter(table => !predecessors.has(table.name))
  // Tables are dropped first, so that a new one may take an old one's name.
  const all = [...dropped.map(table => dropTable(table, before, dialect)), ...steps]
  return withSums([...all, ...objectSteps(before, after, dialect)], before, after, dialect)
}

/** The files of fields that are renamed or dropped. */
function objectSteps<S>(before: Schema, after: Schema, dialect: MigrationDialect<S>): MigrationStep<S>[] {
  const changes = objectChanges(before, after)
  const { renamed, dropped } = changes
  const names = (fields: typeof dropped) =>
    fields.map(({ collection, field }) => `${collection}.${field}`).join(', ')
  const steps: MigrationStep<S>[] = []
  if (renamed.length > 0)
    steps.push({
      sentence: `Keep the files of ${names(renamed)}.`,
      sql: dialect.statements(renameObjects(changes)),
      ...{ destructive: false, additive: false, surplus: false },
    })
  if (dropped.length > 0)
    steps.push({
      sentence: `Delete the files of ${names(dropped)}.`,
      sql: dialect.statements(dropObjects(changes, dialect.now)),
      ...{ destructive: true, additive: false, surplus: true },
    })
  return steps
}

/** The triggers of stored values are dropped before a table changes, and created again; then the values are computed. */
function withSums<S>(
  steps: readonly MigrationStep<S>[],
  before: Schema,
  after: Schema,
  dialect: MigrationDialect<S>,
): MigrationStep<S>[] {
  const [oldSums, newSums] = [sumsOf(before), sumsOf(after)]
  const textOf = (sums: readonly KeptSum[]) => JSON.stringify(sums.map(({ source, ...sum }) => sum))
  const isSame = textOf(oldSums) === textOf(newSums)
  if (isSame && (newSums.length === 0 || steps.every(step => step.surplus))) return [...steps]
  const names = (sums: readonly KeptSum[]) => sums.map(({ table, column }) => `${table}.${column}`).join(', ')
  const base = { destructive: false, additive: true }
  const removal = {
    ...base,
    sentence: `Stop keeping the stored values ${names(oldSums)}${newSums.length > 0 ? ' while the tables change' : ''}.`,
    sql: dialect.dropSums(oldSums),
    surplus: newSums.length === 0,
  }
  const creation = {
    ...base,
    sentence: `Compute the stored values ${names(newSums)} for every item, and keep them.`,
    sql: dialect.keepSums(newSums),
    surplus: false,
  }
  return [...(oldSums.length > 0 ? [removal] : []), ...steps, ...(newSums.length > 0 ? [creation] : [])]
}

function createTable<S>(table: Table, dialect: MigrationDialect<S>): MigrationStep<S> {
  const sentence = `Create the collection ${table.name}.`
  return { sentence, sql: dialect.createTable(table), destructive: false, additive: true, surplus: false }
}

function dropTable<S>(table: Table, before: Schema, dialect: MigrationDialect<S>): MigrationStep<S> {
  const sentence = `Drop the collection ${table.name} with all its items.`
  return {
    sentence,
    sql: dialect.dropTable(table, before),
    destructive: true,
    additive: false,
    surplus: true,
  }
}

interface Schemas {
  readonly before: Schema
  readonly after: Schema
}

function alterTable<S>(
  from: Table,
  to: Table,
  schemas: Schemas,
  dialect: MigrationDialect<S>,
): MigrationStep<S>[] {
  const columns = [...columnChanges(from, to, schemas), ...droppedColumns(from, to, dialect)]
  const isRenamed = from.name !== to.name
  const indexes = indexChanges(from, to, dialect)
  const overlaps = overlapChanges(from, to)
  // Their conversion may make intervals overlap that are kept apart already.
  const convertsValues = columns.some(({ kind }) => kind === 'type' || kind === 'set not null')
  const searchChanged = findsOtherwise(from, to) || isRenamed || fillsSearched(from, to)
  // Running nodes of the older model still write the former search columns.
  const keepsSearch = from.search.every(name => to.search.includes(name))
  const changes = [...columns, ...indexes, ...overlaps]
  if (changes.length === 0 && !searchChanged) return []
  const losslessPart = (sentence: string): StepPart => ({ sentence, destructive: false })
  const parts = [
    ...(isRenamed ? [losslessPart(`Rename the collection ${from.name} to ${to.name}.`)] : []),
    ...columns.map(({ sentence, destructive }) => ({ sentence, destructive })),
    ...[...indexes, ...overlaps].map(change => losslessPart(change.sentence)),
    ...(searchChanged && !isRenamed ? [losslessPart(`Rebuild the search of ${to.name}.`)] : []),
  ]
  const created = indexes.flatMap(({ created }) => created ?? [])
  return [
    {
      sentence: parts.map(part => part.sentence).join(' '),
      parts,
      checks: checksOf({
        from,
        to,
        columns,
        indexes: created,
        overlaps: convertsValues ? (to.noOverlaps ?? []) : overlaps.flatMap(({ limit }) => limit ?? []),
        ...schemas,
      }),
      sql: dialect.alterTable({ from, to, columns, searchChanged }),
      destructive: columns.some(change => change.destructive),
      additive: !isRenamed && keepsSearch && changes.every(change => change.additive),
      surplus: !isRenamed && !searchChanged && changes.every(change => change.surplus),
      allowsValuesOnly:
        columns.length + overlaps.length === parts.length &&
        [...columns, ...overlaps].every(change => change.allowsValuesOnly === true),
    },
  ]
}

/** Whether other columns are searched, or the same by other terms. */
function findsOtherwise(from: Table, to: Table): boolean {
  return from.search.join() !== to.search.join() || from.termsVersion !== to.termsVersion
}

/** Whether items get the default of a searchable field that was optional: a search must then find them by this default. */
function fillsSearched(from: Table, to: Table): boolean {
  const oldColumns = columnsByName(from)
  return to.columns.some(column => {
    const oldColumn = predecessor(column, oldColumns)
    return to.search.includes(column.name) && oldColumn?.optional === true && !column.optional
  })
}

function columnChanges(from: Table, to: Table, schemas: Schemas): DescribedStep<ColumnChange>[] {
  const oldColumns = columnsByName(from)
  return to.columns.flatMap(column => {
    const oldColumn = predecessor(column, oldColumns)
    return oldColumn ? changesOfColumn(oldColumn, column, to, schemas) : [addColumn(column, to)]
  })
}

function addColumn(newColumn: Column, table: Table): DescribedStep<ColumnChange> {
  const path = `${table.name}.${newColumn.name}`
  const needsValue = !newColumn.optional && newColumn.initial === null
  return {
    kind: 'add',
    newColumn,
    sentence: needsValue
      ? `Add the field ${path}, which every item must have; it has no default, so the collection must be empty.`
      : `Add the field ${path}.`,
    destructive: false,
    additive: !needsValue,
    surplus: false,
  }
}

function droppedColumns<S>(
  from: Table,
  to: Table,
  dialect: MigrationDialect<S>,
): DescribedStep<ColumnChange>[] {
  const predecessors = new Set(
    to.columns.flatMap(column => predecessor(column, columnsByName(from))?.name ?? []),
  )
  return from.columns
    .filter(column => !predecessors.has(column.name))
    .map(oldColumn => ({
      kind: 'drop',
      oldColumn,
      sentence: `Drop the field ${from.name}.${oldColumn.name} with its values.`,
      // A stored value can be computed again.
      destructive: !from.sums?.some(sum => sum.column === oldColumn.name),
      additive: false,
      surplus: oldColumn.optional || dialect.fillsDefault(from.name, oldColumn),
    }))
}

function changesOfColumn(
  oldColumn: Column,
  newColumn: Column,
  table: Table,
  schemas: Schemas,
): DescribedStep<ColumnChange>[] {
  const path = `${table.name}.${newColumn.name}`
  const changes: DescribedStep<ColumnChange>[] = []
  const addChange = (
    kind: Exclude<ColumnChange['kind'], 'add' | 'drop'>,
    sentence: string,
    { destructive = false, additive = false } = {},
  ) => changes.push({ kind, oldColumn, newColumn, sentence, destructive, additive, surplus: false })
  if (oldColumn.name !== newColumn.name)
    addChange('rename', `Rename the field ${table.name}.${oldColumn.name} to ${newColumn.name}.`)
  if (isConverted(oldColumn, newColumn)) {
    addChange('type', `Turn ${path} from ${oldColumn.type} into ${newColumn.type}.`, {
      destructive: !newColumn.encoding.widens.includes(oldColumn.encoding.name),
    })
  }
  if (oldColumn.optional && !newColumn.optional) {
    const hasDefault = newColumn.initial !== null
    addChange(
      'set not null',
      `Make ${path} required${hasDefault ? ', with its default where a value is missing' : ''}.`,
    )
  }
  if (!oldColumn.optional && newColumn.optional)
    addChange('drop not null', `Make ${path} optional.`, { additive: true })
  if (isOtherReference(oldColumn.reference, newColumn.reference, schemas))
    addChange('reference', `Change the reference ${path}${deletionChange(oldColumn, newColumn)}.`)
  return [...changes, ...changesOfAllowedValues(oldColumn, newColumn, path, changes)]
}

/**
 * The tables do not change, because transports and guard enforce the allowed values; the data is checked. A start depends on it
 * only for a choice: an older node could not read the values that a newer one writes.
 */
function changesOfAllowedValues(
  oldColumn: Column,
  newColumn: Column,
  path: string,
  changes: readonly DescribedStep<ColumnChange>[],
): DescribedStep<ColumnChange>[] {
  const isRetyped = changes.some(change => change.kind === 'type')
  const base = { kind: 'values', oldColumn, newColumn, destructive: false } as const
  const allowFewer = `Allow fewer values in ${path}.`
  const allowMore = `Allow more values in ${path}.`
  if (isNarrowed(oldColumn, newColumn))
    return [{ ...base, sentence: allowFewer, narrows: true, additive: false, surplus: false }]
  if (isNarrowed(newColumn, oldColumn))
    return [{ ...base, sentence: allowMore, additive: true, surplus: false }]
  if (isRetyped || oldColumn.accepts === undefined || newColumn.accepts === undefined) return []
  const valuesOnly = { ...base, additive: true, surplus: true, allowsValuesOnly: true }
  if (!covers(newColumn.accepts, oldColumn.accepts))
    return [{ ...valuesOnly, sentence: allowFewer, narrows: true }]
  return covers(oldColumn.accepts, newColumn.accepts) ? [] : [{ ...valuesOnly, sentence: allowMore }]
}

const upperBounds: ReadonlySet<string> = new Set(['maxLength', 'maximum', 'maxItems'])
const lowerBounds: ReadonlySet<string> = new Set(['minLength', 'minimum', 'minItems'])

/** Whether a schema certainly allows every value of another one: the other has each of its keywords, as strict or stricter. */
function covers(schema: JsonSchema, other: JsonSchema): boolean {
  return Object.entries(schema).every(([keyword, value]) => {
    const otherValue = other[keyword]
    if (otherValue === undefined) return false
    if (upperBounds.has(keyword)) return Number(value) >= Number(otherValue)
    if (lowerBounds.has(keyword)) return Number(value) <= Number(otherValue)
    if (keyword === 'enum')
      return (otherValue as readonly JsonValue[]).every(item =>
        (value as readonly JsonValue[]).includes(item),
      )
    return JSON.stringify(value) === JSON.stringify(otherValue)
  })
}

function isNarrowed(oldColumn: Column, newColumn: Column): boolean {
  if (newColumn.values === null) return false
  if (oldColumn.values === null) return true
  const allowed = new Set(newColumn.values)
  return oldColumn.values.some(value => !allowed.has(value))
}

/** A mark `personal` changes it, too. */
function deletionChange({ reference: before }: Column, { reference: after }: Column): string {
  if (!before || !after || before.onDelete === after.onDelete) return ''
  return `: from \`onDelete: '${before.onDelete}'\` to \`'${after.onDelete}'\``
}

/** A reference to a table that is only renamed does not change: the database itself follows the name. */
function isOtherReference(
  oldReference: Column['reference'],
  newReference: Column['reference'],
  { before, after }: Schemas,
): boolean {
  if (oldReference === null || newReference === null) return oldReference !== newReference
  const target = after.tables.find(table => table.name === newReference.table)
  const oldTables = new Map(before.tables.map(table => [table.name, table]))
  return (
    oldReference.onDelete !== newReference.onDelete ||
    oldReference.table !== (target && predecessor(target, oldTables)?.name)
  )
}

/** Whether a new column is null or distinct in every row, including rows that older nodes still insert. */
function isDistinct(column: string, from: Table, to: Table): boolean {
  if (columnsByName(from).has(column)) return false
  const initial = columnsByName(to).get(column)?.initial ?? null
  return initial === null || initial.kind === 'uuid'
}

interface IndexChange {
  readonly sentence: string
  readonly created?: TableIndex
  readonly additive: boolean
  readonly surplus: boolean
}

/** A start does not need an index that is not unique: without it, lists are slow, but no request fails. */
function indexChanges<S>(from: Table, to: Table, { definition }: MigrationDialect<S>): IndexChange[] {
  const keyOf = (index: TableIndex) => `${index.unique} ${definition(index)}`
  const oldIndexes = new Map(from.indexes.map(index => [keyOf(index), index]))
  const newIndexes = new Map(to.indexes.map(index => [keyOf(index), index]))
  const added = [...newIndexes].filter(([key]) => !oldIndexes.has(key)).map(([, index]) => index)
  const dropped = [...oldIndexes].filter(([key]) => !newIndexes.has(key)).map(([, index]) => index)
  const isReplaced = (index: TableIndex, others: readonly TableIndex[]) =>
    others.some(other => other.name === index.name)
  return [
    ...added.map(index => ({
      sentence: `${isReplaced(index, dropped) ? 'Rebuild' : 'Add'} the ${indexDescription(index, to)}.`,
      created: index,
      additive: !index.unique || index.columns.some(column => isDistinct(column, from, to)),
      surplus: !index.unique,
    })),
    ...dropped
      .filter(index => !isReplaced(index, added))
      .map(index => ({
        sentence: `Drop the ${indexDescription(index, to)}.`,
        additive: true,
        surplus: true,
      })),
  ]
}

interface OverlapChange {
  readonly sentence: string
  /** The limit that the rows must fulfil from now on. */
  readonly limit?: string
  readonly additive: boolean
  readonly surplus: boolean
  readonly allowsValuesOnly?: boolean
}

/** The tables do not change: writes keep the limits. Nodes of an older model do not. */
function overlapChanges(from: Table, to: Table): OverlapChange[] {
  const [before, after] = [from.noOverlaps ?? [], to.noOverlaps ?? []]
  return [
    ...after
      .filter(limit => !before.includes(limit))
      .map(limit => ({
        sentence: `Require ${limit} of ${to.name}.`,
        limit,
        additive: false,
        surplus: false,
      })),
    ...before
      .filter(limit => !after.includes(limit))
      .map(limit => ({
        sentence: `No longer require ${limit} of ${to.name}.`,
        additive: true,
        surplus: true,
        allowsValuesOnly: true,
      })),
  ]
}

function indexDescription({ columns, order, unique }: TableIndex, { name }: Table): string {
  const keys = order
    ?.slice(0, columns.length)
    .map(({ column, descending }) => (descending ? `-${column}` : column))
  return `${unique ? 'unique index' : 'index'} of ${name} on ${(keys ?? columns).join(', ')}`
}
