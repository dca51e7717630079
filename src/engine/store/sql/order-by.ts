/** The order of rows. */
import type { GuardedSort } from '../../plan/guarded-conditions.ts'
import type { RowAlias } from './row-alias.ts'
import { join, type Sql, sql } from './writer.ts'

/** ` ORDER BY …`, null being the smallest value. `key`: the value of a sort key. */
export function orderBy(sort: readonly GuardedSort[], row: RowAlias, key: (sort: GuardedSort) => Sql): Sql {
  const keys = sort.map(sortKey => {
    const { field, descending } = sortKey
    const nullable = field.field.optional || field.when.kind !== 'always'
    const nulls = nullable ? row.dialect.nulls(descending) : []
    return sql`${key(sortKey)}${descending ? [' DESC'] : []}${nulls}`
  })
  return keys.length === 0 ? [] : sql` ORDER BY ${join(keys, ', ')}`
}
