/** Stores the search terms of rows, as arrays in a separate table. A trigger deletes the terms of deleted rows. */
import type { Collection } from '../../../../model/model.ts'
import { indexedTerms } from '../../../plan/text-search.ts'
import { searchTable } from '../../sql/dialect.ts'
import { allTermsColumn, arrayOf } from '../../sql/postgres.ts'
import { join, name, slot, sql } from '../../sql/writer.ts'
import { type SqlValue, slotInputs } from '../../values.ts'
import type { SearchIndex as Index } from '../../write/database.ts'
import type { WriteScope } from '../../write/steps.ts'
import { type Statement, statementOf } from '../connections/statement.ts'

export class SearchIndex implements Index<Statement> {
  readonly #write: Statement

  constructor(collection: Collection) {
    this.#write = writeStatement(collection)
  }

  write(
    id: number,
    texts: readonly (SqlValue | undefined)[],
    _: boolean,
    scope: WriteScope<Statement>,
  ): void {
    const terms = texts.map(text => indexedTerms(String(text ?? '')))
    scope.defer(this.#write, slotInputs([id, arrayOf([...new Set(terms.flat())]), ...terms.map(arrayOf)]))
  }
}

function writeStatement({ name: collection, searchable }: Collection): Statement {
  const columns = [name(allTermsColumn), ...searchable.map(field => name(field.name))]
  const values = columns.map((_, index) => sql`${slot(index + 1)}::text[]`)
  const replaced = columns.map(column => sql`${column} = excluded.${column}`)
  return statementOf(
    sql`INSERT INTO ${name(searchTable(collection))} ("id", ${join(columns, ', ')}) VALUES (${slot(0)}, ${join(values, ', ')}) ON CONFLICT ("id") DO UPDATE SET ${join(replaced, ', ')}`,
  )
}
