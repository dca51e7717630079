/** All workers together open no more connections to the database than the settings allow. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type RunningWorkers, withWorkers } from './service.ts'

const maxConnections = 12

/** Sends many concurrent writes and uncached reads to every worker. */
async function overload({ connections, another }: RunningWorkers): Promise<void> {
  const all = await Promise.all(
    connections.flatMap(connection => Array.from({ length: 8 }, () => another(connection))),
  )
  await Promise.all(
    all.map(async (connection, nth) => {
      for (let turn = 0; turn < 10; turn++) {
        const title = `${nth} ${turn}`
        const created = await connection.request('/api/v1/posts', {
          method: 'POST',
          body: { title, author_id: 1 },
        })
        assert.equal(created.status, 201)
        const answer = await connection.request(`/api/v1/posts?title=${encodeURIComponent(title)}`)
        assert.equal(answer.status, 200)
      }
    }),
  )
}

test('three workers share the database connections of their node', () =>
  withPostgres(async url => {
    const settings = { database: url, databaseConnections: maxConnections, secretKeys: [secretKey] }
    const backend = { name: 'PostgreSQL', open: async () => ({ settings, close: async () => {} }) }
    await withWorkers(
      3,
      async pool => {
        await overload(pool)
        const [row] = await query(
          url,
          `SELECT count(*)::int AS n FROM pg_stat_activity
           WHERE application_name = 'portico' AND datname = current_database()`,
        )
        const open = Number(row?.n)
        assert.ok(open >= 3 && open <= maxConnections, `${open} are open`)
      },
      {},
      backend,
    )
  }))
