/** What one process has been told is stored, every other process sees. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openSqlite } from '../../../src/store/sqlite.ts'
import { blog, Client, withFile } from '../blog.ts'

const program = fileURLToPath(new URL('other-process.ts', import.meta.url))
const TURNS = 200

async function ask(child: ChildProcess, id: number, title: string | null): Promise<unknown> {
  const answer = once(child, 'message')
  child.send({ id, title })
  return (await answer)[0]
}

test('three processes in turn: no remembered answer outlives another process’s write', async () => {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const author = await client.create('users', { name: 'x', email: 'x@example.com' })
    const { id } = await client.create('posts', { title: '0', author_id: author.id })
    const children = [fork(program, [file]), fork(program, [file])]
    await Promise.all(children.map(child => once(child, 'message')))
    const [left, right] = children
    assert.ok(left && right)
    for (let turn = 1; turn <= TURNS; turn++) {
      const writer = [left, right, undefined][turn % 3]
      if (writer) await ask(writer, id, `${turn}`)
      else await client.update('posts', id, { title: `${turn}` })
      assert.equal(await ask(left, id, null), `${turn}`)
      assert.equal(await ask(right, id, null), `${turn}`)
      assert.equal(((await client.item('posts', id)) as { title: string }).title, `${turn}`)
    }
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(
      children.map(child => (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : 0)),
    )
    await store.close()
  })
})
