/** The databases that the contract runs on: a new one for every harness. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import type { Model } from '../../../../src/model/model.ts'
import { chosen } from '../../../chosen.ts'
import { rowSecurityDatabase } from '../../../setups/databases/ordinary.ts'
import { preparedDatabase } from '../../../setups/databases/prepared.ts'

/** A database, named as the setting `database` names it. */
export interface Database {
  readonly url: string
  open(model: Model): Promise<Store>
  drop(): Promise<void>
}

export interface DatabaseKind {
  readonly name: string
  create(model: Model): Promise<Database>
}

export const sqlite: DatabaseKind = {
  name: 'SQLite',
  create: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-rest-'))
    const file = join(folder, 'data.db')
    return {
      url: file,
      open: async model => openSqlite(model, { file }),
      drop: async () => rmSync(folder, { recursive: true }),
    }
  },
}

export const postgres: DatabaseKind = {
  name: 'PostgreSQL',
  create: async blogModel => {
    const { url, drop } = await preparedDatabase(blogModel)
    return { url, drop, open: model => openPostgres(model, { url, connections: 4 }) }
  },
}

/** Row security restricts the rows, as for the nodes of `rowSecurityNodes`. */
export const rowSecurityPostgres: DatabaseKind = {
  name: 'PostgreSQL with row security',
  create: async blogModel => {
    const { url, drop } = await rowSecurityDatabase(blogModel)
    return { url, drop, open: model => openPostgres(model, { url, connections: 4, rowSecurity: true }) }
  },
}

export const databaseKinds: readonly DatabaseKind[] = chosen([sqlite, postgres])

/** A store on a new database. */
export async function openStore(kind: DatabaseKind, model: Model) {
  const database = await kind.create(model)
  const store = await database.open(model)
  return {
    store,
    async close() {
      await store.close()
      await database.drop()
    },
  }
}
