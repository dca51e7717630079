/** The rows after a position in a sort order whose smallest value is null. */
import type { Field } from '../../../model/model.ts'
import { isColumn } from '../../plan/condition.ts'
import type { GuardedSort } from '../../plan/guarded-conditions.ts'
import { visibleSql } from './condition.ts'
import type { RowAlias } from './row-alias.ts'
import { join, type Operand, type Sql, sql } from './writer.ts'

/** A statement with more ranges would take long to plan. */
const maxRanges = 12

interface KeysetKey {
  readonly value: Sql
  readonly positionValue: Sql
  readonly descending: boolean
  readonly nullable: boolean
  readonly field: Field
  /** Whether the value is that of a column, which may have an index. */
  readonly isColumn: boolean
}

/**
 * Conditions that divide the rows after the position: each row fulfils exactly one. `divided`: one condition for each range of an
 * index. Otherwise one condition, which uses an index only if all keys have the same direction and none is null.
 * `position`: one value per sort key.
 */
export function afterPosition(
  sort: readonly GuardedSort[],
  position: readonly Operand[],
  row: RowAlias,
  divided: boolean,
): readonly Sql[] {
  const keys = sort.map((sortKey, index) => keyOf(sortKey, position[index], row))
  if (keys.length === 0) throw new TypeError('a keyset needs a sort key')
  if (!divided && isRowValue(keys)) return [rowValue(keys)]
  if (!divided || keys.some(key => !key.isColumn)) return [undivided(keys, row)]
  const ranges = rangesOf(keys, [], row)
  return ranges.length > maxRanges ? [undivided(keys, row)] : ranges
}

function keyOf({ field, descending }: GuardedSort, operand: Operand | undefined, row: RowAlias): KeysetKey {
  if (operand === undefined) throw new TypeError('a position needs one value per sort key')
  const nullable = field.field.optional || field.when.kind !== 'always'
  const value = visibleSql(field, row)
  return {
    value,
    positionValue: sql`${operand}`,
    descending,
    nullable,
    field: field.field,
    isColumn: isColumn(field),
  }
}

/** Whether `(a, b) > (?, ?)` expresses it. SQLite uses only the first value if the next is a number, such as the id. */
function isRowValue(keys: readonly KeysetKey[]): boolean {
  return keys.every(key => !key.nullable && key.descending === keys[0]?.descending)
}

function rowValue(keys: readonly KeysetKey[]): Sql {
  const values = keys.map(key => key.value)
  const positionValues = keys.map(key => key.positionValue)
  const sign: Sql = keys[0]?.descending ? [' < '] : [' > ']
  return sql`${tuple(values)}${sign}${tuple(positionValues)}`
}

function tuple(values: readonly Sql[]): Sql {
  const list = join(values, ', ')
  return values.length === 1 ? list : sql`(${list})`
}

/** `before`: the conditions on the keys before these. */
function rangesOf(keys: readonly KeysetKey[], before: readonly Sql[], row: RowAlias): readonly Sql[] {
  const [key, ...rest] = keys
  if (key === undefined) return []
  const { value, positionValue, descending, field } = key
  const combined = (...parts: readonly Sql[]) => join([...before, ...parts], ' AND ')
  const nextRanges = (...parts: readonly Sql[]) => rangesOf(rest, [...before, ...parts], row)
  if (isOneRange(keys, row)) return [combined(rowValue(keys))]
  const strictly = combined(sql`${value} ${descending ? ['<'] : ['>']} ${positionValue}`)
  if (!key.nullable) return [strictly, ...nextRanges(sql`${value} = ${positionValue}`)]
  const fromNull = descending
    ? combined(sql`${value} IS NULL`, sql`${positionValue} IS NOT NULL`)
    : combined(sql`${value} IS NOT NULL`, sql`${positionValue} IS NULL`)
  if (row.dialect.seeksNull)
    return [strictly, fromNull, ...nextRanges(row.dialect.same(value, positionValue, field))]
  const bothNull = nextRanges(sql`${value} IS NULL`, sql`${positionValue} IS NULL`)
  // A comparison with a row value that contains null is never true.
  if (isOneRange([{ ...key, nullable: false }, ...rest], row))
    return [combined(rowValue(keys)), fromNull, ...bothNull]
  return [strictly, fromNull, ...nextRanges(sql`${value} = ${positionValue}`), ...bothNull]
}

/** Whether one comparison, which can use an index, finds all rows beyond the position. */
function isOneRange(keys: readonly KeysetKey[], { dialect }: RowAlias): boolean {
  return isRowValue(keys) && (dialect.comparesRows || keys.length === 1)
}

function undivided(keys: readonly KeysetKey[], row: RowAlias): Sql {
  const steps = keys.map((key, index) => equalThenBeyond(keys.slice(0, index), key, row))
  const [first] = keys
  return first === undefined || first.nullable
    ? anyOf(steps)
    : sql`(${firstKeyBound(first)} AND ${anyOf(steps)})`
}

/** Does not affect the result: with it, the database can start at the position in an index. */
function firstKeyBound({ value, positionValue, descending }: KeysetKey): Sql {
  return descending ? sql`${value} <= ${positionValue}` : sql`${value} >= ${positionValue}`
}

/** Equal in the keys before, and beyond the position in this one. */
function equalThenBeyond(before: readonly KeysetKey[], key: KeysetKey, row: RowAlias): Sql {
  const equal = before.map(({ nullable, value, positionValue, field }) =>
    nullable ? row.dialect.same(value, positionValue, field) : sql`${value} = ${positionValue}`,
  )
  return sql`(${join([...equal, isPastPosition(key)], ' AND ')})`
}

function isPastPosition({ value, positionValue, descending, nullable }: KeysetKey): Sql {
  if (!nullable) return descending ? sql`${value} < ${positionValue}` : sql`${value} > ${positionValue}`
  if (descending)
    return sql`(${value} < ${positionValue} OR (${value} IS NULL AND ${positionValue} IS NOT NULL))`
  return sql`(${value} > ${positionValue} OR (${value} IS NOT NULL AND ${positionValue} IS NULL))`
}

function anyOf(steps: readonly Sql[]): Sql {
  return sql`(${join(steps, ' OR ')})`
}
