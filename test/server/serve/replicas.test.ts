/** How a service reports its read replicas, and when it refuses them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type GivenSettings, SettingsError } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'
import { startStandbys, until } from '../../setups/databases/replicated.ts'
import { secretKey } from '../../setups/postgres.ts'
import { call } from './service.ts'

const baseSettings: GivenSettings = { port: 0, host: '127.0.0.1', logLevel: 'silent', rateLimit: 'off' }

test('/readyz and /metrics report the state of the replicas, and requests are answered regardless', async () => {
  const servers = await startStandbys(1)
  try {
    const { url: database, standbys } = await servers.newDatabase()
    const [standby] = servers.standbys
    const service = await serve(blog, {
      ...baseSettings,
      database,
      databaseReplicas: standbys,
      databaseConnections: 4,
      secretKeys: [secretKey],
      cacheSize: '0 B',
    })
    try {
      const metric = async (name: string) => {
        const { text } = await call(`${service.url}/metrics`)
        return Number(new RegExp(`^portico_${name} (\\d+)$`, 'm').exec(text)?.[1])
      }
      const ready = async () => (await call(`${service.url}/readyz`)).json
      const read = async () => {
        const posts = await call(`${service.url}/api/v1/posts`)
        assert.equal(posts.status, 200)
        const response = await call(`${service.url}/graphql`, {
          method: 'POST',
          body: { query: '{ posts { id } }' },
        })
        assert.deepEqual(response.json.data, { posts: [] })
      }
      const replicaReads = async () => {
        await read()
        return (await metric('replica_reads_total')) > 1
      }
      await until('the replica answers', replicaReads)
      assert.deepEqual(await ready(), { status: 'ok' })
      assert.equal(await metric('replicas_up'), 1)
      assert.ok((await metric('replica_lag_bytes')) >= 0)
      assert.ok((await metric('replica_fallbacks_total')) >= 0)
      await standby?.stop()
      await until('the replica is not used', async () => (await metric('replicas_up')) === 0)
      await read()
      const reason = '1 of 1 read replicas cannot be used: the primary answers instead.'
      assert.deepEqual(await ready(), { status: 'degraded', reason })
      await standby?.start()
      await until('the replica is used again', async () => (await metric('replicas_up')) === 1)
      assert.deepEqual(await ready(), { status: 'ok' })
      const before = await metric('replica_reads_total')
      await until('it answers again', async () => {
        await read()
        return (await metric('replica_reads_total')) > before
      })
    } finally {
      await service.close()
    }
  } finally {
    await servers.close()
  }
})

test('SQLite refuses replicas', async () => {
  const settings = { ...baseSettings, database: './never.db', databaseReplicas: ['postgres://u@h/d'] }
  await assert.rejects(serve(blog, settings), error => {
    assert.ok(error instanceof SettingsError)
    assert.match(error.message, /DATABASE_REPLICA_URLS.*`database` names an SQLite file/)
    return true
  })
})
