import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { BackupError, backUp, restore } from '../../../../../src/engine/store/sqlite/file/backup.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import { backupText, restoreText } from '../../../../../src/tools/cli/commands/backup.ts'
import { ordinaryUser } from '../../../../setups/databases/programs.ts'
import { type AcknowledgedTitles, assertIntact } from '../../../../system/faults/acknowledged.ts'
import { blog, Client, withFile } from '../../blog.ts'

interface FilledDatabase {
  readonly file: string
  readonly copy: string
  readonly client: Client
  readonly write: (title: string) => Promise<number>
  readonly close: () => Promise<void>
}

async function withBlog(use: (filled: FilledDatabase) => Promise<void>): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(blog, { file })
    const client = new Client(store)
    const { id: author } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
    const as = user(author, 'user', 'all')
    const write = async (title: string) =>
      (await client.create('posts', { title, body: 'x'.repeat(2000) }, as)).id
    const copy = join(dirname(file), 'copy.db')
    try {
      await use({ file, copy, client, write, close: () => store.close() })
    } finally {
      await store.close()
    }
  })
}

const titles = (file: string): unknown[] => {
  const database = new DatabaseSync(file)
  try {
    return database
      .prepare('SELECT title FROM posts ORDER BY id')
      .all()
      .map(row => row.title)
  } finally {
    database.close()
  }
}

const assertRefused = (work: Promise<unknown>, message: RegExp) =>
  assert.rejects(work, error => error instanceof BackupError && message.test(error.message))

describe('a backup', () => {
  it('taken during writes contains a single snapshot', () =>
    withBlog(async ({ file, copy, write }) => {
      const before: AcknowledgedTitles = new Map()
      for (let index = 0; index < 400; index++)
        before.set(await write(`before ${index}`), [`before ${index}`])
      let writing = true
      let during = 0
      const writer = (async () => {
        while (writing) await write(`during ${during++}`)
      })()
      const bytes = await backUp({ from: file, to: copy, overwrite: false })
      writing = false
      await writer
      assert.ok(during > 0)
      assert.equal(statSync(copy).size, bytes)
      assertIntact(copy, before)
      const copiedTitles = titles(copy)
      const numbers = copiedTitles.slice(400).map(title => Number(String(title).replace('during ', '')))
      assert.deepEqual(
        numbers,
        numbers.map((_, index) => index),
      )
    }))

  it('completes even if another process writes at every step', () =>
    withBlog(async ({ file, copy, write }) => {
      await Promise.all(Array.from({ length: 6000 }, () => write('a')))
      const other = new DatabaseSync(file, { timeout: 5000 })
      let changes = 0
      // Before each step another connection changes the database: without a snapshot, the copy would restart.
      const onProgress = (pages: number, all: number) => {
        changes++
        assert.ok(pages <= all)
        other.exec(`UPDATE posts SET title = 'changed ${changes}' WHERE id = 1`)
        assert.ok(changes < 50, 'the copy restarts at every step')
      }
      await backUp({ from: file, to: copy, overwrite: false, onProgress })
      other.close()
      assert.ok(changes > 1)
      assert.equal(titles(copy)[0], 'a')
    }))

  it('is a single file that only its owner can read', () =>
    withBlog(async ({ file, copy, write }) => {
      await write('one')
      await backUp({ from: file, to: copy, overwrite: false })
      assert.equal(statSync(copy).mode & 0o777, 0o600)
      const others = readdirSync(dirname(copy)).filter(name => !name.startsWith('data.db'))
      assert.deepEqual(others, ['copy.db'])
    }))

  it('replaces an existing file only with --overwrite', () =>
    withBlog(async ({ file, copy, write }) => {
      await write('one')
      writeFileSync(copy, 'precious')
      await assertRefused(backUp({ from: file, to: copy, overwrite: false }), /--overwrite/)
      assert.equal(readFileSync(copy, 'utf8'), 'precious')
      await backUp({ from: file, to: copy, overwrite: true })
      assert.deepEqual(titles(copy), ['one'])
    }))

  it('is refused if the target is the database or a folder, or if a path does not exist', () =>
    withBlog(async ({ file, copy }) => {
      const overwrite = true
      await assertRefused(backUp({ from: file, to: file, overwrite }), /another file/)
      mkdirSync(copy)
      await assertRefused(backUp({ from: file, to: copy, overwrite }), /not a file/)
      await assertRefused(backUp({ from: file, to: join(copy, 'none', 'a.db'), overwrite }), /no folder/)
      await assertRefused(backUp({ from: `${file}.none`, to: join(copy, 'a.db'), overwrite }), /no database/)
    }))

  it('of a damaged database is refused and leaves no file', () =>
    withBlog(async ({ file, copy, write, close }) => {
      for (let index = 0; index < 100; index++) await write(`post ${index}`)
      await close()
      const bytes = readFileSync(file)
      bytes.fill(0x55, 40_960, bytes.length - 4096)
      writeFileSync(file, bytes)
      await assertRefused(backUp({ from: file, to: copy, overwrite: false }), /damaged|malformed|sound/)
      assert.deepEqual(
        readdirSync(dirname(copy)).filter(name => name.startsWith('copy')),
        [],
      )
    }))

  it('of PostgreSQL is refused with a reference to its own tools', async () => {
    const settings = { database: 'postgres://name:secret@host/blog' }
    await assert.rejects(backupText(settings, 'a.db', false), /pg_dump/)
    await assert.rejects(restoreText(settings, 'a.db', false), /pg_restore/)
  })
})

describe('a restore', () => {
  it('replaces the database with the contents of the backup', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('kept')
      await backUp({ from: file, to: copy, overwrite: false })
      await write('lost')
      await close()
      await restore({ from: copy, to: file, overwrite: true })
      const again = openSqlite(blog, { file })
      const { id } = await new Client(again).create('posts', { title: 'new' }, user(1, 'user', 'all'))
      await again.close()
      assert.deepEqual(titles(file), ['kept', 'new'])
      assertIntact(file, new Map([[id, ['new']]]))
    }))

  it('does not apply the WAL of the replaced database', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('kept')
      await backUp({ from: file, to: copy, overwrite: false })
      for (let index = 0; index < 50; index++) await write(`lost ${index}`)
      const log = readFileSync(`${file}-wal`)
      await close()
      writeFileSync(`${file}-wal`, log)
      await restore({ from: copy, to: file, overwrite: true })
      assert.ok(!existsSync(`${file}-wal`))
      assert.deepEqual(titles(file), ['kept'])
    }))

  it('is refused while the database is in use, and without --overwrite', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('one')
      await backUp({ from: file, to: copy, overwrite: false })
      await write('two')
      await assertRefused(restore({ from: copy, to: file, overwrite: false }), /--overwrite/)
      await assertRefused(restore({ from: copy, to: file, overwrite: true }), /stop the service/)
      await write('three')
      await close()
      assert.deepEqual(titles(file), ['one', 'two', 'three'])
    }))

  it('creates a file that only the owner of its folder can access, whatever the permissions of the backup', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('one')
      await backUp({ from: file, to: copy, overwrite: false })
      await close()
      const folder = dirname(file)
      const { uid, gid } = ordinaryUser() ?? statSync(folder)
      chownSync(folder, uid, gid)
      for (const rights of [0o400, 0o644]) {
        chmodSync(copy, rights)
        await restore({ from: copy, to: file, overwrite: true })
        const restored = statSync(file)
        assert.deepEqual([restored.uid, restored.gid, restored.mode & 0o777], [uid, gid, 0o600])
      }
    }))

  it('can replace a damaged database', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('one')
      await backUp({ from: file, to: copy, overwrite: false })
      await close()
      writeFileSync(file, 'this is no database, and longer than a header of one would be'.repeat(100))
      await restore({ from: copy, to: file, overwrite: true })
      assert.deepEqual(titles(file), ['one'])
    }))

  it('is refused for a file that is not a backup', () =>
    withBlog(async ({ file, copy, write, close }) => {
      await write('one')
      await close()
      writeFileSync(copy, 'nothing of the kind'.repeat(1000))
      await assertRefused(restore({ from: copy, to: file, overwrite: true }), /not a valid database/)
      writeFileSync(copy, '')
      await assertRefused(restore({ from: copy, to: file, overwrite: true }), /Portico/)
      assert.deepEqual(titles(file), ['one'])
    }))
})
