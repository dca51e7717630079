/**
 * The hand-written server adds to Portico's tables the indexes that some requests still need, and a full-text search.
 * Portico's default indexes `(created_at)`, `(author_id)` and `(author_id, created_at)` exist already, and so do the triggers
 * that maintain totals.
 */
import type { DatabaseSync } from 'node:sqlite'

function columnsOf(database: DatabaseSync, table: string): readonly string[] {
  const rows = database.prepare('SELECT name FROM pragma_table_info(?)').all(table)
  return rows.map(({ name }) => String(name))
}

/** Adds what is missing. Idempotent. */
export function prepareLimit(database: DatabaseSync): void {
  database.exec('CREATE INDEX IF NOT EXISTS limit_admins ON users (role)')
  if (!columnsOf(database, 'posts').includes('status')) return
  database.exec('CREATE INDEX IF NOT EXISTS limit_status ON posts (status, created_at)')
  if (columnsOf(database, 'limit_search').length > 0) return
  database.exec(`
    CREATE VIRTUAL TABLE limit_search
      USING fts5(title, body, content = 'posts', content_rowid = 'id', detail = 'column');
    INSERT INTO limit_search (limit_search) VALUES ('rebuild');
    INSERT INTO limit_search (limit_search) VALUES ('optimize');
  `)
}
