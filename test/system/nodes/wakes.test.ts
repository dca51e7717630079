/** Two nodes with Redis: a commit wakes the other node once, and that node sends no wake-up in return. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'
import { call } from '../../server/serve/service.ts'
import { newDatabase } from '../../setups/databases/postgres.ts'
import { RedisServer } from '../../setups/databases/redis.ts'

interface Backend {
  readonly settings: GivenSettings
  remove(): Promise<void>
}

const backends: Readonly<Record<string, () => Promise<Backend>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'portico-wakes-'))
    return {
      settings: { database: join(folder, 'test.db') },
      remove: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
  async PostgreSQL() {
    const { url, drop } = await newDatabase()
    const secretKeys = ['a-key-that-both-nodes-of-the-test-share']
    return { settings: { database: url, databaseConnections: 4, secretKeys }, remove: drop }
  },
}

interface Wakes {
  readonly sent: number
  readonly received: number
}

async function wakesOf(url: string, key: string): Promise<Wakes> {
  const { text } = await call(`${url}/metrics`, { key })
  const metric = (name: string): number => {
    const [, value] =
      new RegExp(`^portico_redis_notifications_${name}_total(?:\\{.*\\})? (\\d+)$`, 'm').exec(text) ?? []
    assert.ok(value !== undefined, text)
    return Number(value)
  }
  return { sent: metric('sent'), received: metric('received') }
}

/** Waits until a node has received this many wake-ups. */
async function untilReceived(url: string, key: string, wakes: number): Promise<void> {
  const end = performance.now() + 120_000
  while ((await wakesOf(url, key)).received < wakes) {
    assert.ok(performance.now() < end, `fewer than ${wakes} wake-ups after 20 s`)
    await wait(20)
  }
}

async function withNodes(
  open: () => Promise<Backend>,
  use: (urls: readonly [string, string], key: string) => Promise<void>,
): Promise<void> {
  const key = generateKey()
  const redis = await RedisServer.start()
  const backend = await open()
  const settings = {
    port: 0,
    host: '127.0.0.1',
    logLevel: 'silent',
    adminApiKey: key,
    redis: { url: redis.url, timeout: '5 s' },
    ...backend.settings,
  } as const
  const writer = await serve(blog, settings)
  const otherService = await serve(blog, settings)
  try {
    await use([writer.url, otherService.url], key)
  } finally {
    await Promise.all([writer.close(), otherService.close()])
    await backend.remove()
    await redis.remove()
  }
}

for (const [name, open] of Object.entries(backends)) {
  test(`${name}: a node that is woken does not wake other nodes`, async () => {
    await withNodes(open, async ([writer, other], key) => {
      const before = { writer: await wakesOf(writer, key), other: await wakesOf(other, key) }
      for (let count = 1; count <= 3; count++) {
        const { status } = await call(`${writer}/api/v1/posts`, {
          method: 'POST',
          key,
          body: { title: `${count}`, body: 'of one node' },
        })
        assert.equal(status, 201)
        await untilReceived(other, key, before.other.received + count)
        // Time for an echo to arrive.
        await wait(100)
      }
      const after = { writer: await wakesOf(writer, key), other: await wakesOf(other, key) }
      assert.equal(after.writer.sent - before.writer.sent, 3)
      assert.equal(after.other.sent - before.other.sent, 0, 'the other node has committed nothing')
      assert.equal(after.writer.received - before.writer.received, 0)
    })
  })
}
