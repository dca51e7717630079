/** Lists of what a search finds: read from the search index first where that costs least. */
import type { Collection } from '../../model/model.ts'
import type { Condition } from '../../plan/guarded.ts'
import { searchTable } from './dialect.ts'
import type { Row } from './row.ts'
import { arg, name, sql } from './writer.ts'

type Search = Extract<Condition, { kind: 'search' }>

/** The search that every one of the rows fulfils. */
export function searchOf(rows: Condition): Search | undefined {
  return partsOf(rows).find(part => part.kind === 'search')
}

function partsOf(condition: Condition): readonly Condition[] {
  return condition.kind === 'and' ? condition.conditions : [condition]
}

/**
 * Lets `row` be found by the search that `rows` ask for, so that a list by id ends at its page, and a count looks at
 * nothing but the index where nothing else is asked. Not where another index leads to few rows.
 */
export function searchedFirst(row: Row, collection: Collection, rows: Condition): void {
  const search = searchOf(rows)
  const index = row.dialect.searchIndex
  if (search === undefined || index === undefined || partsOf(rows).some(leadsToFew)) return
  const alias = name(`${row.alias}_s`)
  row.source = {
    from: sql`${name(searchTable(collection.name))} AS ${alias}`,
    join: index.join,
    keys: new Map([['id', sql`${alias}.${name(index.id)}`]]),
    search,
    matches: index.matches(alias, collection.name, search.fields, arg(search.param, 'words')),
  }
}

function leadsToFew(condition: Condition): boolean {
  if (condition.kind !== 'compare' || condition.operator !== 'eq') return false
  const { unique, reference } = condition.field.field
  return unique || reference !== undefined
}
