/** Several workers behave as one service, on every backend. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../setups/databases/replicated.ts'
import { backends } from './backends.ts'
import { type RunningWorkers, type WorkerConnection, withWorkers } from './service.ts'
import { subscription } from './subscription.ts'

interface Item {
  readonly id: number
  readonly key: string
}

async function createAt(connection: WorkerConnection, collection: string, body: object): Promise<Item> {
  const { status, json } = await connection.request(`/api/v1/${collection}`, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json as unknown as Item
}

function first(connections: readonly WorkerConnection[]): WorkerConnection {
  assert.ok(connections[0])
  return connections[0]
}

const post = (title: string) => ({ title, body: '', author_id: 1 })

/** Repeats the requests until all of them fall into one window of the rate limit. */
async function statusesInOneWindow(pool: RunningWorkers, path: string, count: number): Promise<number[]> {
  const connections = await Promise.all(
    pool.connections.flatMap(connection => [connection, pool.another(connection), pool.another(connection)]),
  )
  for (;;) {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, nth) =>
        (connections[nth % connections.length] as WorkerConnection).request(path),
      ),
    )
    const windows = new Set(answers.map(({ headers }) => headers['x-ratelimit-reset']))
    if (windows.size === 1) return answers.map(({ status }) => status)
    await sleep(1000)
  }
}

/** For each connection, five requests. */
async function askFiveTimes(
  connections: readonly WorkerConnection[],
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const connection of connections)
    for (let times = 0; times < 5; times++) await connection.request(path, { headers })
}

async function postCount(connection: WorkerConnection): Promise<number> {
  const { json } = await connection.request('/api/v1/posts?per_page=1')
  return (json.meta as { total: number }).total
}

/** Tests of one service with three workers, in this order. */
const properties: Readonly<Record<string, (pool: RunningWorkers) => Promise<void>>> = {
  // First, since the writes of other tests would be counted.
  async 'concurrent writes at all workers are stored and counted'({ connections, another }) {
    await first(connections).request('/api/v1/me')
    // A worker stores the last use of the key after the response.
    await until('stored', async () =>
      /\nportico_committed_writes_total 1\n/.test(await first(connections).text('/metrics')),
    )
    const all = await Promise.all(
      connections.flatMap(connection => Array.from({ length: 5 }, () => another(connection))),
    )
    await Promise.all(
      all.map(async (connection, nth) => {
        for (let turn = 0; turn < 20; turn++) await createAt(connection, 'posts', post(`${nth} ${turn}`))
      }),
    )
    for (const connection of connections) assert.equal(await postCount(connection), 300)
    const text = await first(connections).text('/metrics')
    // The writes of the start are not counted: they happened in the main thread, which is not a worker.
    assert.match(text, /\nportico_committed_writes_total 301\n/)
  },

  async 'batches at all workers are serialized'({ connections }) {
    const { id } = await createAt(first(connections), 'posts', post('0'))
    const before = await postCount(first(connections))
    // Each reads the total and adds a post: if they are serialized, no two read the same total.
    const operations = [
      { method: 'GET', path: '/posts?sort=-id&per_page=1&fields=id', as: 'last' },
      { method: 'POST', path: '/posts', body: post('x'), as: 'new' },
      { method: 'PATCH', path: `/posts/${id}`, body: { title: '$new.title' } },
    ]
    const answers = await Promise.all(
      connections.flatMap(connection =>
        Array.from({ length: 5 }, () =>
          connection.request('/api/v1/batch', { method: 'POST', body: { operations } }),
        ),
      ),
    )
    const read = answers.map(({ status, json, text }) => {
      assert.equal(status, 200, text)
      const [list] = json['results'] as { body: { data: { id: number }[]; meta: { total: number } } }[]
      return list?.body.meta.total
    })
    assert.deepEqual(
      read.toSorted((a, b) => Number(a) - Number(b)),
      Array.from({ length: 15 }, (_, index) => before + index),
    )
  },

  async 'a key created at one worker is accepted by all, and a revoked one refused by all'({ connections }) {
    for (const by of connections) {
      const { id, key } = await createAt(by, 'api_keys', { name: 'x', scopes: ['*'] })
      const read = () =>
        Promise.all(
          connections.map(connection =>
            connection.request('/api/v1/posts', { headers: { Authorization: `Bearer ${key}` } }),
          ),
        )
      for (const { status } of await read()) assert.equal(status, 200)
      assert.equal((await by.request(`/api/v1/api_keys/${id}`, { method: 'DELETE' })).status, 204)
      for (const { status } of await read()) assert.equal(status, 401)
    }
  },

  async 'subscribers at every worker get every post once and in the same order, whichever worker wrote it'(
    pool,
  ) {
    const subscriptions = await Promise.all(
      pool.connections.map(connection => subscription(pool, connection)),
    )
    const count = 60
    const before = await postCount(first(pool.connections))
    // The subscriptions are active once their responses have started, so no later post may be missed.
    await Promise.all(
      Array.from({ length: count }, (_, nth) =>
        createAt(pool.connections[nth % 3] as WorkerConnection, 'posts', post(`t${nth}`)),
      ),
    )
    for (let tries = 0; tries < 12_000; tries++) {
      if (subscriptions.every(({ titles }) => titles.length >= count)) break
      await sleep(10)
    }
    await sleep(50)
    assert.equal(await postCount(first(pool.connections)), before + count)
    const newest = `/api/v1/posts?per_page=${count}&sort=-id`
    const { json } = await first(pool.connections).request(newest)
    const stored = (json as unknown as { data: { title: string }[] }).data.map(({ title }) => title)
    const [received = []] = subscriptions.map(({ titles }) => titles)
    assert.deepEqual(received.toSorted(), stored.toSorted())
    for (const { titles, close } of subscriptions) {
      assert.deepEqual(titles, received)
      close()
    }
    // The posts of one connection are written one after the other.
    const numbers = received.map(title => Number(title.slice(1)))
    for (const connection of [0, 1, 2]) {
      const own = numbers.filter(nth => nth % 3 === connection)
      assert.deepEqual(
        own,
        own.toSorted((a, b) => a - b),
      )
    }
  },

  async 'every worker returns the metrics of all workers'({ connections }) {
    await askFiveTimes(connections, '/api/v1/users')
    const name =
      'portico_http_request_duration_seconds_count{method="GET",route="/api/v1/users",status="2xx"}'
    for (const connection of connections) {
      const text = await connection.text('/metrics')
      assert.ok(text.includes(`\n${name} 15\n`), text.slice(0, 2000))
      assert.ok(text.includes('\nportico_workers 3\n'))
      assert.ok(text.includes('\nportico_worker_restarts_total 0\n'))
      assert.equal(text.split('# TYPE process_resident_memory_bytes').length, 2)
    }
  },

  async 'hits and misses of the credential cache are summed over the workers'({ connections }) {
    // No worker has cached it.
    const { key } = await createAt(first(connections), 'api_keys', { name: 'new', scopes: ['*'] })
    const counts = async () => {
      const text = await first(connections).text('/metrics')
      return ['hits', 'misses'].map(what =>
        Number(new RegExp(`\\nportico_credential_cache_${what}_total (\\d+)\\n`).exec(text)?.[1]),
      )
    }
    const [hitsBefore = 0, missesBefore = 0] = await counts()
    await askFiveTimes(connections, '/api/v1/posts', { Authorization: `Bearer ${key}` })
    const [hits = 0, misses = 0] = await counts()
    // The monitor of subscriptions that have just ended may look up a key, too.
    const added = [hits - hitsBefore, misses - missesBefore] as const
    assert.ok(added[0] >= 12 && added[0] <= 14 && added[1] >= 3 && added[1] <= 5, String(added))
  },

  // Last, since it stops the service.
  async 'stopping the service answers running requests, closes idle connections and stops listening'({
    service,
    url,
    connections,
  }) {
    // A connection whose request was not yet read at the stop may fail before the stop completes.
    const running = Promise.allSettled(
      connections.map(connection =>
        connection.request('/api/v1/posts', { method: 'POST', body: post('last') }),
      ),
    )
    await sleep(5)
    await service.close()
    for (const answer of await running) {
      if (answer.status === 'fulfilled') assert.ok([201, 503].includes(answer.value.status))
    }
    await assert.rejects(fetch(`${url}/healthz`))
  },
}

for (const backend of backends) {
  test(`three workers grant exactly the limit between them (${backend.name})`, () =>
    withWorkers(
      3,
      async pool => {
        const statuses = await statusesInOneWindow(pool, '/api/v1/posts', 150)
        assert.equal(statuses.filter(status => status === 200).length, 100)
        assert.equal(statuses.filter(status => status === 429).length, 50)
      },
      { rateLimit: 100 },
      backend,
    ))

  test(`three workers (${backend.name})`, t =>
    withWorkers(
      3,
      async pool => {
        for (const [name, assertion] of Object.entries(properties)) await t.test(name, () => assertion(pool))
      },
      {},
      backend,
    ))
}
