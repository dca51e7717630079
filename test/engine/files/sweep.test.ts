/** What removes the objects that no item has, and which folder a database may use. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { ForeignFolder, openFolder } from '../../../src/engine/files/folder.ts'
import { sweep } from '../../../src/engine/files/sweep.ts'
import { deleteAccount } from '../../../src/identity/accounts/self-service/deletion.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { declared, type Files, openFiles, png, withFiles } from '../../api/rest/files/fixture.ts'
import { databaseKinds } from '../store/databases.ts'

const dayMs = 86_400_000

/** Sweeps as in some days. */
async function sweepIn({ service, folder }: Files, days: number, keepDeletedMs = 7 * dayMs): Promise<number> {
  const id = (await service.records.get('FileStore', 'database'))?.payload ?? ''
  const objects = await openFolder(folder, id)
  return sweep({ run: service.run, objects, keepDeletedMs, now: () => Date.now() + days * dayMs })
}

const countIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length - 1

for (const kind of databaseKinds) {
  test(`${kind.name}: unused uploads go after a day, deleted files after seven, live ones never`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, states, folder } = files
      const { upload } = await ok('POST /uploads', { as: ada, body: png })
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      await ok(`PUT /photos/${id}/note`, { as: ada, body: 'old' })
      const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'new' })
      assert.deepEqual(await states(), ['pending', 'deleted', 'live'])
      assert.equal(await sweepIn(files, 0.9), 0)
      assert.equal(await sweepIn(files, 1.1), 1)
      assert.deepEqual(await states(), ['deleted', 'live'])
      await ok(`PATCH /photos/${id}`, { as: ada, body: { image: { upload } } }, 400)
      assert.equal(await sweepIn(files, 6.9), 0)
      assert.equal(await sweepIn(files, 7.1), 1)
      assert.equal(await sweepIn(files, 4000), 0)
      assert.deepEqual([await states(), countIn(folder)], [['live'], 1])
      assert.equal(await (await send(`GET ${note.url}`, { as: ada })).text(), 'new')
      await ok(`DELETE /photos/${id}`, { as: ada })
      assert.equal(await sweepIn(files, 0, 0), 1)
      assert.deepEqual([await states(), countIn(folder)], [[], 0])
    }))

  test(`${kind.name}: the copy of a person names their files, which are removed with a deleted account`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, bob, states, folder, service } = files
      for (const as of [ada, bob]) {
        const { id } = await ok('POST /scans', { as, body: {} })
        await ok(`PUT /scans/${id}/scan`, { as, body: png })
      }
      const copy = await (await send(`GET /users/${bob.id}/personal_data`, { as: bob })).text()
      assert.match(copy, /"scan":\{[^}]*"url":"[^"]+"/)
      const context = { run: service.run, model: checkModel(declared) }
      assert.equal(await deleteAccount(context, bob.id, system), true)
      assert.deepEqual(await states(), ['live', 'deleted'])
      assert.equal(await sweepIn(files, 0, 0), 1)
      assert.deepEqual([await states(), countIn(folder)], [['live'], 1])
    }))

  test(`${kind.name}: many are swept at once, by several nodes`, () =>
    withFiles(kind, async files => {
      const { ok, ada, states, folder, database } = files
      await ok('POST /uploads', { as: ada, body: 'a' })
      const copy = `INSERT INTO "uploads" ("key", "state", "name", "created_at") SELECT "key" || "n", 'pending', "name", "created_at" FROM "uploads", numbers`
      const numbers =
        'WITH RECURSIVE numbers("n") AS (SELECT 1 UNION ALL SELECT "n" + 1 FROM numbers WHERE "n" < 250)'
      if (!kind.name.endsWith('row security')) await database.run(`${numbers} ${copy}`)
      await Promise.all([sweepIn(files, 2), sweepIn(files, 2), sweepIn(files, 2)])
      assert.deepEqual([await states(), countIn(folder)], [[], 0])
    }))

  test(`${kind.name}: a restart finds its files; another database stops the start`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, folder, restart, database } = files
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'kept' })
      await restart()
      assert.equal(await (await send(`GET ${note.url}`, { as: ada })).text(), 'kept')
      const other = mkdtempSync(join(tmpdir(), 'portico-other-'))
      try {
        await assert.rejects(
          openFiles({ database: join(other, 'data.db'), 'files.url': folder }),
          /FILES_URL.*has the files of another database/,
        )
        mkdirSync(join(other, 'files'))
        writeFileSync(join(other, 'files', 'own.txt'), 'own')
        const given = { rowSecurity: kind.name.endsWith('row security') }
        await assert.rejects(
          openFiles({ ...given, database: database.url, 'files.url': join(other, 'files') }),
          /FILES_URL.*is not empty/,
        )
      } finally {
        rmSync(other, { recursive: true, force: true })
      }
    }))
}

test('a folder is of the database that was first, even if several open it at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-folder-'))
  try {
    await Promise.all(Array.from({ length: 5 }, () => openFolder(folder, 'one')))
    await assert.rejects(openFolder(folder, 'two'), ForeignFolder)
    const objects = await openFolder(folder, 'one')
    for (const key of ['', '../x', 'a/b/c/d/e/f/g/h/i/j', 'x'.repeat(41)])
      await assert.rejects(objects.remove(key), TypeError)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
