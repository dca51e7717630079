/** Validates statements by preparing them on PostgreSQL. */
import pg from 'pg'
import type { Model } from '../../../../src/model/model.ts'
import { preparedDatabase } from '../../../setups/databases/prepared.ts'

/** Rejects with PostgreSQL's error for the first invalid statement. */
export async function prepareAll(model: Model, statements: Iterable<string>): Promise<void> {
  const { url, drop } = await preparedDatabase(model)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let count = 0
    for (const text of statements) await client.query(`PREPARE "s${count++}" AS ${text}`)
  } finally {
    await client.end()
    await drop()
  }
}
