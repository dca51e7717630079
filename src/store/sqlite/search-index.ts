/** Keeps the search words of rows. Deleted rows lose theirs by a trigger. */
import type { Collection } from '../../model/model.ts'
import { indexedTerms } from '../../plan/text-search.ts'
import { once } from '../once.ts'
import { searchTable } from '../sql/dialect.ts'
import { join, name, slot, sql } from '../sql/writer.ts'
import { slotted } from '../values.ts'
import type { Connection, Statement } from './connection.ts'

interface Statements {
  readonly values: Statement
  readonly remove: Statement
  readonly insert: Statement
}

export class SearchIndex {
  readonly #of: (collection: Collection) => Statements

  constructor(connection: Connection) {
    this.#of = once(collection => statementsOf(collection, connection))
  }

  /** Adds the words of a row that was just made or changed. */
  write(collection: Collection, id: number, isNew: boolean): void {
    if (collection.searchable.length === 0) return
    const { values, remove, insert } = this.#of(collection)
    const texts = values.get(slotted([id])) ?? []
    if (!isNew) remove.run(slotted([id]))
    insert.run(slotted([id, ...texts.map(text => indexedTerms(String(text ?? '')).join(' '))]))
  }
}

function statementsOf({ name: collection, searchable }: Collection, connection: Connection): Statements {
  const table = name(searchTable(collection))
  const columns = searchable.map(field => name(field.name))
  const slots = searchable.map((_, index) => [slot(index + 1)])
  return {
    values: connection.prepare(
      sql`SELECT ${join(columns, ', ')} FROM ${name(collection)} WHERE "id" = ${slot(0)}`,
    ),
    remove: connection.prepare(sql`DELETE FROM ${table} WHERE rowid = ${slot(0)}`),
    insert: connection.prepare(
      sql`INSERT INTO ${table} (rowid, ${join(columns, ', ')}) VALUES (${slot(0)}, ${join(slots, ', ')})`,
    ),
  }
}
