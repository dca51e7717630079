/** Three nodes with Redis: shared counters, and operation without Redis. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { until } from '../../api/transports/service.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { call } from '../../server/serve/service.ts'
import type { NodeCluster } from './cluster.ts'
import { type NodesFixture, times, withNodesFixture } from './fixture.ts'
import { subscribe, untilAllListen } from './subscribers.ts'

const withNodes = (settings: GivenSettings, use: (fixture: NodesFixture) => Promise<void>) =>
  withNodesFixture(3, settings, use)

test('the limit of a user is exact across three nodes, and every node reports the remaining budget', async () => {
  await withNodes({ rateLimit: 300 }, async ({ cluster, key }) => {
    await earlyInMinute(15)
    const read = (index: number) => call(`${cluster.node(index).url}/api/v1/posts`, { key })
    const answers = await Promise.all(times(900, read))
    const granted = answers.filter(({ status }) => status === 200)
    assert.equal(granted.length, 300)
    assert.equal(answers.filter(({ status }) => status === 429).length, 600)
    const remaining = granted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    assert.deepEqual(
      remaining.sort((a, b) => b - a),
      times(300, index => 299 - index),
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

test('password guesses at three nodes share one limit', async () => {
  await withNodes({ rateLimit: 'off' }, async ({ cluster }) => {
    const page = await fetch(`${cluster.url}/account/sign-in`)
    const cookie = /^portico_form=[^;]+/.exec(page.headers.get('set-cookie') ?? '')?.[0] ?? ''
    const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    assert.ok(cookie && csrf)
    const statuses = await Promise.all(times(30, index => guess(cluster.node(index).url, { csrf, cookie })))
    assert.deepEqual(
      [400, 429].map(status => statuses.filter(other => other === status).length),
      [10, 20],
    )
  })
})

/** The status in `/readyz` of every node. */
async function states({ nodes }: NodeCluster): Promise<readonly string[]> {
  const answers = await Promise.all(nodes.map(({ url }) => call(`${url}/readyz`)))
  for (const { status } of answers) assert.equal(status, 200)
  return answers.map(({ json }) => String(json.status))
}

async function untilAll(cluster: NodeCluster, state: string): Promise<void> {
  const end = performance.now() + 120_000
  while ((await states(cluster)).some(other => other !== state)) {
    assert.ok(performance.now() < end, `not every node is ${state} after 30 s`)
    await wait(20)
  }
}

async function metric(url: string, name: string): Promise<number> {
  const { text } = await call(`${url}/metrics`)
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

interface Load {
  /** The titles of acknowledged posts. */
  readonly written: string[]
  readonly wrong: string[]
  slowest: number
  /** The number of answered requests. */
  answeredCount: number
  stop(): Promise<void>
}

/** Reads and writes on all nodes, without a pause. */
function startLoad({ cluster, key }: NodesFixture): Load {
  let running = true
  const load: Load = { written: [], wrong: [], slowest: 0, answeredCount: 0, stop: async () => {} }
  const sendOne = async (index: number, count: number) => {
    const { url } = cluster.node(index)
    const title = `${index} ${count}`
    const start = performance.now()
    const isWrite = count % 3 === 0
    const body = { title, body: '' }
    const answer = await call(`${url}/api/v1/posts`, isWrite ? { method: 'POST', key, body } : { key })
    load.slowest = Math.max(load.slowest, performance.now() - start)
    load.answeredCount++
    if (answer.status !== (isWrite ? 201 : 200)) load.wrong.push(`${answer.status} ${answer.text}`)
    else if (isWrite) load.written.push(title)
  }
  const loops = times(6, async index => {
    for (let count = 0; running; count++) await sendOne(index, count)
  })
  load.stop = async () => {
    running = false
    await Promise.all(loops)
  }
  return load
}

async function untilAnswered(load: Load, requests: number): Promise<void> {
  const before = load.answeredCount
  await until(() => load.answeredCount >= before + requests, 30_000)
}

/** Kills, restarts, empties and pauses Redis, while requests continue. */
async function breakRedis({ cluster, redis }: NodesFixture, load: Load): Promise<void> {
  const [{ url = '' } = {}] = cluster.nodes
  await untilAnswered(load, 50)
  await redis.kill()
  await untilAll(cluster, 'degraded')
  assert.equal(await metric(url, 'portico_redis_up'), 0)
  await untilAnswered(load, 50)
  await redis.start()
  await untilAll(cluster, 'ok')
  assert.equal(await metric(url, 'portico_redis_up'), 1)
  const admin = new Redis(redis.url)
  await admin.flushall()
  await admin.quit()
  await untilAnswered(load, 50)
  assert.deepEqual(new Set(await states(cluster)), new Set(['ok']))
  redis.pause()
  await untilAll(cluster, 'degraded')
  await untilAnswered(load, 50)
  await wait(2500)
  redis.resume()
  await untilAll(cluster, 'ok')
  await untilAnswered(load, 50)
}

test('no request fails and no event is lost or duplicated while Redis is killed, restarted, emptied and paused', async () => {
  const settings = { rateLimit: 1_000_000 }
  await withNodes(settings, async fixture => {
    const { cluster, redis, key } = fixture
    const subscribers = cluster.nodes.map(({ url }) => subscribe(url, key))
    try {
      await untilAllListen(cluster.url, key, subscribers)
      const load = startLoad(fixture)
      try {
        await breakRedis(fixture, load)
      } finally {
        redis.resume()
        await load.stop()
      }
      assert.deepEqual(load.wrong, [])
      // Requests in flight when Redis began to hang waited for five seconds.
      assert.ok(load.slowest < 15_000, `${load.slowest} ms`)
      await until(
        () => subscribers.every(subscriber => subscriber.titles().length >= load.written.length),
        20_000,
      )
      const [first = []] = subscribers.map(subscriber => subscriber.titles())
      assert.deepEqual(first.toSorted(), load.written.toSorted())
      for (const subscriber of subscribers) assert.deepEqual(subscriber.titles(), first)
      for (const node of cluster.nodes) {
        const { url } = node
        // The log is written in blocks.
        await until(() => node.log.match(/Redis is available again/g)?.length === 2)
        assert.equal(node.log.match(/Redis is unavailable/g)?.length, 2, node.log)
        assert.equal(await metric(url, 'portico_redis_disconnections_total'), 2)
        assert.ok((await metric(url, 'portico_rate_limit_local_checks_total')) > 0)
        assert.ok((await metric(url, 'portico_redis_notifications_received_total')) > 0)
      }
    } finally {
      for (const subscriber of subscribers) subscriber.end()
    }
  })
})

test('without Redis a user has the full limit on each node', async () => {
  await withNodes({ rateLimit: 20 }, async ({ cluster, redis, key }) => {
    await redis.kill()
    await untilAll(cluster, 'degraded')
    await earlyInMinute()
    const answers = await Promise.all(
      times(90, index => call(`${cluster.node(index).url}/api/v1/posts`, { key })),
    )
    assert.equal(answers.filter(({ status }) => status === 200).length, 60)
  })
})
