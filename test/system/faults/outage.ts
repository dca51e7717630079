/** Three nodes on a PostgreSQL server of their own, with writers that continue through its faults. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { client } from '../../api/transports/service.ts'
import { query } from '../../setups/databases/postgres.ts'
import { PostgresServer } from '../../setups/databases/postgres-server.ts'
import { RedisServer } from '../../setups/databases/redis.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type NodeCluster, startCluster } from '../nodes/cluster.ts'

const writerCount = 8
const progressTimeoutMs = 120_000

/** A proxy between the nodes and the database, whose connections a test can cut. */
export class DatabaseProxy {
  readonly #clients = new Set<Socket>()
  #isHeld = false
  readonly #server: Server

  private constructor(path: string) {
    this.#server = createServer(client => {
      const database = connect(path)
      const end = () => {
        client.destroy()
        database.destroy()
      }
      this.#clients.add(client)
      client.on('close', () => this.#clients.delete(client))
      for (const socket of [client, database]) socket.on('error', end).on('close', end)
      client.pipe(database)
      database.pipe(client)
      if (this.#isHeld) client.pause()
    })
  }

  static async open(path: string): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(path)
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Resets every connection of a node, whatever its state. */
  cut(): void {
    for (const socket of this.#clients) socket.resetAndDestroy()
  }

  /** Silently drops everything that nodes send. */
  hold(): void {
    this.#isHeld = true
    for (const socket of this.#clients) socket.pause()
  }

  release(): void {
    this.#isHeld = false
    for (const socket of this.#clients) socket.resume()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

export interface Outage {
  readonly cluster: NodeCluster
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  readonly proxy: DatabaseProxy
  readonly key: string
}

export async function withOutage(use: (outage: Outage) => Promise<void>): Promise<void> {
  const closers: (() => Promise<void>)[] = []
  try {
    const postgres = new PostgresServer()
    closers.push(() => postgres.remove())
    await postgres.start()
    const redis = await RedisServer.start()
    closers.push(() => redis.remove())
    const proxy = await DatabaseProxy.open(postgres.socket)
    closers.push(() => proxy.close())
    const key = generateKey()
    const cluster = await startCluster({
      settings: {
        database: `postgres://portico@127.0.0.1:${proxy.port}/postgres`,
        databaseConnections: 4,
        redis: { url: redis.url },
        secretKeys: [secretKey],
        rateLimit: 'off',
      },
      environment: { PORTICO_ADMIN_API_KEY: key },
    })
    closers.push(() => cluster.close())
    await use({ cluster, postgres, redis, proxy, key })
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

/** Writers that record the result of each write. */
export class Writers {
  readonly #outage: Outage
  readonly #name: string
  #running = true
  readonly #lanes: Promise<void>[]
  /** The acknowledged id, by title. */
  readonly acknowledged = new Map<string, number>()
  /** How often each status occurred; 0: no response. */
  readonly statuses = new Map<number, number>()
  /** The time of the slowest response. */
  slowestMs = 0

  constructor(outage: Outage, name: string) {
    this.#outage = outage
    this.#name = name
    this.#lanes = Array.from({ length: writerCount }, (_, lane) => this.#write(lane))
  }

  async #write(lane: number): Promise<void> {
    const { cluster, key } = this.#outage
    for (let count = 0; this.#running; count++) {
      const title = `${this.#name} ${lane} ${count}`
      const { status, id } = await post(cluster.node(lane + count).url, key, title, this)
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      if (status === 201) this.acknowledged.set(title, id)
      else await wait(10)
    }
  }

  /** Waits for `count` more acknowledged writes. */
  async untilAcknowledged(more: number): Promise<void> {
    const goal = this.acknowledged.size + more
    const end = Date.now() + progressTimeoutMs
    while (this.acknowledged.size < goal) {
      assert.ok(Date.now() < end, `only ${this.acknowledged.size} of ${goal}: ${this.summary()}`)
      await wait(10)
    }
  }

  summary(): string {
    return JSON.stringify([...this.statuses])
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#lanes)
  }

  /** The titles of the stored posts, by event. */
  async storedTitles(): Promise<readonly string[]> {
    const rows = await query(
      this.#outage.postgres.url,
      `SELECT title FROM posts JOIN _events ON collection = 'posts' AND kind = 'created' AND item_id = posts.id
       WHERE title LIKE $1 ORDER BY _events.id`,
      [`${this.#name} %`],
    )
    return rows.map(({ title }) => String(title))
  }

  /** Every acknowledged write exists once, no write was repeated, and each has its event. */
  async assertNothingLost(): Promise<void> {
    const { url } = this.#outage.postgres
    const rows = await query(url, 'SELECT id, title FROM posts WHERE title LIKE $1', [`${this.#name} %`])
    const stored = new Map(rows.map(({ id, title }) => [String(title), Number(id)]))
    assert.equal(stored.size, rows.length, 'a write was repeated')
    for (const [title, id] of this.acknowledged) assert.equal(stored.get(title), id, `${title} is lost`)
    const events = await query(
      url,
      `SELECT item_id, count(*)::int AS n FROM _events WHERE collection = 'posts' AND item_id = ANY ($1) GROUP BY 1`,
      [[...stored.values()]],
    )
    assert.equal(events.length, stored.size)
    assert.ok(events.every(({ n }) => n === 1))
  }
}

async function post(url: string, key: string, title: string, writers: { slowestMs: number }) {
  const since = performance.now()
  try {
    const answer = await fetch(`${url}/api/v1/posts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ title }),
    })
    const text = await answer.text()
    return { status: answer.status, id: answer.status === 201 ? Number(JSON.parse(text).id) : 0 }
  } catch {
    return { status: 0, id: 0 }
  } finally {
    writers.slowestMs = Math.max(writers.slowestMs, performance.now() - since)
  }
}

/** Subscribes on one node; the titles of the posts in its events, in order. */
export function subscribeToPosts(
  { cluster, key }: Outage,
  node: number,
): { readonly titles: string[]; end(): void } {
  const titles: string[] = []
  const socket = client(cluster.node(node).socketUrl, { Authorization: `Bearer ${key}` })
  const stop = socket.subscribe<{ newPost: { title: string } }>(
    { query: 'subscription { newPost { title } }' },
    {
      next: ({ data, errors }) => titles.push(data?.newPost.title ?? JSON.stringify(errors)),
      error: fault => titles.push(`ended by ${JSON.stringify(fault)}`),
      complete: () => titles.push('ended'),
    },
  )
  return {
    titles,
    end() {
      stop()
      void socket.dispose()
    },
  }
}
