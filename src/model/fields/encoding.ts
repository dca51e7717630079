/** How a field type stores its values. Several types may share an encoding. */
import type { JsonValue } from './type.ts'

/** A stored value that is not null, as parameters and rows contain it on both databases. */
export type StoredValue = string | number

export interface Encoding {
  /** Every database stores this name in its schema, so it must never change. */
  readonly name: string
  /** `value`: canonical, not null. */
  encode(value: JsonValue): StoredValue
  /** Undefined for a cell that is not a value of this encoding. */
  decode(cell: StoredValue): JsonValue | undefined
  /** Whether a value from a client's cursor can be compared with stored ones. */
  isSortKey(value: JsonValue): boolean
  /** The value of `default: now` for a time in ISO 8601, UTC. */
  now?(time: string): JsonValue
  /** The encodings whose values are all valid in this one: a migration from them loses no data. */
  readonly widens: readonly string[]
  /** The maximum size of a value as JSON; omitted: the schema of the field decides. */
  readonly maxBytes?: number
  /** Whether its values name objects of the file store, whose rows in `uploads` name the field. */
  readonly namesObjects?: true
  /** Whether its values are whole numbers. */
  readonly isWhole?: true
  readonly sqlite: SqliteColumn
  readonly postgres: PostgresColumn
}

/** The SQL for a column on one database. `column`: any expression of the column's type. */
interface Column<Type extends string> {
  /** As `CREATE TABLE` names it. */
  readonly type: Type
  /** As a JSON expression. */
  json(column: string): string
  /** The value from the JSON text of an event. `member`: a literal, the name of the field or its path. */
  logged(event: string, member: string): string
  /** A constant for DDL. */
  constant(value: JsonValue): string
  /** The value of `default: now` at present. */
  readonly now?: string
  /** The sum of a column in double precision, if the type has sums; null if it overflows. */
  sum?(column: string): string
  /** Converts a column of another type. Omitted: the database converts it. */
  from?(column: string, previous: PreviousColumn): string
}

export interface PreviousColumn {
  /** Its type, without a collation. */
  readonly type: string
  /** The column as a JSON expression. */
  readonly json: string
}

export interface SqliteColumn extends Column<'TEXT' | 'INTEGER' | 'REAL'> {
  /** A constant below every value. */
  readonly least: string
  /** A CHECK for the constraints that a STRICT table does not derive from the type. */
  check?(column: string): string
}

export interface PostgresColumn extends Column<string> {
  /** The aggregates for the least and the greatest value. Omitted: `min` and `max`. */
  readonly extremes?: { readonly min: string; readonly max: string }
  /** An expression that can be compared for equality. Omitted: the column itself. */
  comparable?(column: string): string
}

/** `encode` for values that are stored unchanged. */
export function asIs(value: JsonValue): StoredValue {
  return value as StoredValue
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** `logged` on PostgreSQL, for texts and numbers. */
export function loggedAs(type: string): PostgresColumn['logged'] {
  return (event, member) => `(${event}::json ->> ${member})::${type}`
}

/** `logged` on SQLite, for texts and numbers. */
export function loggedValue(event: string, member: string): string {
  return `${event} ->> ${member}`
}
