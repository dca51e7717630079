/** The statements of a migration's step on PostgreSQL. */
import { searchTable } from '../../sql/dialect.ts'
import { addConstraint, createSearchTable, keepTermStatistics, temporaryName, validate } from './ddl.ts'

export interface PostgresSql {
  readonly prepare: readonly Preparation[]
  /** In the transaction: before the tables change, the changes of the tables, and after all of them. */
  readonly before: readonly string[]
  readonly alter: readonly string[]
  readonly after: readonly string[]
  /** The work that `catalog.ts` will find unfinished afterwards; for display. */
  readonly finish: readonly string[]
}

export type Preparation =
  /** Statements that are tried together. */
  | { readonly kind: 'index'; readonly texts: readonly string[] }
  /** Added as NOT VALID, then validated while others write. */
  | { readonly kind: 'constraint'; readonly table: string; readonly name: string; readonly text: string }
  | SearchPreparation

/** A search table that is filled while others write, and caught up in the transaction. */
export interface SearchPreparation {
  readonly kind: 'search'
  /** The collection's name, before and after. */
  readonly from: string
  readonly to: string
  /** The source of each column's terms: an expression over the former columns, and `text` where that is null. */
  readonly sources: readonly {
    readonly column: string
    readonly expression: string | undefined
    readonly text: string
  }[]
}

export const noStatements: PostgresSql = { prepare: [], before: [], alter: [], after: [], finish: [] }

export type PartialSql = Partial<PostgresSql>

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
      const table = temporaryName(searchTable(preparation.to))
      return [createSearchTable(table, columns), keepTermStatistics(table)]
    }
  }
}
