/** Stores the search terms of rows in a full-text index (FTS5). A trigger deletes the terms of deleted rows. */
import type { Collection } from '../../../../model/model.ts'
import { indexedTerms } from '../../../plan/text-search.ts'
import { searchTable } from '../../sql/dialect.ts'
import { join, name, slot, sql } from '../../sql/writer.ts'
import { type SqlValue, slotInputs } from '../../values.ts'
import type { SearchIndex as Index } from '../../write/database.ts'
import type { Connection } from '../connection.ts'
import type { Statement } from '../statement.ts'

export class SearchIndex implements Index<Statement> {
  readonly #remove: Statement
  readonly #insert: Statement

  constructor({ name: collection, searchable }: Collection, connection: Connection) {
    const table = name(searchTable(collection))
    const columns = searchable.map(field => name(field.name))
    const slots = searchable.map((_, index) => [slot(index + 1)])
    this.#remove = connection.prepare(sql`DELETE FROM ${table} WHERE rowid = ${slot(0)}`)
    this.#insert = connection.prepare(
      sql`INSERT INTO ${table} (rowid, ${join(columns, ', ')}) VALUES (${slot(0)}, ${join(slots, ', ')})`,
    )
  }

  write(id: number, texts: readonly (SqlValue | undefined)[], isNew: boolean): void {
    if (!isNew) this.#remove.run(slotInputs([id]))
    this.#insert.run(slotInputs([id, ...texts.map(text => indexedTerms(String(text ?? '')).join(' '))]))
  }
}
