/** PostgreSQL databases with the tables of a model. */

import { preparePostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { schemaOf } from '../../../src/engine/store/schema/tables.ts'
import type { Model } from '../../../src/model/model.ts'
import { newDatabase, type TestDatabase } from './postgres.ts'
import { ReusedDatabases } from './reused.ts'

const databases = new ReusedDatabases({
  async prepare(model) {
    const { url, drop } = await newDatabase()
    await preparePostgres(url, model, { autoMigrate: true })
    return { url, admin: url, drop }
  },
  keyOf: model => JSON.stringify(schemaOf(model)),
})
process.on('beforeExit', () => databases.close())

/** A database with the empty tables of the model. */
export function preparedDatabase(model: Model): Promise<TestDatabase> {
  return databases.take(model)
}
