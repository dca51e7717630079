/** The tables of a model as plain data, which is stored in the database and compared by migrations. */
import { managedCollections } from '../../../model/builtin/managed.ts'
import { storedAggregate } from '../../../model/computed/fields.ts'
import type { Encoding } from '../../../model/fields/encoding.ts'
import { storedEncoding } from '../../../model/fields/encodings.ts'
import type { JsonSchema, JsonValue } from '../../../model/fields/type.ts'
import { indexedKeys, indexOrder, keyText } from '../../../model/indexes.ts'
import type { Collection, Field, IndexKey, Model, OverlapLimit } from '../../../model/model.ts'
import type { Rule } from '../../../model/rule/rule.ts'
import { ruleSource } from '../../../model/rule/rule-text.ts'
import { termsVersion } from '../../plan/text-search.ts'

export interface Schema {
  readonly tables: readonly Table[]
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly indexes: readonly TableIndex[]
  /** The columns that are searched; empty: no search. */
  readonly search: readonly string[]
  /** The `termsVersion` of the terms by which they are found. Undefined: no search. */
  readonly termsVersion?: number
  /** The `overlapText` of each limit that the rows fulfil. */
  readonly noOverlaps?: readonly string[]
  readonly renamedFrom: string | null
  /** The columns that the writes of other tables keep. Omitted: none. */
  readonly sums?: readonly StoredSum[]
}

/** A column that is kept equal to a sum over the rows of another table that refer to the row. */
export interface StoredSum {
  readonly column: string
  /** The other table, and its column that refers to the row. */
  readonly from: string
  readonly by: string
  /** The column that is added; null: the rows are counted. */
  readonly add: string | null
  /** The rows that count. It compares their own columns with constants. */
  readonly where: Rule
}

export interface Column {
  readonly name: string
  /** The field type's name, e.g. `choice`. */
  readonly type: string
  readonly encoding: Encoding
  readonly sqlite: 'TEXT' | 'INTEGER' | 'REAL'
  readonly postgres: string
  readonly optional: boolean
  readonly unique: boolean
  readonly reference: { readonly table: string; readonly onDelete: 'restrict' | 'cascade' | 'clear' } | null
  /** The only values that the column may hold; null: any. */
  readonly values: readonly JsonValue[] | null
  /**
   * The schema that every value fulfils. Undefined: Portico itself writes the values, whose schema may contain the names of
   * other collections, or the database computes them.
   */
  readonly accepts?: JsonSchema
  /** The value of existing rows when the column is added. */
  readonly initial: Initial
  readonly renamedFrom: string | null
}

export type Initial =
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'now' }
  | { readonly kind: 'uuid' }
  | null

export interface TableIndex {
  readonly name: string
  /** The columns that the model names. */
  readonly columns: readonly string[]
  readonly unique: boolean
  /** The order of the rows, which ends in the id. Undefined: the index is unique. */
  readonly order?: readonly OrderedColumn[]
}

export interface OrderedColumn {
  readonly column: string
  readonly descending: boolean
  /** Whether it may be null, which is the smallest value. */
  readonly optional: boolean
}

/** As databases store it, with encodings by name. */
export function schemaText({ tables }: Schema): string {
  return JSON.stringify({
    tables: tables.map(table => ({
      ...table,
      columns: table.columns.map(column => ({ ...column, encoding: column.encoding.name })),
    })),
  })
}

/** Reads a result of `schemaText`, perhaps of another version. */
export function schemaFrom(text: string): Schema {
  const { tables }: StoredSchema = JSON.parse(text)
  const columnOf = (stored: StoredColumn): Column => ({
    ...stored,
    encoding: storedEncoding(stored.encoding, stored.sqlite),
  })
  return { tables: tables.map(table => ({ ...table, columns: table.columns.map(columnOf) })) }
}

type StoredColumn = Omit<Column, 'encoding'> & { readonly encoding: string }

interface StoredSchema {
  readonly tables: readonly (Omit<Table, 'columns'> & { readonly columns: readonly StoredColumn[] })[]
}

export function schemaOf(model: Model): Schema {
  const joins = new Set(
    [...model.collections.values()].flatMap(({ relations }) =>
      [...relations.values()].flatMap(relation => (relation.kind === 'manyToMany' ? [relation.through] : [])),
    ),
  )
  return {
    tables: [...model.collections.values()].map(collection =>
      tableOf(collection, joins.has(collection.name)),
    ),
  }
}

/** `isJoin`: whether a many-to-many relation goes through the collection. */
function tableOf(collection: Collection, isJoin: boolean): Table {
  const noOverlaps = collection.limits.flatMap(limit =>
    limit.kind === 'overlap' ? [overlapText(limit)] : [],
  )
  const stored = [...collection.computed.values()].filter(field => storedAggregate(field) !== undefined)
  return {
    name: collection.name,
    columns: [...collection.fields.values(), ...stored].map(field => columnOf(field, collection)),
    indexes: indexesOf(collection, isJoin),
    search: collection.searchable.map(field => field.name),
    ...(collection.searchable.length > 0 && { termsVersion }),
    ...(noOverlaps.length > 0 && { noOverlaps }),
    renamedFrom: collection.renamedFrom ?? null,
    ...(stored.length > 0 && { sums: stored.map(field => sumOf(field, collection)) }),
  }
}

/** The limit as in a model file. */
export function overlapText({ start, end, per, where }: OverlapLimit): string {
  const options = [
    ...(per === undefined ? [] : [`per: '${per.name}'`]),
    ...(where.kind === 'anyone' ? [] : [`where: ${ruleSource(where)}`]),
  ]
  const list = options.length === 0 ? '' : `, { ${options.join(', ')} }`
  return `noOverlap('${start.name}', '${end.name}'${list})`
}

function sumOf(field: Field, { relations }: Collection): StoredSum {
  const aggregate = storedAggregate(field)
  const relation = relations.get(aggregate?.relation ?? '')
  if (aggregate === undefined || relation?.kind !== 'many') throw new Error(`${field.name} is not stored`)
  const { field: add = null, where } = aggregate
  return { column: field.name, from: relation.target, by: relation.field, add, where }
}

function columnOf(field: Field, { name: collection }: Collection): Column {
  const { type, reference } = field
  return {
    name: field.name,
    type: type.name,
    encoding: type.encoding,
    sqlite: type.encoding.sqlite.type,
    postgres: type.encoding.postgres.type,
    optional: field.optional,
    unique: field.unique,
    reference: reference ? { table: reference.target, onDelete: reference.onDelete } : null,
    values: Array.isArray(type.schema.enum) ? type.schema.enum : null,
    ...(managedCollections.has(collection) || storedAggregate(field) ? {} : { accepts: type.schema }),
    initial: initialOf(field),
    renamedFrom: field.renamedFrom ?? null,
  }
}

function initialOf(field: Field): Initial {
  if (storedAggregate(field) !== undefined) return { kind: 'value', value: 0 }
  if (field.name === 'created_at' || field.name === 'updated_at') return { kind: 'now' }
  const { default: initial } = field
  return initial === undefined || initial.kind === 'currentUser' || initial.kind === 'currentApp'
    ? null
    : initial
}

function indexesOf(collection: Collection, isJoin: boolean): readonly TableIndex[] {
  return indexedKeys(collection, isJoin).map(({ keys, unique }) =>
    unique ? uniqueIndex(collection, keys) : orderedIndex(collection, keys),
  )
}

function uniqueIndex({ name }: Collection, keys: readonly IndexKey[]): TableIndex {
  const columns = keys.map(key => key.field)
  return { name: `${name}__${columns.join('__')}__unique`, columns, unique: true }
}

/** The name contains the directions, in a form that no field name has, and omits the id at the end. */
function orderedIndex({ name, fields }: Collection, keys: readonly IndexKey[]): TableIndex {
  const all = indexOrder(keys)
  const namedKeys = all.slice(0, keys.length)
  const order = all.map(({ field, descending }) => ({
    column: field,
    descending,
    optional: fields.get(field)?.optional === true,
  }))
  return {
    name: `${name}__${namedKeys.map(keyText).join('__')}__index`,
    columns: namedKeys.map(key => key.field),
    unique: false,
    order,
  }
}
