/** PostgreSQL databases with a model's tables, copied from one that is made once for each model. */
import type { Model } from '../../src/model/model.ts'
import { preparePostgres } from '../../src/store/schema/postgres-migrate.ts'
import { schemaOf } from '../../src/store/schema/tables.ts'
import { newDatabase, type TestDatabase } from './postgres.ts'

/** By the tables. */
const templates = new Map<string, Promise<TestDatabase>>()

async function templateOf(model: Model): Promise<TestDatabase> {
  const database = await newDatabase()
  await preparePostgres(database.url, model, { autoMigrate: true })
  return database
}

process.once('beforeExit', async () => {
  for (const template of templates.values()) await (await template).drop().catch(() => {})
})

/** A new database with the tables of the model and nothing in them. */
export async function preparedDatabase(model: Model): Promise<TestDatabase> {
  const key = JSON.stringify(schemaOf(model))
  const template = templates.get(key) ?? templateOf(model)
  templates.set(key, template)
  return newDatabase(await template)
}
