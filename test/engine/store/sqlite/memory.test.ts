/** Memory does not grow with the number of reads. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { system } from '../../../../src/base/principal.ts'
import type { ListShape } from '../../../../src/engine/plan/plan.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, fields, listOfPosts, withFile } from '../blog.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const rowCount = 100_000
const perPage = 100
const mebibyte = 1024 * 1024

/** The bytes of live objects, in the heap of this process and outside. */
function live(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function fill(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(
    `INSERT INTO users (name, email, role, created_at) VALUES ('Ann', 'ann@example.com', 'user', '2026-01-01T00:00:00.000Z');
     INSERT INTO posts (title, body, author_id, created_at)
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rowCount})
     SELECT 'title ' || n, 'what it says: ' || hex(zeroblob(50)), 1, '2026-01-01T00:00:00.000Z' FROM numbers`,
  )
  database.close()
}

const first: ListShape = {
  ...listOfPosts,
  window: { kind: 'cursor', after: undefined, limit: 0 },
  select: fields('id', 'title', 'body', 'created_at'),
}
const later: ListShape = { ...first, window: { kind: 'cursor', after: [1], limit: 0 } }

/** Reads all rows by cursor; calls `each` twenty times on the way. */
async function walk(client: Client, onPage: () => void): Promise<number> {
  let page = await client.list(first, [perPage])
  let met = page.items?.length ?? 0
  for (let pages = 1; page.next; pages++) {
    page = await client.list(later, [perPage, ...page.next])
    met += page.items?.length ?? 0
    if (pages % (rowCount / perPage / 20) === 0) {
      await turn()
      onPage()
    }
  }
  return met
}

async function withRows(cacheBytes: number, use: (client: Client) => Promise<void>): Promise<void> {
  await withFile(async file => {
    await openSqlite(blog, { file }).close()
    fill(file)
    const store = openSqlite(blog, { file, cacheBytes })
    try {
      await use(new Client(store))
    } finally {
      await store.close()
    }
  })
}

for (const cacheBytes of [0, 2 * mebibyte]) {
  test(`reading ${rowCount} rows by cursor with a cache of ${cacheBytes} bytes does not increase memory`, () =>
    withRows(cacheBytes, async client => {
      const samples: number[] = []
      assert.equal(await walk(client, () => samples.push(live())), rowCount)
      const early = samples[1] ?? 0
      const most = Math.max(...samples.slice(2))
      assert.ok(samples.length >= 19)
      assert.ok(most - early < 2 * mebibyte + cacheBytes, `${(most - early) / mebibyte} MiB more`)
    }))
}

test('memory for many different reads and deep pages stays within the bound', () =>
  withRows(4 * mebibyte, async client => {
    const item = { kind: 'item', collection: 'posts', id: 0, select: fields('id', 'title', 'body') } as const
    const readMany = async (from: number) => {
      for (let id = from; id < from + 30_000; id++) await client.read({ shape: item, args: [id] }, system)
      for (let n = 0; n < 1_000; n++) {
        const offset = (from + n * 7919) % rowCount
        await client.read({ shape: listOfPosts, args: [offset, 20] }, system)
      }
    }
    await readMany(1)
    const early = live()
    await readMany(30_001)
    await readMany(60_001)
    assert.ok(live() - early < 6 * mebibyte, `${(live() - early) / mebibyte} MiB more`)
  }))
