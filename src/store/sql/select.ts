/** What is selected, as one JSON object built by the database, with related rows nested in it. */
import type { GuardedRelation, GuardedSelected, GuardedSort } from '../../plan/guarded.ts'
import { conditionSql, linked, visible, where } from './condition.ts'
import type { Row } from './row.ts'
import { arg, join, quoted, type Sql, sql } from './writer.ts'

/** The JSON object of `select` over `row`. */
export function objectSql(select: readonly GuardedSelected[], row: Row): Sql {
  return row.dialect.object(select.map(each => [each.key, selectedSql(each, row)] as const))
}

function selectedSql(selected: GuardedSelected, row: Row): Sql {
  if (selected.kind === 'constant') return quoted(selected.value)
  if (selected.kind === 'relation') {
    return selected.list === undefined ? toOne(selected, row) : toMany(selected, selected.list, row)
  }
  const { field, when } = selected.field
  const json = row.dialect.json(row.column(field.name), field)
  return when.kind === 'always' ? json : sql`CASE WHEN ${conditionSql(when, row)} THEN ${json} END`
}

function toOne({ path, rows, when, select }: GuardedRelation, row: Row): Sql {
  const target = row.another(path.target.name)
  const object = objectSql(select, target)
  const conditions = where([linked(path, target, row), conditionSql(rows, target)])
  const query = sql`(SELECT ${object} FROM ${target.from()}${conditions})`
  return when.kind === 'always' ? query : sql`CASE WHEN ${conditionSql(when, row)} THEN ${query} END`
}

function toMany(
  { path, rows, select }: GuardedRelation,
  { sort, limit }: { readonly sort: readonly GuardedSort[]; readonly limit: number },
  row: Row,
): Sql {
  const target = row.another(path.target.name)
  const array = row.dialect.array(objectSql(select, target))
  const columns = target.columns()
  const conditions = where([linked(path, target, row), conditionSql(rows, target)])
  const order = orderBy(sort, target)
  const query = sql`SELECT ${columns} FROM ${target.from()}${conditions}${order} LIMIT ${arg(limit, 'number')}`
  return sql`(SELECT ${array} FROM ${target.of(query)})`
}

/** ` ORDER BY …`, null being the smallest value. */
export function orderBy(sort: readonly GuardedSort[], row: Row): Sql {
  const keys = sort.map(({ field, descending }) => {
    const nullable = field.field.optional || field.when.kind !== 'always'
    const nulls = nullable ? row.dialect.nulls(descending) : []
    return sql`${visible(field, row)}${descending ? [' DESC'] : []}${nulls}`
  })
  return keys.length === 0 ? [] : sql` ORDER BY ${join(keys, ', ')}`
}
