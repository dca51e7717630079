/** A full disk: writes are refused, reads work, and acknowledged writes exist when there is space again. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { user } from '../../../src/base/principal.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog, Client, withFile } from '../../engine/store/blog.ts'
import { type AcknowledgedTitles, assertIntact } from './acknowledged.ts'

const program = fileURLToPath(new URL('disk-filling-process.ts', import.meta.url))

interface Report {
  readonly id?: number
  readonly title?: string
  readonly refused?: string
  readonly read?: { readonly name: string }
}

function titlesIn(file: string): ReadonlySet<unknown> {
  const database = new DatabaseSync(file)
  try {
    return new Set(
      database
        .prepare('SELECT title FROM posts')
        .all()
        .map(row => row.title),
    )
  } finally {
    database.close()
  }
}

/** In blocks of 512 or 1,024 bytes, depending on the shell: the maximum size of a file. */
for (const limit of [2_000, 6_000]) {
  test(`with files limited to ${limit} blocks, writes are refused as UNAVAILABLE, none is lost or partial`, () =>
    withFile(async file => {
      const store = openSqlite(blog, { file })
      const { id: author } = await new Client(store).create('users', {
        name: 'Ann',
        email: 'ann@example.com',
      })
      await store.close()
      const script = `ulimit -f ${limit} && exec "$@"`
      const args = ['-c', script, 'sh', process.execPath, program, file, String(author)]
      const child = spawnSync('sh', args, { encoding: 'utf8' })
      assert.equal(child.status, 0, child.stderr)
      const printed = child.stdout
        .trimEnd()
        .split('\n')
        .map((line): Report => JSON.parse(line))
      const acknowledged: AcknowledgedTitles = new Map(
        printed.flatMap(({ id, title }) => (id === undefined || title === undefined ? [] : [[id, [title]]])),
      )
      const refused = printed.filter(line => line.refused !== undefined)
      assert.ok(acknowledged.size > 0)
      assert.ok(refused.length > 0)
      assert.deepEqual([...new Set(refused.map(line => line.refused))], ['UNAVAILABLE'])
      assert.equal(printed.at(-1)?.read?.name, 'Ann')
      const again = openSqlite(blog, { file })
      const as = user(author, 'user', 'all')
      const { id } = await new Client(again).create('posts', { title: 'space again' }, as)
      await again.close()
      assertIntact(file, acknowledged.set(id, ['space again']))
      const stored = titlesIn(file)
      assert.deepEqual(
        refused.filter(({ title }) => stored.has(title)),
        [],
      )
    }))
}
