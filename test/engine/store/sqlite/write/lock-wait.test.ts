/** While another process holds the write lock of the file: how long writes wait, and that reads continue. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, withFile } from '../../blog.ts'
import { failure } from '../../contract.ts'

const maxWaitMs = 1000

interface LockedDatabase {
  readonly client: Client
  readonly id: number
  unlock(): void
}

function withLocked(use: (locked: LockedDatabase) => Promise<void>): Promise<void> {
  return withFile(async file => {
    const store = openSqlite(blog, { file, busyTimeoutMs: maxWaitMs })
    const client = new Client(store)
    const { id } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
    const other = new DatabaseSync(file)
    other.exec('BEGIN IMMEDIATE')
    try {
      await use({ client, id, unlock: () => other.exec('ROLLBACK') })
    } finally {
      other.close()
      await store.close()
    }
  })
}

/** Milliseconds from `since` until the write is refused. */
async function timeRefusal(client: Client, id: number, since: number): Promise<number> {
  await assert.rejects(client.update('users', id, { name: `Ann ${since}` }), failure('UNAVAILABLE'))
  return performance.now() - since
}

test('each write waits for the lock up to its own limit, even if it arrives while others wait', () =>
  withLocked(async ({ client, id }) => {
    const start = performance.now()
    const first = timeRefusal(client, id, start)
    const later = wait(maxWaitMs / 5).then(() => timeRefusal(client, id, start + maxWaitMs / 5))
    for (const waited of await Promise.all([first, later])) {
      assert.ok(waited >= maxWaitMs * 0.9, `${waited} ms`)
      assert.ok(waited < maxWaitMs * 1.6, `${waited} ms`)
    }
  }))

test('reads are answered while a write waits for the lock', () =>
  withLocked(async ({ client, id }) => {
    let isWaiting = true
    const write = timeRefusal(client, id, performance.now()).then(() => {
      isWaiting = false
    })
    let reads = 0
    for (; isWaiting; reads++) {
      assert.deepEqual((await client.item('users', id)) as object, {
        ...((await client.item('users', id)) as object),
        name: 'Ann',
      })
      await wait(10)
    }
    await write
    assert.ok(reads >= 10, `${reads} reads`)
  }))

test('a waiting write is stored once the lock is released', () =>
  withLocked(async ({ client, id, unlock }) => {
    const writes = ['one', 'two'].map(name => client.create('users', { name, email: `${name}@example.com` }))
    await wait(maxWaitMs / 4)
    unlock()
    const stored = await Promise.all(writes)
    assert.deepEqual(
      stored.map(answer => answer.id),
      [id + 1, id + 2],
    )
  }))

test('close waits for the lock no longer than its writes may', () =>
  withLocked(async ({ client, id }) => {
    const start = performance.now()
    const write = timeRefusal(client, id, start)
    await wait(maxWaitMs / 2)
    await client.store.close()
    assert.ok(performance.now() - start < maxWaitMs * 1.6)
    await write
  }))
