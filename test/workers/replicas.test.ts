/** Workers whose reads a standby answers: what one has written the other shows at once, however far the standby is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '../databases/postgres.ts'
import { pauseReplay, resumeReplay, startStandbys, until } from '../databases/replicated.ts'
import { secretKey } from '../setups/postgres.ts'
import { type Lane, type RunningWorkers, withWorkers } from './service.ts'

const CONNECTIONS = 8

interface Scene {
  readonly pool: RunningWorkers
  readonly standby: string
  stop(): Promise<void>
  start(): Promise<void>
}

/** Nothing is remembered: each read is a question to a database. */
async function withScene(use: (scene: Scene) => Promise<void>): Promise<void> {
  const servers = await startStandbys(1)
  try {
    const { url, standbys } = await servers.newDatabase()
    const [server] = servers.standbys
    const [standby] = standbys
    assert.ok(server && standby)
    const settings = {
      database: url,
      databaseReplicas: standbys,
      databaseConnections: CONNECTIONS,
      secretKeys: [secretKey],
      cacheBytes: 0,
    }
    const place = {
      name: 'PostgreSQL with a standby',
      open: async () => ({ settings, close: async () => {} }),
    }
    const scene = { standby, stop: () => server.stop(), start: () => server.start() }
    await withWorkers(2, pool => use({ ...scene, pool }), {}, place)
  } finally {
    await servers.close()
  }
}

async function titleAt(lane: Lane): Promise<unknown> {
  const { status, json } = await lane.ask('/api/v1/posts/1')
  assert.equal(status, 200)
  return json.title
}

async function setTitle(lane: Lane, title: string): Promise<void> {
  const { status } = await lane.ask('/api/v1/posts/1', { method: 'PATCH', body: { title } })
  assert.equal(status, 200)
}

async function figure(lane: Lane, name: string): Promise<number> {
  const text = await lane.text('/metrics')
  return Number(new RegExp(`^portico_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Of all workers together. */
const answers = (lane: Lane) => figure(lane, 'replica_reads_total')

/** Until a read by this worker is answered by the standby. */
const untilUsed = (lane: Lane) =>
  until('the standby answers', async () => {
    const before = await answers(lane)
    await titleAt(lane)
    return (await answers(lane)) > before
  })

/** Every worker writes in turn, and each shows it at once. */
async function assertOneService(lanes: readonly Lane[], name: string): Promise<void> {
  for (let round = 0; round < 10; round++) {
    for (const [at, writer] of lanes.entries()) {
      const title = `${name} ${round} ${at}`
      await setTitle(writer, title)
      for (const reader of lanes) assert.equal(await titleAt(reader), title)
    }
  }
}

test('workers ask a standby, and none shows what is older than what another has written', () =>
  withScene(async ({ pool: { lanes }, standby }) => {
    const [lane] = lanes
    assert.ok(lane)
    const made = await lane.ask('/api/v1/posts', { method: 'POST', body: { title: 'first', body: '' } })
    assert.deepEqual([made.status, made.json.id], [201, 1])
    for (const each of lanes) await untilUsed(each)
    await assertOneService(lanes, 'followed')
    await pauseReplay(standby)
    await assertOneService(lanes, 'behind')
    const [stale] = await query(standby, 'SELECT title FROM posts WHERE id = 1')
    assert.notEqual(stale?.title, 'behind 9 1', 'the standby has not followed')
    await resumeReplay(standby)
    for (const each of lanes) await untilUsed(each)
  }))

test('without the standby every worker goes on, says so, and uses it again when it is back', () =>
  withScene(async ({ pool: { lanes }, stop, start }) => {
    const [lane] = lanes
    assert.ok(lane)
    await lane.ask('/api/v1/posts', { method: 'POST', body: { title: 'first', body: '' } })
    for (const each of lanes) await untilUsed(each)
    assert.equal(await figure(lane, 'replicas_up'), 1)
    await stop()
    const ready = (each: Lane) => each.ask('/readyz')
    for (const each of lanes) {
      await until('it is missed', async () => (await ready(each)).json.status === 'degraded')
      assert.equal((await ready(each)).status, 200)
    }
    assert.equal(await figure(lane, 'replicas_up'), 0)
    await assertOneService(lanes, 'alone')
    await start()
    for (const each of lanes) {
      await until('it is back', async () => (await ready(each)).json.status === 'ok')
      await untilUsed(each)
    }
  }))

test('all workers together hold no more connections to a standby than the settings allow', () =>
  withScene(async ({ pool: { lanes, beside }, standby }) => {
    const [lane] = lanes
    assert.ok(lane)
    await lane.ask('/api/v1/posts', { method: 'POST', body: { title: 'first', body: '' } })
    for (const each of lanes) await untilUsed(each)
    const crowd = await Promise.all(lanes.flatMap(one => Array.from({ length: 8 }, () => beside(one))))
    await Promise.all(
      crowd.map(async (one, nth) => {
        for (let round = 0; round < 20; round++) {
          const { status } = await one.ask(`/api/v1/posts?title=${nth}-${round}`)
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
    assert.ok(open > lanes.length && open <= CONNECTIONS, `${open} are open`)
  }))
