/**
 * Every request is sent many times concurrently, to nodes that are killed (`kill -9`) and restarted: each has exactly
 * one effect, and all of its responses are equal. `PORTICO_IDEMPOTENCY=release` sends 1,000 keys 20 times each.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { type NodeCluster, startCluster } from '../../system/nodes/cluster.ts'

const sizes = {
  test: { keys: 48, sends: 10, kills: 4 },
  release: { keys: 1000, sends: 20, kills: 50 },
} as const
const { keys, sends, kills } = sizes[process.env.PORTICO_IDEMPOTENCY === 'release' ? 'release' : 'test']
/** The number of keys in flight. */
const atOnce = 8

interface Write {
  readonly path: string
  readonly body: unknown
  /** The titles of the posts that it creates. */
  readonly titles: readonly string[]
}

type MakeWrite = (marker: string) => Write

function createPost(alias: string, title: string): string {
  return `${alias}: createPost(title: "${title}", authorId: 1) { id title }`
}

const forms: readonly MakeWrite[] = [
  title => ({ path: '/api/v1/posts', body: { title }, titles: [title] }),
  marker => {
    const titles = [`${marker} a`, `${marker} b`, `${marker} c`]
    return { path: '/api/v1/posts', body: titles.map(title => ({ title })), titles }
  },
  marker => {
    const [first, second] = [`${marker} a`, `${marker} b`]
    const operations = [
      { method: 'POST', path: '/posts', body: { title: first }, as: 'one' },
      { method: 'PATCH', path: '/posts/$one.id', body: { body: 'changed' } },
      { method: 'POST', path: '/posts', body: { title: second } },
    ]
    return { path: '/api/v1/batch', body: { operations }, titles: [first, second] }
  },
  marker => {
    const [first, second] = [`${marker} a`, `${marker} b`]
    const query = `mutation { ${createPost('a', first)} ${createPost('b', second)} }`
    return { path: '/graphql', body: { query }, titles: [first, second] }
  },
]

class Load {
  readonly #cluster: NodeCluster
  readonly #key: string
  replays = 0
  retries = 0

  constructor(cluster: NodeCluster, key: string) {
    this.#cluster = cluster
    this.#key = key
  }

  /** Sends the write until it succeeds; returns the text of the response. */
  async send({ path, body }: Write, idempotencyKey: string): Promise<string> {
    for (;;) {
      const { url } = this.#cluster.node(randomInt(1000))
      const headers = {
        Authorization: `Bearer ${this.#key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': idempotencyKey,
      }
      const request = { method: 'POST', headers, body: JSON.stringify(body) }
      const answer = await fetch(`${url}${path}`, request)
        .then(async response => ({ response, text: await response.text() }))
        // The node was killed, or is still starting.
        .catch(() => undefined)
      const status = answer?.response.status ?? 503
      if (answer && status < 300) {
        assert.ok(!answer.text.includes('"errors"'), answer.text)
        if (answer.response.headers.get('Idempotent-Replayed') !== null) this.replays++
        return answer.text
      }
      assert.ok(status === 409 || status === 503, `${status} ${answer?.text}`)
      this.retries++
      await wait(50)
    }
  }

  /** The number of posts with each title. */
  async titles(): Promise<ReadonlyMap<string, number>> {
    const titles = new Map<string, number>()
    for (let cursor: string | null = ''; cursor !== null; ) {
      const url = `${this.#cluster.node(0).url}/api/v1/posts?per_page=100&fields=title&cursor=${cursor}`
      const { data, meta } = (await (await fetch(url)).json()) as {
        data: { title: string }[]
        meta: { next_cursor: string | null }
      }
      for (const { title } of data) titles.set(title, (titles.get(title) ?? 0) + 1)
      cursor = meta.next_cursor
    }
    return titles
  }
}

for (const setup of nodeSetups) {
  test(`${keys} keys, sent ${sends} times each during ${kills} kills, have one effect each, on ${setup.name}`, async context => {
    const deployment = await setup.open()
    await deployment.create()
    const key = generateKey()
    const cluster = await startCluster({
      settings: { rateLimit: 'off', ...deployment.settings },
      environment: { PORTICO_ADMIN_API_KEY: key },
    })
    try {
      const load = new Load(cluster, key)
      const expected: string[] = []
      const restarts: Promise<void>[] = []
      let next = 0
      const kill = async () => {
        // If all nodes were down at the same time, nothing would be tested.
        await restarts.at(-1)
        const node = cluster.node(randomInt(1000))
        await node.kill()
        await node.start()
      }
      const worker = async () => {
        for (let index = next++; index < keys; index = next++) {
          const write = forms[index % forms.length]?.(`${randomUUID()} ${index}`) ?? assert.fail()
          const idempotencyKey = randomUUID()
          const sent = Array.from({ length: sends }, () => load.send(write, idempotencyKey))
          if (index % Math.floor(keys / kills) === 0) restarts.push(kill())
          const answers = new Set(await Promise.all(sent))
          assert.equal(answers.size, 1, [...answers].join('\n'))
          expected.push(...write.titles)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      await Promise.all(restarts)
      const titles = await load.titles()
      assert.deepEqual(
        [...titles].filter(([, count]) => count !== 1),
        [],
      )
      assert.deepEqual([...titles.keys()].sort(), expected.sort())
      assert.ok(load.replays > 0)
      context.diagnostic(`${load.replays} replays, ${load.retries} sent again, ${restarts.length} kills`)
    } finally {
      await cluster.close()
      await deployment.close()
    }
  })
}
