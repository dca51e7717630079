/** Keeps the search words of rows. Deleted rows lose theirs by their reference. */
import type { Collection } from '../../model/model.ts'
import { indexedTerms } from '../../plan/text-search.ts'
import { searchTable } from '../sql/dialect.ts'
import { allWords } from '../sql/postgres.ts'
import { join, name, slot, sql } from '../sql/writer.ts'
import { type SqlValue, slotted } from '../values.ts'
import { arrayOf, type Statement, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'

export class SearchWords {
  readonly #collection: Collection
  readonly #write: Statement | undefined

  constructor(collection: Collection) {
    this.#collection = collection
    this.#write = collection.searchable.length === 0 ? undefined : writeOf(collection)
  }

  /** Stores the words of a row that was just made or changed. `held`: what its searchable fields hold. */
  write(id: number, held: (field: string) => SqlValue | undefined, scope: Scope): void {
    if (this.#write === undefined) return
    const terms = this.#collection.searchable.map(field => indexedTerms(String(held(field.name) ?? '')))
    scope.queue(this.#write, slotted([id, arrayOf([...new Set(terms.flat())]), ...terms.map(arrayOf)]))
  }
}

function writeOf({ name: collection, searchable }: Collection): Statement {
  const columns = [name(allWords), ...searchable.map(field => name(field.name))]
  const values = columns.map((_, index) => sql`${slot(index + 1)}::text[]`)
  const replaced = columns.map(column => sql`${column} = excluded.${column}`)
  return statementOf(
    sql`INSERT INTO ${name(searchTable(collection))} ("id", ${join(columns, ', ')}) VALUES (${slot(0)}, ${join(values, ', ')}) ON CONFLICT ("id") DO UPDATE SET ${join(replaced, ', ')}`,
  )
}
