/** The condition for "after this position" in a sort order whose smallest value is null. */
import type { Encoding } from '../../model/fields/type.ts'
import type { GuardedSort } from '../../plan/guarded.ts'
import { visible } from './condition.ts'
import type { Row } from './row.ts'
import { type Bind, join, type Sql, sql } from './writer.ts'

/** `position`: one bind per sort key. */
export function after(sort: readonly GuardedSort[], position: readonly Bind[], row: Row): Sql {
  const keys = sort.map((each, index) => keyOf(each, position[index], row))
  const [first] = keys
  if (first === undefined) throw new TypeError('a keyset needs a sort key')
  if (keys.every(key => !key.nullable && key.descending === first.descending)) return rowValue(keys, first)
  const steps = keys.map((key, index) => step(keys.slice(0, index), key, row))
  return first.nullable ? either(steps) : sql`(${bound(first)} AND ${either(steps)})`
}

interface Key {
  readonly value: Sql
  readonly at: Sql
  readonly descending: boolean
  readonly nullable: boolean
  readonly encoding: Encoding
}

function keyOf({ field, descending }: GuardedSort, bind: Bind | undefined, row: Row): Key {
  if (bind === undefined) throw new TypeError('a position needs one value per sort key')
  const nullable = field.field.optional || field.when.kind !== 'always'
  const { encoding } = field.field.type
  return { value: visible(field, row), at: [bind], descending, nullable, encoding }
}

function rowValue(keys: readonly Key[], { descending }: Key): Sql {
  const values = keys.map(key => key.value)
  const at = keys.map(key => key.at)
  const sign: Sql = descending ? [' < '] : [' > ']
  return sql`${tuple(values)}${sign}${tuple(at)}`
}

function tuple(values: readonly Sql[]): Sql {
  const listed = join(values, ', ')
  return values.length === 1 ? listed : sql`(${listed})`
}

/** Not needed for the answer: it lets the database begin at the position in an index. */
function bound({ value, at, descending }: Key): Sql {
  return descending ? sql`${value} <= ${at}` : sql`${value} >= ${at}`
}

/** Equal in the keys before, and beyond the position in this one. */
function step(before: readonly Key[], key: Key, row: Row): Sql {
  const equal = before.map(({ nullable, value, at, encoding }) =>
    nullable ? row.dialect.same(value, at, encoding) : sql`${value} = ${at}`,
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
