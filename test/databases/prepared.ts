/** PostgreSQL databases with a model's tables, copied from one that is made once for each model. */
import type { Model } from '../../src/model/model.ts'
import { preparePostgres } from '../../src/store/schema/postgres-migrate.ts'
import { newDatabase, type TestDatabase } from './postgres.ts'

const templates = new Map<Model, Promise<TestDatabase>>()

async function templateOf(model: Model): Promise<TestDatabase> {
  const database = await newDatabase()
  await preparePostgres(database.url, model, true)
  return database
}

process.once('beforeExit', async () => {
  for (const template of templates.values()) await (await template).drop().catch(() => {})
})

/** A new database with the tables of the model and nothing in them. */
export async function preparedDatabase(model: Model): Promise<TestDatabase> {
  const template = templates.get(model) ?? templateOf(model)
  templates.set(model, template)
  return newDatabase(await template)
}
