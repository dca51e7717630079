/** `/readyz` of a whole service on PostgreSQL: whether it could serve an ordinary read and an ordinary write. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { type TestService, withService } from './service.ts'

/** Accepted messages for a database that is busy, or that has just ended its connections. */
const passing = [
  '503 The database does not answer.',
  '503 The database does not answer in time.',
  '503 The database cannot be reached.',
]

/** Waits until `/readyz` responds with `expected`. Every earlier response must be one of `before`. */
async function until({ call }: TestService, expected: string, before: readonly string[]): Promise<void> {
  for (const end = performance.now() + 120_000; ; await wait(100)) {
    const { status, json } = await call('/readyz')
    const message = String((json.error as { message?: string } | undefined)?.message ?? json.status)
    const output = `${status} ${message}`
    if (output === expected) return
    assert.ok([...passing, ...before].includes(output), output)
    assert.ok(performance.now() < end, output)
  }
}

const unfit = '503 The tables of the database do not fit the model any more.'
const readOnly = '503 Changes cannot be stored: the database is read-only.'

test('a read-only database makes the service not ready until it is writable again', () =>
  withPostgres(url =>
    withService({ database: url, secretKeys: ['s'.repeat(32)] }, async service => {
      await until(service, '200 ok', [])
      const set = async (value: string) => {
        const [row] = await query(url, 'SELECT current_database() AS name')
        await query(
          url,
          `BEGIN READ WRITE; ALTER DATABASE "${row?.name}" SET default_transaction_read_only = ${value}; COMMIT`,
        )
        await query(
          url,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico'`,
        )
      }
      await set('on')
      await until(service, readOnly, ['200 ok', '503 Changes cannot be stored: the database rejects them.'])
      assert.equal((await service.call('/api/v1/posts')).status, 200)
      await set('off')
      await until(service, '200 ok', [readOnly])
    }),
  ))

test('a renamed column makes the service not ready, an added one does not', () =>
  withPostgres(url =>
    withService({ database: url, secretKeys: ['s'.repeat(32)] }, async service => {
      await query(url, 'ALTER TABLE posts ADD COLUMN extra text')
      await until(service, '200 ok', [])
      await query(url, 'ALTER TABLE posts RENAME COLUMN title TO headline')
      await until(service, unfit, ['200 ok'])
      await query(url, 'ALTER TABLE posts RENAME COLUMN headline TO title')
      await until(service, '200 ok', [unfit])
    }),
  ))
