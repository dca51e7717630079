/** Commits of another thread or process while this one holds a snapshot. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { open, read } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { system } from '../../../../../src/base/principal.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { ItemShape } from '../../../../../src/engine/plan/plan.ts'
import { openSqlite, type SqliteStore } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, fields, withFile } from '../../blog.ts'
import { threadsIn } from './other-threads.ts'

interface Fixture {
  readonly store: SqliteStore
  /** The title, read synchronously. */
  title(): string
  /** Makes the other thread commit a change, and blocks this thread until then. */
  changeElsewhere(title: string): void
}

async function withOtherThread(
  sharesMemory: boolean,
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  await withFile(async file => {
    const [signal, commits] = [
      new Int32Array(new SharedArrayBuffer(4)),
      new Int32Array(new SharedArrayBuffer(4)),
    ]
    const store = openSqlite(blog, { file, otherThreads: sharesMemory ? threadsIn(commits) : undefined })
    const client = new Client(store)
    const author = await client.create('users', { name: 'x', email: 'x@example.com' })
    const { id } = await client.create('posts', { title: 'first', author_id: author.id })
    const workerData = { file, signal, commits, sharesMemory }
    const thread = new Worker(new URL('other-thread.ts', import.meta.url), { workerData })
    await once(thread, 'message')
    const shape: ItemShape = { kind: 'item', collection: 'posts', id: 0, select: fields('title') }
    const plan = createGuard(blog)({ shape, args: [id] }, system)
    const title = () => {
      const answer = store.read(plan)
      if (answer instanceof Promise) return assert.fail('reads by key are synchronous')
      return String(JSON.parse(answer.text ?? '{}').title)
    }
    const changeElsewhere = (next: string) => {
      const before = Atomics.load(signal, 0)
      thread.postMessage({ id, title: next })
      assert.equal(Atomics.wait(signal, 0, before, 10_000), 'ok')
    }
    try {
      await use({ store, title, changeElsewhere })
    } finally {
      await thread.terminate()
      await store.close()
    }
  })
}

test('a commit of another thread ends the snapshot at once, even within a turn of the event loop', async () => {
  await withOtherThread(true, async ({ title, changeElsewhere }) => {
    assert.equal(title(), 'first')
    changeElsewhere('second')
    assert.equal(title(), 'second')
  })
})

test('a commit of another thread increases the version of the collection', async () => {
  await withOtherThread(true, async ({ store, changeElsewhere }) => {
    const before = store.version('posts')
    changeElsewhere('second')
    assert.ok(store.version('posts') > before)
  })
})

for (const [name, begin] of [
  ['an earlier read', () => {}],
  ['a queued request', (store: SqliteStore) => void store.refresh()],
] as const) {
  test(`a request is not answered from the older snapshot of ${name}`, async () => {
    await withOtherThread(false, async ({ store, title, changeElsewhere }) => {
      const file = await promisify(open)(import.meta.filename, 'r')
      const buffer = Buffer.alloc(1)
      await new Promise<void>((resolve, reject) => {
        // A snapshot of this phase of the event loop lasts into the next one, in which requests are read.
        setImmediate(() => {
          begin(store)
          assert.equal(title(), 'first')
          read(file, buffer, 0, 1, 0, () => {
            try {
              store.refresh()
              assert.equal(title(), 'second')
              resolve()
            } catch (error) {
              reject(error)
            }
          })
          changeElsewhere('second')
        })
      })
    })
  })
}

test('requests that are read in the same turn of the event loop share one snapshot', async () => {
  await withOtherThread(false, async ({ store, title, changeElsewhere }) => {
    store.refresh()
    assert.equal(title(), 'first')
    changeElsewhere('second')
    store.refresh()
    assert.equal(title(), 'first')
  })
})
