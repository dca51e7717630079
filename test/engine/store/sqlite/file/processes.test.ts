/** A write acknowledged by one process is visible to all others. */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { system, user } from '../../../../../src/base/principal.ts'
import { totalOrder } from '../../../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../../../src/engine/plan/plan.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, listOfPosts, withFile } from '../../blog.ts'

const program = fileURLToPath(new URL('other-process.ts', import.meta.url))
const turns = 200

async function requestWrite(child: ChildProcess, id: number, title: string | null): Promise<unknown> {
  const answer = once(child, 'message')
  child.send({ id, title })
  return (await answer)[0]
}

test('while two processes write, a read is never older than the writes acknowledged before it', async t => {
  await withFile(async file => {
    const store = openSqlite(blog, { file, readers: { count: 2, timeoutMs: 60_000, budgetMs: 0 } })
    const client = new Client(store, blog, user(1, 'admin', 'all'))
    const author = await client.create('users', { name: 'x', email: 'x@example.com' }, system)
    const rows = Array.from({ length: 700 }, (_, n) =>
      client.create('posts', { title: `${n}`, author_id: author.id }),
    )
    const [first] = await Promise.all(rows)
    const id = first?.id ?? 0
    const child = fork(program, [file])
    t.after(() => child.kill('SIGKILL'))
    await once(child, 'message')
    const byBody: ListShape = { ...listOfPosts, sort: totalOrder([{ field: 'body', descending: false }]) }
    const pooledReads = () => store.slowReads?.().done ?? 0
    let acknowledged = 0
    let isOver = false
    const read = async (shape: ListShape, offset: number): Promise<void> => {
      while (!isOver) {
        await turnOfTheLoop()
        const before = acknowledged
        await store.refresh()
        const { items } = await client.list(shape, [offset, 1])
        const title = Number(items?.[0]?.title)
        assert.ok(title >= before, `${title} after ${before}`)
        assert.ok(title <= acknowledged + 1)
      }
    }
    // Starts the reader processes before the turns begin.
    await Promise.all([0, 1].map(offset => client.list(byBody, [offset, 1])))
    const reads = [read(byBody, 0), read(byBody, 0), read({ ...listOfPosts, within: undefined }, 0)]
    for (let turn = 1; turn <= turns || pooledReads() <= turns / 10; turn++) {
      if (turn % 2 === 0) await requestWrite(child, id, `${turn}`)
      else await client.update('posts', id, { title: `${turn}` })
      acknowledged = turn
    }
    isOver = true
    await Promise.all(reads)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await store.close()
  })
})

test('a cached answer does not outlive a write of another of three processes', async () => {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const author = await client.create('users', { name: 'x', email: 'x@example.com' })
    const { id } = await client.create('posts', { title: '0', author_id: author.id })
    const children = [fork(program, [file]), fork(program, [file])]
    await Promise.all(children.map(child => once(child, 'message')))
    const [left, right] = children
    assert.ok(left && right)
    for (let turn = 1; turn <= turns; turn++) {
      const writer = [left, right, undefined][turn % 3]
      if (writer) await requestWrite(writer, id, `${turn}`)
      else await client.update('posts', id, { title: `${turn}` })
      assert.equal(await requestWrite(left, id, null), `${turn}`)
      assert.equal(await requestWrite(right, id, null), `${turn}`)
      assert.equal(((await client.item('posts', id)) as { title: string }).title, `${turn}`)
    }
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(
      children.map(child => (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : 0)),
    )
    await store.close()
  })
})
