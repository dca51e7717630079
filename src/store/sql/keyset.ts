/** The rows after a position in a sort order whose smallest value is null. */
import type { Field } from '../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { GuardedSort } from '../../plan/guarded.ts'
import { visible } from './condition.ts'
import type { Row } from './row.ts'
import { type Bind, join, type Sql, sql } from './writer.ts'

/** A statement with more ranges would take long to plan. */
const maxRanges = 12

interface Key {
  readonly value: Sql
  readonly at: Sql
  readonly descending: boolean
  readonly nullable: boolean
  readonly field: Field
  /** Whether the value is that of a column, which may have an index. */
  readonly isColumn: boolean
}

/**
 * Conditions of which each row after the position fulfils exactly one. `divided`: one condition for each range of an
 * index. Otherwise one condition, which uses an index only if all keys have the same direction and none is null.
 * `position`: one bind per sort key.
 */
export function after(
  sort: readonly GuardedSort[],
  position: readonly Bind[],
  row: Row,
  divided: boolean,
): readonly Sql[] {
  const keys = sort.map((each, index) => keyOf(each, position[index], row))
  if (keys.length === 0) throw new TypeError('a keyset needs a sort key')
  if (!divided && isRowValue(keys)) return [rowValue(keys)]
  if (!divided || keys.some(key => !key.isColumn)) return [undivided(keys, row)]
  const ranges = rangesOf(keys, [], row)
  return ranges.length > maxRanges ? [undivided(keys, row)] : ranges
}

function keyOf({ field, descending }: GuardedSort, bind: Bind | undefined, row: Row): Key {
  if (bind === undefined) throw new TypeError('a position needs one value per sort key')
  const nullable = field.field.optional || field.when.kind !== 'always'
  const value = visible(field, row)
  return { value, at: [bind], descending, nullable, field: field.field, isColumn: isColumn(field) }
}

function isRowValue(keys: readonly Key[]): boolean {
  return keys.every(key => !key.nullable && key.descending === keys[0]?.descending)
}

function rowValue(keys: readonly Key[]): Sql {
  const values = keys.map(key => key.value)
  const at = keys.map(key => key.at)
  const sign: Sql = keys[0]?.descending ? [' < '] : [' > ']
  return sql`${tuple(values)}${sign}${tuple(at)}`
}

function tuple(values: readonly Sql[]): Sql {
  const listed = join(values, ', ')
  return values.length === 1 ? listed : sql`(${listed})`
}

/** `before`: the conditions on the keys before these. */
function rangesOf(keys: readonly Key[], before: readonly Sql[], row: Row): readonly Sql[] {
  const [key, ...rest] = keys
  if (key === undefined) return []
  const { value, at, descending, field } = key
  const held = (...parts: readonly Sql[]) => join([...before, ...parts], ' AND ')
  const within = (...parts: readonly Sql[]) => rangesOf(rest, [...before, ...parts], row)
  if (isOneRange(keys, row)) return [held(rowValue(keys))]
  const strictly = held(sql`${value} ${descending ? ['<'] : ['>']} ${at}`)
  if (!key.nullable) return [strictly, ...within(sql`${value} = ${at}`)]
  const fromNull = descending
    ? held(sql`${value} IS NULL`, sql`${at} IS NOT NULL`)
    : held(sql`${value} IS NOT NULL`, sql`${at} IS NULL`)
  if (row.dialect.seeksNull) return [strictly, fromNull, ...within(row.dialect.same(value, at, field))]
  const bothNull = within(sql`${value} IS NULL`, sql`${at} IS NULL`)
  // A comparison with a row value that contains null is never true.
  if (isOneRange([{ ...key, nullable: false }, ...rest], row))
    return [held(rowValue(keys)), fromNull, ...bothNull]
  return [strictly, fromNull, ...within(sql`${value} = ${at}`), ...bothNull]
}

/** Whether one comparison, which can use an index, finds all rows beyond the position. */
function isOneRange(keys: readonly Key[], { dialect }: Row): boolean {
  return isRowValue(keys) && (dialect.comparesRows || keys.length === 1)
}

function undivided(keys: readonly Key[], row: Row): Sql {
  const steps = keys.map((key, index) => step(keys.slice(0, index), key, row))
  const [first] = keys
  return first === undefined || first.nullable ? either(steps) : sql`(${bound(first)} AND ${either(steps)})`
}

/** Does not affect the result: with it, the database can start at the position in an index. */
function bound({ value, at, descending }: Key): Sql {
  return descending ? sql`${value} <= ${at}` : sql`${value} >= ${at}`
}

/** Equal in the keys before, and beyond the position in this one. */
function step(before: readonly Key[], key: Key, row: Row): Sql {
  const equal = before.map(({ nullable, value, at, field }) =>
    nullable ? row.dialect.same(value, at, field) : sql`${value} = ${at}`,
  )
  return sql`(${join([...equal, beyond(key)], ' AND ')})`
}

function beyond({ value, at, descending, nullable }: Key): Sql {
  if (!nullable) return descending ? sql`${value} < ${at}` : sql`${value} > ${at}`
  if (descending) return sql`(${value} < ${at} OR (${value} IS NULL AND ${at} IS NOT NULL))`
  return sql`(${value} > ${at} OR (${value} IS NOT NULL AND ${at} IS NULL))`
}

function either(steps: readonly Sql[]): Sql {
  return sql`(${join(steps, ' OR ')})`
}
