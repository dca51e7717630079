/** PostgreSQL databases owned by an ordinary role, to which policies apply, unlike the superuser of other tests. */
import { randomBytes } from 'node:crypto'
import { rowSecurity } from '../../../src/engine/store/postgres/row-security/policies.ts'
import { preparePostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { schemaOf } from '../../../src/engine/store/schema/tables.ts'
import type { Model } from '../../../src/model/model.ts'
import { newDatabase, query, serverUrl, type TestDatabase } from './postgres.ts'
import { ReusedDatabases } from './reused.ts'

export interface OrdinaryDatabase extends TestDatabase {
  /** The URL of the superuser. */
  readonly admin: string
}

interface User {
  readonly name: string
  readonly password: string
}

let owner: Promise<User> | undefined

/** Creates a role without privileges. */
export async function newUser(): Promise<User> {
  const user = { name: `user_${randomBytes(8).toString('hex')}`, password: randomBytes(8).toString('hex') }
  await query(await serverUrl(), `CREATE ROLE "${user.name}" LOGIN PASSWORD '${user.password}'`)
  return user
}

export async function dropUser({ name }: User): Promise<void> {
  await query(await serverUrl(), `DROP ROLE "${name}"`)
}

/** The URL of a database for another role. */
export function urlFor(url: string, { name, password }: User): string {
  const userUrl = new URL(url)
  userUrl.username = name
  userUrl.password = password
  return userUrl.href
}

/** Creates an empty database. All databases of a process have the same owner. */
export async function newOrdinaryDatabase(): Promise<OrdinaryDatabase> {
  owner ??= newUser()
  const user = await owner
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

// A later test gets a new role: if test files share a process, it may be idle for a moment between them.
process.on('beforeExit', async () => {
  const last = owner
  owner = undefined
  await databases.close()
  if (last !== undefined) await dropUser(await last).catch(() => {})
})

/** A database with the empty tables and the policies of the model. */
export function rowSecurityDatabase(model: Model): Promise<OrdinaryDatabase> {
  return databases.take(model)
}
