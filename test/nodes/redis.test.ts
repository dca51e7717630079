/** Three nodes and a Redis: what they count together, and that they go on without it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { GivenSettings } from '../../src/config.ts'
import { earlyInMinute } from '../cluster/window.ts'
import { call } from '../serve/service.ts'
import { until } from '../transports/service.ts'
import type { NodeCluster } from './cluster.ts'
import { type NodesFixture, times, withNodesFixture } from './fixture.ts'
import { subscribe, untilAllListen } from './subscribers.ts'

const withNodes = (settings: GivenSettings, use: (fixture: NodesFixture) => Promise<void>) =>
  withNodesFixture(3, settings, use)

test('a user’s limit is exact over three nodes, and every node says what is left of it', async () => {
  await withNodes({ rateLimit: 300 }, async ({ cluster, key }) => {
    await earlyInMinute(15)
    const read = (at: number) => call(`${cluster.node(at).url}/api/v1/posts`, { key })
    const answers = await Promise.all(times(900, read))
    const granted = answers.filter(({ status }) => status === 200)
    assert.equal(granted.length, 300)
    assert.equal(answers.filter(({ status }) => status === 429).length, 600)
    const left = granted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    assert.deepEqual(
      left.sort((a, b) => b - a),
      times(300, at => 299 - at),
    )
    const resets = new Set(answers.map(({ headers }) => headers.get('x-ratelimit-reset')))
    assert.equal(resets.size, 1)
  })
})

/** The status of a sign-in with a wrong password. */
async function guess(url: string, form: { readonly csrf: string; readonly cookie: string }): Promise<number> {
  const answer = await fetch(`${url}/account/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', Cookie: form.cookie },
    body: new URLSearchParams({ csrf: form.csrf, email: 'ann@example.com', password: 'not it' }).toString(),
  })
  await answer.text()
  return answer.status
}

test('guesses of a password at three nodes at once count together', async () => {
  await withNodes({ rateLimit: 'off' }, async ({ cluster }) => {
    const page = await fetch(`${cluster.url}/account/sign-in`)
    const cookie = /^portico_form=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? ''
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    assert.ok(cookie && csrf)
    const statuses = await Promise.all(times(30, at => guess(cluster.node(at).url, { csrf, cookie })))
    assert.deepEqual(
      [400, 429].map(status => statuses.filter(one => one === status).length),
      [10, 20],
    )
  })
})

/** What `/readyz` of every node says. */
async function states({ nodes }: NodeCluster): Promise<readonly string[]> {
  const answers = await Promise.all(nodes.map(({ url }) => call(`${url}/readyz`)))
  for (const { status } of answers) assert.equal(status, 200)
  return answers.map(({ json }) => String(json.status))
}

async function untilAll(cluster: NodeCluster, state: string): Promise<void> {
  const end = performance.now() + 30_000
  while ((await states(cluster)).some(one => one !== state)) {
    assert.ok(performance.now() < end, `not every node is ${state} after 30 s`)
    await wait(20)
  }
}

async function figure(url: string, name: string): Promise<number> {
  const { text } = await call(`${url}/metrics`)
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

interface Load {
  /** Titles of posts that were acknowledged. */
  readonly written: string[]
  readonly wrong: string[]
  slowest: number
  /** How many requests were answered. */
  answered: number
  stop(): Promise<void>
}

/** Reads and writes on all nodes, without a pause. */
function startLoad({ cluster, key }: NodesFixture): Load {
  let running = true
  const load: Load = { written: [], wrong: [], slowest: 0, answered: 0, stop: async () => {} }
  const one = async (at: number, count: number) => {
    const { url } = cluster.node(at)
    const title = `${at} ${count}`
    const start = performance.now()
    const isWrite = count % 3 === 0
    const body = { title, body: '' }
    const answer = await call(`${url}/api/v1/posts`, isWrite ? { method: 'POST', key, body } : { key })
    load.slowest = Math.max(load.slowest, performance.now() - start)
    load.answered++
    if (answer.status !== (isWrite ? 201 : 200)) load.wrong.push(`${answer.status} ${answer.text}`)
    else if (isWrite) load.written.push(title)
  }
  const lanes = times(6, async at => {
    for (let count = 0; running; count++) await one(at, count)
  })
  load.stop = async () => {
    running = false
    await Promise.all(lanes)
  }
  return load
}

async function goOn(load: Load, requests: number): Promise<void> {
  const before = load.answered
  await until(() => load.answered >= before + requests, 30_000)
}

/** Killed, started again, emptied, hanging: requests go on all the time. */
async function breakRedis({ cluster, redis }: NodesFixture, load: Load): Promise<void> {
  const [{ url = '' } = {}] = cluster.nodes
  await goOn(load, 50)
  await redis.kill()
  await untilAll(cluster, 'degraded')
  assert.equal(await figure(url, 'portico_redis_up'), 0)
  await goOn(load, 50)
  await redis.start()
  await untilAll(cluster, 'ok')
  assert.equal(await figure(url, 'portico_redis_up'), 1)
  const admin = new Redis(redis.url)
  await admin.flushall()
  await admin.quit()
  await goOn(load, 50)
  assert.deepEqual(new Set(await states(cluster)), new Set(['ok']))
  redis.pause()
  await untilAll(cluster, 'degraded')
  await goOn(load, 50)
  await wait(2500)
  redis.resume()
  await untilAll(cluster, 'ok')
  await goOn(load, 50)
}

test('Redis killed, started, emptied and hanging: no request fails, no event is lost or comes twice', async () => {
  const settings = { rateLimit: 1_000_000 }
  await withNodes(settings, async fixture => {
    const { cluster, redis, key } = fixture
    const heard = cluster.nodes.map(({ url }) => subscribe(url, key))
    try {
      await untilAllListen(cluster.url, key, heard)
      const load = startLoad(fixture)
      try {
        await breakRedis(fixture, load)
      } finally {
        redis.resume()
        await load.stop()
      }
      assert.deepEqual(load.wrong, [])
      // Who waited for Redis when it began to hang, waited for five seconds.
      assert.ok(load.slowest < 15_000, `${load.slowest} ms`)
      await until(() => heard.every(one => one.titles().length >= load.written.length), 20_000)
      const [first = []] = heard.map(one => one.titles())
      assert.deepEqual(first.toSorted(), load.written.toSorted())
      for (const one of heard) assert.deepEqual(one.titles(), first)
      for (const node of cluster.nodes) {
        const { url } = node
        // Lines are written in blocks.
        await until(() => node.log.match(/Redis is back/g)?.length === 2)
        assert.equal(node.log.match(/Redis is away/g)?.length, 2, node.log)
        assert.equal(await figure(url, 'portico_redis_losses_total'), 2)
        assert.ok((await figure(url, 'portico_local_draws_total')) > 0)
        assert.ok((await figure(url, 'portico_redis_wakes_received_total')) > 0)
      }
    } finally {
      for (const one of heard) one.end()
    }
  })
})

test('without Redis a user has the whole limit on each node, and no more', async () => {
  await withNodes({ rateLimit: 20 }, async ({ cluster, redis, key }) => {
    await redis.kill()
    await untilAll(cluster, 'degraded')
    await earlyInMinute()
    const answers = await Promise.all(times(90, at => call(`${cluster.node(at).url}/api/v1/posts`, { key })))
    assert.equal(answers.filter(({ status }) => status === 200).length, 60)
  })
})
