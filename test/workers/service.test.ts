/** Several workers are one service, whatever they stand on: what one of them knows, all do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GivenSettings } from '../../src/config.ts'
import { until } from '../databases/replicated.ts'
import { places } from './backends.ts'
import { type Lane, type RunningWorkers, withWorkers } from './service.ts'
import { subscription } from './subscription.ts'

interface Item {
  readonly id: number
  readonly key: string
}

async function made(lane: Lane, collection: string, body: object): Promise<Item> {
  const { status, json } = await lane.ask(`/api/v1/${collection}`, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json as unknown as Item
}

function first(lanes: readonly Lane[]): Lane {
  assert.ok(lanes[0])
  return lanes[0]
}

const post = (title: string) => ({ title, body: '', author_id: 1 })

/** In one window, of which the second half of a minute may leave too little. */
async function statusesInOneWindow(pool: RunningWorkers, path: string, count: number): Promise<number[]> {
  const lanes = await Promise.all(pool.lanes.flatMap(lane => [lane, pool.beside(lane), pool.beside(lane)]))
  for (;;) {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, nth) => (lanes[nth % lanes.length] as Lane).ask(path)),
    )
    const windows = new Set(answers.map(({ headers }) => headers['x-ratelimit-reset']))
    if (windows.size === 1) return answers.map(({ status }) => status)
    await sleep(1000)
  }
}

for (const place of places) {
  const crewOf = (workers: number, use: (pool: RunningWorkers) => Promise<void>, given: GivenSettings = {}) =>
    withWorkers(workers, use, given, place)

  test(`three workers grant exactly the limit between them (${place.name})`, async () => {
    await crewOf(
      3,
      async pool => {
        // One that was drawn by another test's window does not count: none was.
        const statuses = await statusesInOneWindow(pool, '/api/v1/posts', 150)
        assert.equal(statuses.filter(status => status === 200).length, 100)
        assert.equal(statuses.filter(status => status === 429).length, 50)
      },
      { rateLimit: 100 },
    )
  })

  test(`batches at three workers are done one after the other (${place.name})`, async () => {
    await crewOf(3, async ({ lanes }) => {
      const { id } = await made(first(lanes), 'posts', post('0'))
      // Each reads the last title and adds a post: with one serial order no two read the same.
      const operations = [
        { method: 'GET', path: '/posts?sort=-id&per_page=1&fields=id', as: 'last' },
        { method: 'POST', path: '/posts', body: post('x'), as: 'new' },
        { method: 'PATCH', path: `/posts/${id}`, body: { title: '$new.title' } },
      ]
      const answers = await Promise.all(
        lanes.flatMap(lane =>
          Array.from({ length: 5 }, () =>
            lane.ask('/api/v1/batch', { method: 'POST', body: { operations } }),
          ),
        ),
      )
      const read = answers.map(({ status, json, text }) => {
        assert.equal(status, 200, text)
        const [list] = json['results'] as { body: { data: { id: number }[]; meta: { total: number } } }[]
        return list?.body.meta.total
      })
      assert.deepEqual(
        read.toSorted((one, other) => Number(one) - Number(other)),
        Array.from({ length: 15 }, (_, at) => at + 1),
      )
    })
  })

  test(`a key that was revoked at one worker is refused by all; a new one is known to all (${place.name})`, async () => {
    await crewOf(3, async ({ lanes }) => {
      for (const by of lanes) {
        const { id, key } = await made(by, 'api_keys', { name: 'x', scopes: ['*'] })
        const asks = () =>
          Promise.all(
            lanes.map(lane => lane.ask('/api/v1/posts', { headers: { Authorization: `Bearer ${key}` } })),
          )
        for (const { status } of await asks()) assert.equal(status, 200)
        assert.equal((await by.ask(`/api/v1/api_keys/${id}`, { method: 'DELETE' })).status, 204)
        for (const { status } of await asks()) assert.equal(status, 401)
      }
    })
  })

  test(`subscribers at every worker get every post once, in one order, whichever worker made it (${place.name})`, async () => {
    await crewOf(3, async pool => {
      const subscriptions = await Promise.all(pool.lanes.map(lane => subscription(pool, lane)))
      const count = 60
      // The subscriptions begin with the answer; nothing that is made from now on may be missed.
      await Promise.all(
        Array.from({ length: count }, (_, nth) =>
          made(pool.lanes[nth % 3] as Lane, 'posts', post(`t${nth}`)),
        ),
      )
      for (let tries = 0; tries < 500; tries++) {
        if (subscriptions.every(({ titles }) => titles.length >= count)) break
        await sleep(10)
      }
      await sleep(50)
      const { json } = await first(pool.lanes).ask('/api/v1/posts?per_page=100&sort=id')
      const stored = (json as unknown as { data: { title: string }[] }).data.map(({ title }) => title)
      assert.equal(stored.length, count)
      const [told = []] = subscriptions.map(({ titles }) => titles)
      assert.deepEqual(told.toSorted(), stored.toSorted())
      for (const { titles, close } of subscriptions) {
        assert.deepEqual(titles, told)
        close()
      }
      // A lane writes one post after the other.
      const numbers = told.map(title => Number(title.slice(1)))
      for (const lane of [0, 1, 2]) {
        const own = numbers.filter(nth => nth % 3 === lane)
        assert.deepEqual(
          own,
          own.toSorted((one, other) => one - other),
        )
      }
    })
  })

  test(`any worker tells the figures of all of them (${place.name})`, async () => {
    await crewOf(3, async ({ lanes }) => {
      for (const lane of lanes) for (let times = 0; times < 5; times++) await lane.ask('/api/v1/posts')
      const name =
        'portico_http_request_duration_seconds_count{method="GET",route="/api/v1/posts",status="2xx"}'
      for (const lane of lanes) {
        const text = await lane.text('/metrics')
        assert.ok(text.includes(`\n${name} 15\n`), text.slice(0, 2000))
        assert.ok(text.includes('\nportico_workers 3\n'))
        assert.ok(text.includes('\nportico_worker_restarts_total 0\n'))
        assert.equal(text.split('# TYPE process_resident_memory_bytes').length, 2)
      }
    })
  })

  test(`known credentials are counted at each worker, and added up (${place.name})`, async () => {
    await crewOf(3, async ({ lanes }) => {
      const counts = async () => {
        const text = await first(lanes).text('/metrics')
        return ['hits', 'misses'].map(what =>
          Number(new RegExp(`\\nportico_credential_cache_${what}_total (\\d+)\\n`).exec(text)?.[1]),
        )
      }
      const [hitsBefore = 0, missesBefore = 0] = await counts()
      for (const lane of lanes) for (let times = 0; times < 5; times++) await lane.ask('/api/v1/posts')
      const [hits = 0, misses = 0] = await counts()
      assert.deepEqual([hits - hitsBefore, misses - missesBefore], [12, 3])
    })
  })

  test(`writes at all workers at once: all are stored, and each worker counts its own commits (${place.name})`, async () => {
    await crewOf(3, async ({ lanes, beside }) => {
      await first(lanes).ask('/api/v1/me')
      // One worker stores that the key is used, after the answer.
      await until('stored', async () =>
        /\nportico_committed_writes_total 1\n/.test(await first(lanes).text('/metrics')),
      )
      const all = await Promise.all(lanes.flatMap(lane => Array.from({ length: 5 }, () => beside(lane))))
      await Promise.all(
        all.map(async (lane, nth) => {
          for (let turn = 0; turn < 20; turn++) await made(lane, 'posts', post(`${nth} ${turn}`))
        }),
      )
      for (const lane of lanes) {
        const { json } = await lane.ask('/api/v1/posts?per_page=1')
        assert.equal((json.meta as { total: number }).total, 300)
      }
      const text = await first(lanes).text('/metrics')
      // The administrator's start made its own, in the main thread, which is none of the workers.
      assert.match(text, /\nportico_committed_writes_total 301\n/)
    })
  })

  test(`a stop answers what runs, ends idle connections, and leaves nobody listening (${place.name})`, async () => {
    await crewOf(2, async ({ service, url, lanes }) => {
      // A connection that the stop found unread may fail before the stop is over.
      const running = Promise.allSettled(
        lanes.map(lane => lane.ask('/api/v1/posts', { method: 'POST', body: post('last') })),
      )
      await sleep(5)
      await service.close()
      for (const answer of await running) {
        if (answer.status === 'fulfilled') assert.ok([201, 503].includes(answer.value.status))
      }
      await assert.rejects(fetch(`${url}/healthz`))
    })
  })
}
