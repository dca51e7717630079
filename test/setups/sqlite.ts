/** One file, served by this process or by three others. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/engine/store/sqlite/sqlite.ts'
import { serveInProcess, serveNodes } from './serve.ts'
import type { Deployment, Setup } from './setup.ts'

function openDeployment(serve: typeof serveInProcess): Deployment {
  const folder = mkdtempSync(join(tmpdir(), 'portico-deployment-'))
  const database = join(folder, 'test.db')
  const settings = { database }
  return {
    database,
    settings,
    environment: { DATABASE_URL: database },
    create: async () => undefined,
    openStore: async model => openSqlite(model, { file: database, autoMigrate: true }),
    dump: async () =>
      [database, `${database}-wal`]
        .filter(file => existsSync(file))
        .map(file => readFileSync(file).toString('latin1'))
        .join(''),
    serve: (declaration, overrides) => serve(declaration, { ...settings, ...overrides }),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

export const sqlite: Setup = { name: 'SQLite', open: async () => openDeployment(serveInProcess) }

export const sqliteNodes: Setup = {
  name: 'SQLite, three nodes',
  open: async () => openDeployment(serveNodes),
}
