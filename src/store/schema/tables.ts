/** The tables that a model needs, as plain data: what is stored beside them, compared and made. */
import type { JsonSchema, JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field, Index, Model } from '../../model/model.ts'

export interface Schema {
  readonly tables: readonly Table[]
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly indexes: readonly TableIndex[]
  /** The columns that are searched; empty: no search. */
  readonly search: readonly string[]
  readonly renamedFrom: string | null
}

export interface Column {
  readonly name: string
  /** The field type's name, e.g. `choice`. */
  readonly type: string
  readonly encoding: string
  readonly sqlite: 'TEXT' | 'INTEGER' | 'REAL'
  readonly postgres: string
  readonly optional: boolean
  readonly unique: boolean
  readonly reference: { readonly table: string; readonly onDelete: 'restrict' | 'cascade' | 'clear' } | null
  /** The only values that it may hold; null: any. */
  readonly values: readonly JsonValue[] | null
  /**
   * The schema that every value fulfils. Undefined: an earlier version made the table, or Portico itself sees to the
   * values, whose schema may hold names of other collections.
   */
  readonly accepts?: JsonSchema
  /** What rows that are there already get when the column is added. */
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
  readonly columns: readonly string[]
  readonly unique: boolean
}

export function schemaOf(model: Model): Schema {
  return { tables: [...model.collections.values()].map(tableOf) }
}

function tableOf(collection: Collection): Table {
  return {
    name: collection.name,
    columns: [...collection.fields.values()].map(field => columnOf(field, collection)),
    indexes: indexesOf(collection),
    search: collection.searchable.map(field => field.name),
    renamedFrom: collection.renamedFrom ?? null,
  }
}

const ownCollections: ReadonlySet<string> = new Set(['api_keys', 'oauth_apps', 'oauth_app_secrets'])

function columnOf(field: Field, { name: collection }: Collection): Column {
  const { type, reference } = field
  return {
    name: field.name,
    type: type.name,
    encoding: type.encoding,
    sqlite: type.column.sqlite,
    postgres: type.column.postgres,
    optional: field.optional,
    unique: field.unique,
    reference: reference ? { table: reference.target, onDelete: reference.onDelete } : null,
    values: Array.isArray(type.schema.enum) ? type.schema.enum : null,
    ...(ownCollections.has(collection) ? {} : { accepts: type.schema }),
    initial: initialOf(field),
    renamedFrom: field.renamedFrom ?? null,
  }
}

function initialOf(field: Field): Initial {
  if (field.name === 'created_at' || field.name === 'updated_at') return { kind: 'now' }
  return field.default === undefined || field.default.kind === 'currentUser' ? null : field.default
}

/** Unique fields, references and what the model declares, each once. */
function indexesOf(collection: Collection): readonly TableIndex[] {
  const fields = [...collection.fields.values()].filter(field => field.name !== 'id')
  const all: Index[] = [
    ...fields.filter(field => field.unique).map(field => ({ fields: [field.name], unique: true })),
    ...collection.indexes,
    ...fields.filter(field => field.reference).map(field => ({ fields: [field.name], unique: false })),
  ]
  const byColumns = new Map<string, TableIndex>()
  for (const { fields: columns, unique } of all) {
    const key = columns.join('__')
    if (byColumns.has(key)) continue
    const suffix = unique ? 'unique' : 'index'
    byColumns.set(key, { name: `${collection.name}__${key}__${suffix}`, columns, unique })
  }
  return [...byColumns.values()]
}

/** Whether a stored schema knows what its columns accept: one of an earlier version does not. */
export function accepts({ tables }: Schema): boolean {
  return tables.every(
    table => ownCollections.has(table.name) || table.columns.every(column => column.accepts),
  )
}
