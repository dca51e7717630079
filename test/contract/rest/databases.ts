/** The databases that the contract runs on: a new one for every bench. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model } from '../../../src/model/model.ts'
import { openPostgres } from '../../../src/store/postgres.ts'
import { openSqlite } from '../../../src/store/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { lockedDatabase } from '../../databases/ordinary.ts'
import { preparedDatabase } from '../../databases/prepared.ts'

/** A database, named as the setting `database` names it. */
export interface Database {
  readonly url: string
  open(model: Model): Promise<Store>
  drop(): Promise<void>
}

export interface Kind {
  readonly name: string
  make(model: Model): Promise<Database>
}

export const sqlite: Kind = {
  name: 'SQLite',
  make: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-rest-'))
    const file = join(folder, 'data.db')
    return {
      url: file,
      open: async model => openSqlite(model, { file }),
      drop: async () => rmSync(folder, { recursive: true }),
    }
  },
}

export const postgres: Kind = {
  name: 'PostgreSQL',
  make: async blogModel => {
    const { url, drop } = await preparedDatabase(blogModel)
    return { url, drop, open: model => openPostgres(model, { url, connections: 4 }) }
  },
}

/** Row security restricts the rows, as for the nodes of `lockedNodes`. */
export const lockedPostgres: Kind = {
  name: 'PostgreSQL with row security',
  make: async blogModel => {
    const { url, drop } = await lockedDatabase(blogModel)
    return { url, drop, open: model => openPostgres(model, { url, connections: 4, rowSecurity: true }) }
  },
}

export const kinds: readonly Kind[] = [sqlite, postgres]

/** A store on a new database. */
export async function openStore(kind: Kind, model: Model) {
  const database = await kind.make(model)
  const store = await database.open(model)
  return {
    store,
    async close() {
      await store.close()
      await database.drop()
    },
  }
}
