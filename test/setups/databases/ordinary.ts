/** PostgreSQL databases owned by an ordinary role, to which policies apply, unlike the superuser of other tests. */
import { rowSecurity } from '../../../src/engine/store/postgres/row-security/policies.ts'
import { preparePostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { schemaOf } from '../../../src/engine/store/schema/tables.ts'
import type { Model } from '../../../src/model/model.ts'
import { beforeOwnerEnds, databaseOwner, urlFor } from './owner.ts'
import { newDatabase, query, type TestDatabase } from './postgres.ts'
import { ReusedDatabases } from './reused.ts'

export interface OrdinaryDatabase extends TestDatabase {
  /** The URL of the superuser. */
  readonly admin: string
}

/** Creates an empty database. */
export async function newOrdinaryDatabase(): Promise<OrdinaryDatabase> {
  const user = await databaseOwner()
  const { url: admin, drop } = await newDatabase()
  const name = new URL(admin).pathname.slice(1)
  await query(admin, `ALTER DATABASE "${name}" OWNER TO "${user.name}"`)
  return { url: urlFor(admin, user), admin, drop }
}

export async function withOrdinaryDatabase<T>(use: (database: OrdinaryDatabase) => Promise<T>): Promise<T> {
  const database = await newOrdinaryDatabase()
  try {
    return await use(database)
  } finally {
    await database.drop()
  }
}

const databases = new ReusedDatabases({
  async prepare(model) {
    const database = await newOrdinaryDatabase()
    await preparePostgres(database.url, model, { autoMigrate: true, rowSecurity: true })
    return database
  },
  keyOf: model => `${rowSecurity(model).fingerprint} ${JSON.stringify(schemaOf(model))}`,
})

beforeOwnerEnds(() => databases.close())

/** A database with the empty tables and the policies of the model. */
export function rowSecurityDatabase(model: Model): Promise<OrdinaryDatabase> {
  return databases.take(model)
}
