/** The selection as a JSON object that the database builds, with related rows nested in it. */

import { wholeEncoding } from '../../../model/fields/integer.ts'
import type { Field } from '../../../model/model.ts'
import type { GuardedRelation, GuardedSelected, GuardedSelectedList } from '../../plan/guarded.ts'
import type { Condition, GuardedSort, RelationPath } from '../../plan/guarded-conditions.ts'
import type { FieldForm } from '../../plan/plan.ts'
import { evaluatedOnce } from './computed.ts'
import {
  budgetCheck,
  conditionSql,
  isTrue,
  linkCondition,
  valueSql,
  visibleSql,
  whereClause,
} from './condition.ts'
import type { Encoded } from './dialect.ts'
import { excludedFromIndexes } from './index-exclusion.ts'
import type { RowAlias } from './row-alias.ts'
import { isRanked, readRankingFirst, readSearchIndexFirst, type SearchedList } from './search.ts'
import { sortedSql } from './sorted.ts'
import { isCounted, uncountedSize } from './uncounted-size.ts'
import { arg, type Sql, sql, textLiteral } from './writer.ts'

/** The JSON object of `select` over `row`. */
export function objectSql(select: readonly GuardedSelected[], row: RowAlias): Sql {
  return row.dialect.object(select.map(selected => [selected.key, selectedSql(selected, row)] as const))
}

function selectedSql(selected: GuardedSelected, row: RowAlias): Sql {
  if (selected.kind === 'constant') return row.dialect.constant(selected.value)
  if (selected.kind === 'relation') {
    return selected.list === undefined ? toOne(selected, row) : toMany(selected, selected.list, row)
  }
  const { field, when, computation } = selected.field
  if (field.type.file !== undefined) {
    const file = fileSql(field, row)
    return when.kind === 'always' ? file : sql`CASE WHEN ${conditionSql(when, row)} THEN ${file} END`
  }
  const json =
    computation === undefined
      ? formSql(row.column(field.name), field, selected.as, row)
      : evaluatedOnce(valueSql(selected.field, row), value => formSql(value, field, selected.as, row))
  return when.kind === 'always' ? json : sql`CASE WHEN ${conditionSql(when, row)} THEN ${json} END`
}

/** A file as clients read it, with its address: see `FileValue`. */
function fileSql(field: Field, row: RowAlias): Sql {
  const { dialect } = row
  const column = row.column(field.name)
  const member = (key: string) => dialect.jsonText(column, key)
  const text = (key: string) => [key, dialect.string(member(key))] as const
  const path = textLiteral(`/api/v1/${row.table}/`)
  const url = sql`${path} || CAST(${row.column('id')} AS TEXT) || ${textLiteral(`/${field.name}/`)} || (${member('file')})`
  const size = dialect.json(sql`CAST(${member('size')} AS bigint)`, { type: { encoding: wholeEncoding } })
  const entries = [
    ['url', dialect.string(url)] as const,
    ...['name', 'type'].map(text),
    ['size', size] as const,
    text('sha256'),
  ]
  return sql`CASE WHEN ${column} IS NOT NULL THEN ${dialect.object(entries)} END`
}

/** A field's column as JSON, in the form. */
export function formSql(
  column: Sql,
  field: Encoded,
  form: FieldForm | undefined,
  { dialect }: RowAlias,
): Sql {
  if (form !== undefined) return dialect.string(textForm(column, form))
  const json = dialect.json(column, field)
  return isCounted(field.type) ? (dialect.counted?.(column, json) ?? json) : json
}

/** A value as text, in the form. */
function textForm(column: Sql, form: FieldForm): Sql {
  if (form === 'name') return sql`upper(replace(${column}, '-', '_'))`
  const text = sql`CAST(${column} AS TEXT)`
  return form === 'string' ? text : sql`${textLiteral(form.prefix)} || ${text}`
}

function toOne({ path, rows, when, select }: GuardedRelation, row: RowAlias): Sql {
  const query = isReferenceEnough(rows, select, row)
    ? referenceObject(path, select, row)
    : lookUpTarget(path, rows, select, row)
  return when.kind === 'always' ? query : sql`CASE WHEN ${conditionSql(when, row)} THEN ${query} END`
}

function lookUpTarget(
  path: RelationPath,
  rows: Condition,
  select: readonly GuardedSelected[],
  row: RowAlias,
): Sql {
  const target = row.another(path.target.name)
  const object = objectSql(select, target)
  const size = uncountedSize(select, target)
  const counted = size.isLarge ? (target.dialect.countedAs?.(size.ofRow, object) ?? object) : object
  const conditions = whereClause([linkCondition(path, target, row), conditionSql(rows, target)])
  return sql`(SELECT ${counted} FROM ${target.from()}${conditions})`
}

/** Whether the reference alone provides everything that is selected: the foreign key guarantees that its target exists. */
function isReferenceEnough(rows: Condition, select: readonly GuardedSelected[], row: RowAlias): boolean {
  return (
    rows.kind === 'always' &&
    !row.isLogged &&
    select.every(
      selected =>
        selected.kind === 'constant' ||
        (selected.kind === 'field' &&
          selected.field.field.name === 'id' &&
          selected.field.when.kind === 'always'),
    )
  )
}

function referenceObject({ relation }: RelationPath, select: readonly GuardedSelected[], row: RowAlias): Sql {
  if (relation.kind !== 'one') throw new TypeError('a to-many relation is no reference')
  const id = row.column(relation.field)
  const entries = select.flatMap(selected => {
    if (selected.kind === 'constant') return [[selected.key, row.dialect.constant(selected.value)] as const]
    if (selected.kind !== 'field') return []
    return [[selected.key, formSql(id, selected.field.field, selected.as, row)] as const]
  })
  return sql`CASE WHEN ${id} IS NOT NULL THEN ${row.dialect.object(entries)} END`
}

function toMany({ path, rows, select }: GuardedRelation, list: GuardedSelectedList, row: RowAlias): Sql {
  const matching = (target: RowAlias) => [linkCondition(path, target, row), conditionSql(rows, target)]
  const searchedList = { collection: path.target, rows, isWhole: false }
  return manySql(list, select, matching, () => row.another(path.target.name), searchedList)
}

/** A list as a JSON array, or as a connection's object. `matching`: which rows of the target are in it. */
export function manySql(
  list: GuardedSelectedList,
  select: readonly GuardedSelected[],
  matching: (target: RowAlias) => readonly Sql[],
  another: () => RowAlias,
  searchedList: SearchedList,
): Sql {
  const { sort, limit, after: position, connection } = list
  const target = another()
  const object = objectSql(select, target)
  const array = target.dialect.array(connection ? rowWithKeys(object, sort, target) : object)
  const startPosition = position?.map((param, index) => arg(param, sort[index]?.field.field.type.encoding))
  // The inner query would build the objects for every row that it sorts.
  const inner = target.inner()
  const limitSql = target.dialect.limit(arg(limit))
  const conditionsOf = (row: RowAlias) => [budgetCheck(row), ...matching(row)]
  if (isById(list)) readSearchIndexFirst(inner, searchedList)
  if (isRanked(sort))
    readRankingFirst(inner, searchedList, {
      sort,
      matching: conditionsOf,
      after: startPosition,
      limit: limitSql,
    })
  const counted = target.dialect.countedAs?.(uncountedSize(select, target).ofRows, array) ?? array
  const { collection } = searchedList
  inner.excludedFromIndexes = excludedFromIndexes(searchedList.rows, collection, sort)
  const conditions = conditionsOf(inner)
  const sortedRows = {
    collection,
    conditions,
    sort,
    after: startPosition,
    limit: limitSql,
    offset: undefined,
  }
  const query = sortedSql(sortedRows, inner, inner.columns(target), target.usedColumns())
  const rows = sql`(SELECT ${counted} FROM ${target.of(query)})`
  if (!connection) return rows
  return target.dialect.object([
    ['rows', rows],
    ...totalSql(connection.total, matching, another, searchedList),
  ])
}

/** A row of a connection: its object, and its sort keys in the form that cursors contain. */
function rowWithKeys(object: Sql, sort: readonly GuardedSort[], row: RowAlias): Sql {
  const keys = sort.map(({ field }) => formSql(visibleSql(field, row), field.field, undefined, row))
  return row.dialect.object([
    ['node', object],
    ['keys', row.dialect.tuple(keys)],
  ])
}

function totalSql(
  isRequested: boolean,
  matching: (target: RowAlias) => readonly Sql[],
  another: () => RowAlias,
  found: SearchedList,
): readonly (readonly [string, Sql])[] {
  if (!isRequested) return []
  const target = another()
  readSearchIndexFirst(target, found)
  const conditions = matching(target).filter(condition => condition !== isTrue)
  // SQLite counts a whole table by its pages, unless there is a condition.
  const budgeted = conditions.length === 0 ? [] : [budgetCheck(target), ...conditions]
  return [['total', sql`(SELECT ${target.dialect.count} FROM ${target.from()}${whereClause(budgeted)})`]]
}

/** Whether the list is in the order of ids, which needs no sorting. */
export function isById({ sort }: { readonly sort: readonly GuardedSort[] }): boolean {
  return sort.length === 1 && sort[0]?.field.field.name === 'id'
}
