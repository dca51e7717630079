/** Two processes of two workers each, on PostgreSQL and Redis: four threads that are one service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../src/auth/key.ts'
import type { GivenSettings } from '../../src/config.ts'
import { earlyInMinute } from '../cluster/window.ts'
import { withPostgres } from '../databases/postgres.ts'
import { RedisServer } from '../databases/redis.ts'
import { call } from '../serve/service.ts'
import { secretKey } from '../setups/postgres.ts'
import { client, until } from '../transports/service.ts'
import { type NodeCluster, startCluster } from './cluster.ts'
import { listen } from './listeners.ts'

/** Each takes its turn to be with either worker: all of one node's with the same is as likely as a wrong bit. */
const MANY = 24

interface World {
  readonly cluster: NodeCluster
  readonly redis: RedisServer
  readonly key: string
}

async function withWorkers(given: GivenSettings, use: (world: World) => Promise<void>): Promise<void> {
  const redis = await RedisServer.start()
  const key = generateKey()
  try {
    await withPostgres(async database => {
      const cluster = await startCluster({
        nodes: 2,
        settings: {
          database,
          databaseConnections: 8,
          workers: 2,
          secretKeys: [secretKey],
          redis: { url: redis.url, timeout: 5000 },
          ...given,
        },
        environment: { PORTICO_ADMIN_API_KEY: key },
      })
      try {
        await use({ cluster, redis, key })
      } finally {
        await cluster.close()
      }
    })
  } finally {
    await redis.remove()
  }
}

const times = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at))

/** Waits until every worker has noticed that Redis is away. */
async function untilDegraded(cluster: NodeCluster): Promise<void> {
  const end = performance.now() + 20_000
  for (;;) {
    const answers = await Promise.all(times(MANY, at => call(`${cluster.node(at).url}/readyz`)))
    if (answers.every(({ json }) => json.status === 'degraded')) return
    assert.ok(performance.now() < end, 'a worker does not notice that Redis is away')
    await wait(50)
  }
}

const isGranted = ({ status }: { readonly status: number }) => status === 200

test('a limit is exact over all workers of all nodes; without Redis each node has it once, not each worker', async () => {
  await withWorkers({ rateLimit: 100 }, async ({ cluster, redis, key }) => {
    const read = (at: number, by?: string) =>
      call(`${cluster.node(at).url}/api/v1/posts`, by === undefined ? {} : { key: by })
    await earlyInMinute(30)
    const answers = await Promise.all(times(300, at => read(at, key)))
    assert.equal(answers.filter(isGranted).length, 100)
    assert.equal(answers.filter(({ status }) => status === 429).length, 200)
    await redis.kill()
    await untilDegraded(cluster)
    await earlyInMinute(20)
    // By an address, of which no node has heard.
    const alone = await Promise.all(times(400, at => read(at)))
    assert.equal(alone.filter(isGranted).length, 200)
  })
})

async function subscribe(url: string, key: string) {
  const titles: string[] = []
  const faults: unknown[] = []
  const socket = client(`${url.replace('http', 'ws')}/graphql`, { Authorization: `Bearer ${key}` })
  const stop = socket.subscribe<{ newPost: { title: string } }>(
    { query: 'subscription { newPost { title } }' },
    {
      next: ({ data, errors }) => (data ? titles.push(data.newPost.title) : faults.push(errors)),
      error: fault => faults.push(fault),
      complete: () => {},
    },
  )
  const end = () => {
    stop()
    void socket.dispose()
  }
  return { titles, faults, end }
}

test('subscribers at every worker of every node get every post once, in one order', async () => {
  await withWorkers({ rateLimit: 'off' }, async ({ cluster, key }) => {
    const write = async (at: number, title: string) => {
      const body = { title, body: '', author_id: 1 }
      const made = await call(`${cluster.node(at).url}/api/v1/posts`, { method: 'POST', key, body })
      assert.equal(made.status, 201, made.text)
    }
    const subscribers = await Promise.all(times(MANY, at => subscribe(cluster.node(at).url, key)))
    try {
      for (let round = 0; subscribers.some(({ titles }) => titles.length === 0); round++) {
        assert.ok(round < 100, 'a subscriber hears nothing')
        await write(round, 'warm-up')
        await wait(50)
      }
      await Promise.all(
        times(8, async lane => {
          for (let count = 0; count < 20; count++) await write(lane + count, `${lane} ${count}`)
        }),
      )
      const told = subscribers.map(
        ({ titles }) =>
          () =>
            titles.filter(title => title !== 'warm-up'),
      )
      await until(() => told.every(titles => titles().length >= 160), 20_000)
      await wait(300)
      const [first = []] = told.map(titles => titles())
      assert.equal(new Set(first).size, 160)
      for (const titles of told) assert.deepEqual(titles(), first)
      for (const { faults } of subscribers) assert.deepEqual(faults, [])
      for (const lane of times(8, at => at)) {
        const own = first.filter(title => title.startsWith(`${lane} `))
        assert.deepEqual(
          own,
          times(20, count => `${lane} ${count}`),
        )
      }
    } finally {
      for (const { end } of subscribers) end()
    }
  })
})

test('a key that is deleted at one node is over at every worker, on open connections too', async () => {
  await withWorkers({ rateLimit: 'off' }, async ({ cluster, key }) => {
    const made = await call(`${cluster.node(0).url}/api/v1/api_keys`, {
      method: 'POST',
      key,
      body: { name: 'to be revoked', scopes: ['*'] },
    })
    const { id, key: token } = made.json as unknown as { readonly id: number; readonly key: string }
    const sockets = await Promise.all(times(MANY, at => listen(cluster.node(at).url, token)))
    const ask = async (at: number) => (await call(`${cluster.node(at).url}/api/v1/me`, { key: token })).status
    assert.deepEqual(new Set(await Promise.all(times(MANY, ask))), new Set([200]))
    const gone = await call(`${cluster.node(1).url}/api/v1/api_keys/${id}`, { method: 'DELETE', key })
    assert.equal(gone.status, 204)
    assert.deepEqual(new Set(await Promise.all(times(MANY, ask))), new Set([401]))
    const late = wait(2500, 'still open', { ref: false })
    for (const { closed } of sockets) assert.notEqual(await Promise.race([closed, late]), 'still open')
  })
})
