/** The order of rows. */
import type { GuardedSort } from '../../plan/guarded.ts'
import type { Row } from './row.ts'
import { join, type Sql, sql } from './writer.ts'

/** ` ORDER BY …`, null being the smallest value. `key`: the value of a sort key. */
export function ordered(sort: readonly GuardedSort[], row: Row, key: (sort: GuardedSort) => Sql): Sql {
  const keys = sort.map(each => {
    const { field, descending } = each
    const nullable = field.field.optional || field.when.kind !== 'always'
    const nulls = nullable ? row.dialect.nulls(descending) : []
    return sql`${key(each)}${descending ? [' DESC'] : []}${nulls}`
  })
  return keys.length === 0 ? [] : sql` ORDER BY ${join(keys, ', ')}`
}
