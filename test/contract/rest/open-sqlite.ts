import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../../src/store/sqlite.ts'
import type { OpenStore } from './bench.ts'

/** A SQLite store in a folder that goes with it. */
export const openSqliteStore: OpenStore = model => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-rest-'))
  const store = openSqlite(model, { file: join(folder, 'data.db'), autoMigrate: true })
  return {
    store,
    async close() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}
