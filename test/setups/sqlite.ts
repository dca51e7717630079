/** One file, served by this process or by three of their own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { serveHere, serveNodes } from './serve.ts'
import type { Place, Setup } from './setup.ts'

function openPlace(serve: typeof serveHere): Place {
  const folder = mkdtempSync(join(tmpdir(), 'portico-place-'))
  const database = join(folder, 'test.db')
  return {
    database,
    openStore: async model => openSqlite(model, { file: database, autoMigrate: true }),
    serve: (declaration, settings) => serve(declaration, { database, ...settings }),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const sqlite: Setup = { name: 'SQLite', open: async () => openPlace(serveHere) }

export const sqliteNodes: Setup = {
  name: 'SQLite, three nodes',
  open: async () => openPlace(serveNodes),
}
