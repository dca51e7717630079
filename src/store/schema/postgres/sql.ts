/** What a step of a migration is on PostgreSQL. */
import { searchTable } from '../../sql/dialect.ts'
import { addConstraint, createSearchTable, keepWordStatistics, temporaryName, validate } from './ddl.ts'

export interface PostgresSql {
  readonly prepare: readonly Preparation[]
  /** In the transaction, before the tables change, while they change, and after all of them did. */
  readonly before: readonly string[]
  readonly alter: readonly string[]
  readonly after: readonly string[]
  /** What `postgres-catalog.ts` will find unfinished then; to be shown. */
  readonly finish: readonly string[]
}

export type Preparation =
  /** Statements that are tried together. */
  | { readonly kind: 'index'; readonly texts: readonly string[] }
  /** Added without a look at the rows, then checked beside others' writes. */
  | { readonly kind: 'constraint'; readonly table: string; readonly name: string; readonly text: string }
  | SearchPreparation

/** A search table that is filled beside others' writes, and caught up in the transaction. */
export interface SearchPreparation {
  readonly kind: 'search'
  /** The collection's name, before and after. */
  readonly from: string
  readonly to: string
  /** What the words of each column are made of: a column by its former name, and `text` where it has no value. */
  readonly sources: readonly {
    readonly column: string
    readonly from: string | undefined
    readonly text: string
  }[]
}

export const nothing: PostgresSql = { prepare: [], before: [], alter: [], after: [], finish: [] }

export type Part = Partial<PostgresSql>

/** The statements of a preparation, as an operator reads them. */
export function preparationSql(preparation: Preparation): string[] {
  switch (preparation.kind) {
    case 'index':
      return [...preparation.texts]
    case 'constraint': {
      const { table, name, text } = preparation
      return [addConstraint(table, name, text, ' NOT VALID'), validate(table, name)]
    }
    case 'search': {
      const columns = preparation.sources.map(source => source.column)
      const made = temporaryName(searchTable(preparation.to))
      return [createSearchTable(made, columns), keepWordStatistics(made)]
    }
  }
}
