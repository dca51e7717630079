/** Workers that read from a standby: a write of one is immediately visible at the other, however far the standby lags. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { query } from '../../setups/databases/postgres.ts'
import { pauseReplay, resumeReplay, startStandbys, until } from '../../setups/databases/replicated.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type RunningWorkers, type WorkerConnection, withWorkers } from './service.ts'

const maxConnections = 8

interface Fixture {
  readonly pool: RunningWorkers
  readonly standby: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** Starts two workers without a cache, so that each read queries a database. */
async function withFixture(use: (fixture: Fixture) => Promise<void>): Promise<void> {
  const servers = await startStandbys(1)
  try {
    const { url, standbys } = await servers.newDatabase()
    const [server] = servers.standbys
    const [standby] = standbys
    assert.ok(server && standby)
    const settings: GivenSettings = {
      database: url,
      databaseReplicas: standbys,
      databaseConnections: maxConnections,
      secretKeys: [secretKey],
      cacheSize: '0 B',
    }
    const backend = {
      name: 'PostgreSQL with a standby',
      open: async () => ({ settings, close: async () => {} }),
    }
    const fixture = { standby, stop: () => server.stop(), start: () => server.start() }
    await withWorkers(2, pool => use({ ...fixture, pool }), {}, backend)
  } finally {
    await servers.close()
  }
}

async function titleAt(connection: WorkerConnection): Promise<unknown> {
  const { status, json } = await connection.request('/api/v1/posts/1')
  assert.equal(status, 200)
  return json.title
}

async function setTitle(connection: WorkerConnection, title: string): Promise<void> {
  const { status } = await connection.request('/api/v1/posts/1', { method: 'PATCH', body: { title } })
  assert.equal(status, 200)
}

async function metric(connection: WorkerConnection, name: string): Promise<number> {
  const text = await connection.text('/metrics')
  return Number(new RegExp(`^portico_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** The number of replica reads of all workers. */
const answers = (connection: WorkerConnection) => metric(connection, 'replica_reads_total')

/** Waits until the standby answers a read of this worker. */
const untilUsed = (connection: WorkerConnection) =>
  until('the standby answers', async () => {
    const before = await answers(connection)
    await titleAt(connection)
    return (await answers(connection)) > before
  })

/** Each worker writes in turn, and all return the write immediately. */
async function assertOneService(connections: readonly WorkerConnection[], name: string): Promise<void> {
  for (let round = 0; round < 10; round++) {
    for (const [index, writer] of connections.entries()) {
      const title = `${name} ${round} ${index}`
      await setTitle(writer, title)
      for (const reader of connections) assert.equal(await titleAt(reader), title)
    }
  }
}

test('workers read from a standby, and none returns data older than a write of another', () =>
  withFixture(async ({ pool: { connections }, standby }) => {
    const [connection] = connections
    assert.ok(connection)
    const created = await connection.request('/api/v1/posts', {
      method: 'POST',
      body: { title: 'first', body: '' },
    })
    assert.deepEqual([created.status, created.json.id], [201, 1])
    for (const connection of connections) await untilUsed(connection)
    await assertOneService(connections, 'followed')
    await pauseReplay(standby)
    await assertOneService(connections, 'behind')
    const [stale] = await query(standby, 'SELECT title FROM posts WHERE id = 1')
    assert.notEqual(stale?.title, 'behind 9 1', 'the standby has not replayed the last write')
    await resumeReplay(standby)
    for (const connection of connections) await untilUsed(connection)
  }))

test('without the standby every worker continues and reports it, and uses it again after its restart', () =>
  withFixture(async ({ pool: { connections }, stop, start }) => {
    const [connection] = connections
    assert.ok(connection)
    await connection.request('/api/v1/posts', { method: 'POST', body: { title: 'first', body: '' } })
    for (const connection of connections) await untilUsed(connection)
    assert.equal(await metric(connection, 'replicas_up'), 1)
    await stop()
    const ready = (each: WorkerConnection) => each.request('/readyz')
    for (const connection of connections) {
      await until('the outage is reported', async () => (await ready(connection)).json.status === 'degraded')
      assert.equal((await ready(connection)).status, 200)
    }
    assert.equal(await metric(connection, 'replicas_up'), 0)
    await assertOneService(connections, 'alone')
    await start()
    for (const connection of connections) {
      await until('the recovery is reported', async () => (await ready(connection)).json.status === 'ok')
      await untilUsed(connection)
    }
  }))

test('all workers together open no more connections to a standby than the settings allow', () =>
  withFixture(async ({ pool: { connections, another }, standby }) => {
    const [connection] = connections
    assert.ok(connection)
    await connection.request('/api/v1/posts', { method: 'POST', body: { title: 'first', body: '' } })
    for (const connection of connections) await untilUsed(connection)
    const all = await Promise.all(
      connections.flatMap(connection => Array.from({ length: 8 }, () => another(connection))),
    )
    await Promise.all(
      all.map(async (worker, nth) => {
        for (let round = 0; round < 20; round++) {
          const { status } = await worker.request(`/api/v1/posts?title=${nth}-${round}`)
          assert.equal(status, 200)
        }
      }),
    )
    const [row] = await query(
      standby,
      `SELECT count(*)::int AS n FROM pg_stat_activity
       WHERE application_name = 'portico' AND datname = current_database()`,
    )
    const open = Number(row?.n)
    assert.ok(open > connections.length && open <= maxConnections, `${open} are open`)
  }))
