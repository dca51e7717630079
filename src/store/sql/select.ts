/** The selection as a JSON object that the database builds, with related rows nested in it. */
import type { Field } from '../../model/model.ts'
import type {
  Condition,
  GuardedRelation,
  GuardedSelected,
  GuardedSelectedList,
  GuardedSort,
  Path,
} from '../../plan/guarded.ts'
import type { FieldForm } from '../../plan/plan.ts'
import { once } from './computed.ts'
import { budgetCheck, conditionSql, isTrue, linked, valueSql, visible, where } from './condition.ts'
import { excludedFromIndexes } from './index-exclusion.ts'
import type { Row } from './row.ts'
import { type Found, isRanked, rankedFirst, searchedFirst } from './search.ts'
import { sortedSql } from './sorted.ts'
import { arg, quoted, type Sql, sql } from './writer.ts'

/** The JSON object of `select` over `row`. */
export function objectSql(select: readonly GuardedSelected[], row: Row): Sql {
  return row.dialect.object(select.map(each => [each.key, selectedSql(each, row)] as const))
}

function selectedSql(selected: GuardedSelected, row: Row): Sql {
  if (selected.kind === 'constant') return row.dialect.constant(selected.value)
  if (selected.kind === 'relation') {
    return selected.list === undefined ? toOne(selected, row) : toMany(selected, selected.list, row)
  }
  const { field, when, computation } = selected.field
  const json =
    computation === undefined
      ? formed(row.column(field.name), field, selected.as, row)
      : once(valueSql(selected.field, row), value => formed(value, field, selected.as, row))
  return when.kind === 'always' ? json : sql`CASE WHEN ${conditionSql(when, row)} THEN ${json} END`
}

function formed(column: Sql, field: Field, form: FieldForm | undefined, row: Row): Sql {
  if (form === undefined) return row.dialect.json(column, field)
  return row.dialect.string(textForm(column, form))
}

/** A value as text, in the form. */
export function textForm(column: Sql, form: FieldForm): Sql {
  if (form === 'name') return sql`upper(replace(${column}, '-', '_'))`
  const text = sql`CAST(${column} AS TEXT)`
  return form === 'string' ? text : sql`${quoted(form.prefix)} || ${text}`
}

function toOne({ path, rows, when, select }: GuardedRelation, row: Row): Sql {
  const query = isOwn(rows, select, row) ? ownReference(path, select, row) : lookUp(path, rows, select, row)
  return when.kind === 'always' ? query : sql`CASE WHEN ${conditionSql(when, row)} THEN ${query} END`
}

function lookUp(path: Path, rows: Condition, select: readonly GuardedSelected[], row: Row): Sql {
  const target = row.another(path.target.name)
  const object = objectSql(select, target)
  const conditions = where([linked(path, target, row), conditionSql(rows, target)])
  return sql`(SELECT ${object} FROM ${target.from()}${conditions})`
}

/** Whether the reference alone provides everything that is selected: the foreign key guarantees that its target exists. */
function isOwn(rows: Condition, select: readonly GuardedSelected[], row: Row): boolean {
  return (
    rows.kind === 'always' &&
    !row.isLogged &&
    select.every(
      each =>
        each.kind === 'constant' ||
        (each.kind === 'field' && each.field.field.name === 'id' && each.field.when.kind === 'always'),
    )
  )
}

function ownReference({ relation }: Path, select: readonly GuardedSelected[], row: Row): Sql {
  if (relation.kind !== 'one') throw new TypeError('a to-many relation is no reference')
  const id = row.column(relation.field)
  const entries = select.flatMap(each => {
    if (each.kind === 'constant') return [[each.key, row.dialect.constant(each.value)] as const]
    if (each.kind !== 'field') return []
    return [[each.key, formed(id, each.field.field, each.as, row)] as const]
  })
  return sql`CASE WHEN ${id} IS NOT NULL THEN ${row.dialect.object(entries)} END`
}

function toMany({ path, rows, select }: GuardedRelation, list: GuardedSelectedList, row: Row): Sql {
  const matching = (target: Row) => [linked(path, target, row), conditionSql(rows, target)]
  const found = { collection: path.target, rows, isWhole: false }
  return manySql(list, select, matching, () => row.another(path.target.name), found)
}

/** A list as a JSON array, or as a connection's object. `matching`: which rows of the target are in it. */
export function manySql(
  list: GuardedSelectedList,
  select: readonly GuardedSelected[],
  matching: (target: Row) => readonly Sql[],
  another: () => Row,
  found: Found,
): Sql {
  const { sort, limit, after: position, connection } = list
  const target = another()
  const object = objectSql(select, target)
  const array = target.dialect.array(connection ? keyed(object, sort, target) : object)
  const begin = position?.map((param, index) => arg(param, sort[index]?.field.field.type.encoding))
  // The inner query would build the objects for every row that it sorts.
  const inner = target.inner()
  const bound = target.dialect.limit(arg(limit))
  const conditionsOf = (one: Row) => [budgetCheck(one), ...matching(one)]
  if (isById(list)) searchedFirst(inner, found)
  if (isRanked(sort)) rankedFirst(inner, found, { sort, matching: conditionsOf, after: begin, limit: bound })
  const { collection } = found
  inner.excludedFromIndexes = excludedFromIndexes(found.rows, collection, sort)
  const conditions = conditionsOf(inner)
  const rowsOf = { collection, conditions, sort, after: begin, limit: bound, offset: undefined }
  const query = sortedSql(rowsOf, inner, inner.columns(target), target.used())
  const rows = sql`(SELECT ${array} FROM ${target.of(query)})`
  if (!connection) return rows
  return target.dialect.object([['rows', rows], ...totalSql(connection.total, matching, another, found)])
}

/** A row of a connection: its object, and its sort keys in the form that cursors contain. */
function keyed(object: Sql, sort: readonly GuardedSort[], row: Row): Sql {
  const keys = sort.map(({ field }) => row.dialect.json(visible(field, row), field.field))
  return row.dialect.object([
    ['node', object],
    ['keys', row.dialect.tuple(keys)],
  ])
}

function totalSql(
  wanted: boolean,
  matching: (target: Row) => readonly Sql[],
  another: () => Row,
  found: Found,
): readonly (readonly [string, Sql])[] {
  if (!wanted) return []
  const target = another()
  searchedFirst(target, found)
  const conditions = matching(target).filter(each => each !== isTrue)
  // SQLite counts a whole table by its pages, unless there is a condition.
  const kept = conditions.length === 0 ? [] : [budgetCheck(target), ...conditions]
  return [['total', sql`(SELECT ${target.dialect.count} FROM ${target.from()}${where(kept)})`]]
}

/** Whether the list is in the order of ids, which needs no sorting. */
export function isById({ sort }: { readonly sort: readonly GuardedSort[] }): boolean {
  return sort.length === 1 && sort[0]?.field.field.name === 'id'
}
