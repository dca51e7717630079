/** What removes the objects that no item has, and which folder a database may use. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { ForeignClaim } from '../../../src/engine/files/claim.ts'
import { ForeignFolder, openFolder } from '../../../src/engine/files/folder.ts'
import type { ObjectStore } from '../../../src/engine/files/object-store.ts'
import { type SweepParts, sweep } from '../../../src/engine/files/sweep.ts'
import { createPlan } from '../../../src/engine/plan/system-plans.ts'
import { deleteAccount } from '../../../src/identity/accounts/self-service/deletion.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createFiles } from '../../../src/server/serve/files.ts'
import { declared, type Files, openFiles, png, withFiles } from '../../api/rest/files/fixture.ts'
import { databaseKinds, sqlite } from '../store/databases.ts'

const dayMs = 86_400_000

const hourMs = 3_600_000

type Swept = Pick<Files, 'service' | 'folder'>

/** Sweeps once, as after some hours. */
async function sweepOnce(
  { service, folder }: Swept,
  hours: number,
  given: Partial<SweepParts> = {},
): Promise<number> {
  const { run, records } = service
  const database = (await records.get('FileStore', 'database'))?.payload ?? ''
  const { objects } = await openFolder(folder, { database })
  const now = () => Date.now() + hours * hourMs
  const onFault = (error: unknown) => assert.fail(error as Error)
  return sweep({
    ...{ run, records, objects, now, onFault },
    ...{ keepDeletedMs: 7 * dayMs, isStopping: () => false },
    ...given,
  })
}

/** What expires is removed two renewals of the claim later. */
const rounds = [0, 3, 6]

/** Sweeps as in some days. */
async function sweepIn(files: Swept, days: number, keepDeletedMs = 7 * dayMs): Promise<number> {
  let removed = 0
  for (const round of rounds) removed += await sweepOnce(files, days * 24 + round, { keepDeletedMs })
  return removed
}

const countIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length - 2

for (const kind of databaseKinds) {
  test(`${kind.name}: unused uploads go after a day, deleted files after seven, live ones never`, () =>
    withFiles(kind, async files => {
      const { ok, send, ada, states, folder } = files
      const { upload } = await ok('POST /uploads', { as: ada, body: png })
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      await ok(`PUT /photos/${id}/note`, { as: ada, body: 'old' })
      const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'new' })
      assert.deepEqual(await states(), ['pending', 'deleted', 'live'])
      assert.equal(await sweepIn(files, 0.5), 0)
      assert.equal(await sweepIn(files, 1.1), 1)
      assert.deepEqual(await states(), ['deleted', 'live'])
      await ok(`PATCH /photos/${id}`, { as: ada, body: { image: { upload } } }, 400)
      assert.equal(await sweepIn(files, 6.5), 0)
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
      const { ok, ada, states, folder } = files
      await ok('POST /uploads', { as: ada, body: 'a' })
      const { run } = files.service
      for (let index = 0; index < 250; index++)
        await run.write(createPlan('uploads', {}, { key: `number-of-unused-${index}`, name: '' }), system)
      assert.equal((await states()).length, 251)
      for (const round of rounds)
        await Promise.all([1, 2, 3].map(() => sweepOnce(files, 48 + round, { keepDeletedMs: 0 })))
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
    mkdirSync(join(folder, 'lost+found'))
    const opened = await Promise.all(Array.from({ length: 5 }, () => openFolder(folder, { database: 'one' })))
    const [first] = opened
    assert.deepEqual(new Set(opened.map(({ id }) => id)), new Set([first?.id]))
    await assert.rejects(openFolder(folder, { database: 'two' }), ForeignFolder)
    const { objects } = await openFolder(folder, { database: 'one', folder: first?.id })
    for (const key of ['', '../x', 'a/b/c/d/e/f/g/h/i/j', 'x'.repeat(41)])
      await assert.rejects(objects.remove(key), TypeError)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a copy of the database removes nothing of the folder that it shares with the original', () =>
  withFiles(sqlite, async files => {
    const { ok, send, ada, folder, database } = files
    const { id } = await ok('POST /photos', { as: ada, body: {} })
    const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'of the original' })
    const place = mkdtempSync(join(tmpdir(), 'portico-copy-'))
    await database.run(`VACUUM INTO '${join(place, 'data.db')}'`)
    const opened = await openFiles({ database: join(place, 'data.db'), 'files.url': folder })
    const copy = { service: opened, folder }
    try {
      const { photos } = opened.service.data
      await photos?.delete(id)
      const now = { keepDeletedMs: 0 }
      // Both know the token. The copy is the first to change it.
      assert.equal(await sweepOnce(copy, 3, now), 0)
      await assert.rejects(sweepOnce(files, 4, now), ForeignClaim)
      await assert.rejects(sweepOnce(copy, 6, now), ForeignClaim)
      await assert.rejects(sweepOnce(files, 7, now), ForeignClaim)
      assert.equal(await (await send(`GET ${note.url}`, { as: ada })).text(), 'of the original')
      // The operator has decided for the original.
      rmSync(join(folder, 'portico-files-claim.json'))
      await ok(`DELETE /photos/${id}`, { as: ada })
      for (const hours of [8, 11, 14]) await sweepOnce(files, hours, now)
      await assert.rejects(sweepOnce(copy, 15, now), ForeignClaim)
      assert.equal(countIn(folder), 0)
    } finally {
      await opened.service.close()
      rmSync(place, { recursive: true, force: true })
    }
  }))

test('a service that may not remove files says so at its start', () =>
  withFiles(sqlite, async ({ service: { run, records }, folder }) => {
    const database = (await records.get('FileStore', 'database'))?.payload ?? ''
    const { objects } = await openFolder(folder, { database })
    await objects.writeClaim('{"token":"of another","at":0}', false)
    const warnings: string[] = []
    const running = createFiles({
      ...{ run, records, objects, now: Date.now, onFault: error => assert.fail(error as Error) },
      settings: readSettings({}),
      logger: { warn: (text: unknown) => warnings.push(String(text)) } as never,
    })
    running.start()
    await running.close()
    assert.match(warnings.join(), /another database.*then delete .*portico-files-claim\.json$/)
  }))

test('one database has one folder', () =>
  withFiles(sqlite, async ({ folder, database }) => {
    const other = `${folder}-other`
    const open = () => openFiles({ database: database.url, 'files.url': other })
    await assert.rejects(open(), /FILES_URL.* is empty, and the files of the database are in another one/)
    const { database: id } = JSON.parse(readFileSync(join(folder, 'portico-files.json'), 'utf8'))
    writeFileSync(join(other, 'portico-files.json'), JSON.stringify({ database: id, folder: 'other' }))
    await assert.rejects(open(), /FILES_URL.* is not the one that has the files of the database/)
    writeFileSync(`${folder}-file`, '')
    await assert.rejects(
      openFiles({ database: database.url, 'files.url': `${folder}-file` }),
      /FILES_URL.*-file cannot be created or used: it is not a folder/,
    )
  }))

test('a folder that is no longer the one of the start is not swept', () =>
  withFiles(sqlite, async files => {
    const { ok, ada, folder, states, service } = files
    await ok('POST /uploads', { as: ada, body: 'a' })
    const database = (await service.records.get('FileStore', 'database'))?.payload ?? ''
    const { objects } = await openFolder(folder, { database })
    await sweepOnce(files, 48, { objects })
    renameSync(folder, `${folder}-away`)
    mkdirSync(folder)
    await assert.rejects(sweepOnceWith(objects), /no longer the one of the start/)
    rmSync(folder, { recursive: true })
    renameSync(`${folder}-away`, folder)
    assert.deepEqual(await states(), ['deleted'])

    function sweepOnceWith(store: ObjectStore) {
      return sweep({
        ...{
          run: service.run,
          records: service.records,
          objects: store,
          now: () => Date.now() + 96 * hourMs,
        },
        ...{ keepDeletedMs: 0, isStopping: () => false, onFault: () => {} },
      })
    }
  }))

test('an object that cannot be removed stops no other, and is tried again; a shutdown stops between rows', () =>
  withFiles(sqlite, async files => {
    const { folder, states, service } = files
    for (let index = 0; index < 150; index++)
      await service.run.write(
        createPlan('uploads', {}, { key: `number-of-unused-${index}`, name: '' }),
        system,
      )
    await sweepOnce(files, 48)
    await sweepOnce(files, 51)
    const database = (await service.records.get('FileStore', 'database'))?.payload ?? ''
    const { objects } = await openFolder(folder, { database })
    const failing = (isFailing: (key: string) => boolean): ObjectStore =>
      Object.assign(Object.create(objects), {
        claimPlace: objects.claimPlace,
        readClaim: () => objects.readClaim(),
        writeClaim: (text: string, isFirst: boolean) => objects.writeClaim(text, isFirst),
        async remove(key: string) {
          if (isFailing(key)) throw new Error('cannot be removed')
          await objects.remove(key)
        },
      })
    const faults: unknown[] = []
    const onFault = (error: unknown) => faults.push(error)
    let count = 0
    const some = { onFault, objects: failing(() => ++count > 0), isStopping: () => count === 3 }
    assert.equal(await sweepOnce(files, 51.5, some), 0)
    assert.equal(count, 3)
    // More than a page of them.
    const first = failing(key => Number(key.split('-').at(-1)) < 120)
    assert.equal(await sweepOnce(files, 54, { onFault, objects: first }), 30)
    assert.deepEqual(faults.map(String), [
      'Error: 3 files could not be removed',
      'Error: 120 files could not be removed',
    ])
    assert.equal(await sweepOnce(files, 57), 120)
    assert.deepEqual(await states(), [])
  }))

test('a missing object is an error, and no body that breaks off', () =>
  withFiles(sqlite, async ({ ok, send, ada, folder }) => {
    const { id } = await ok('POST /photos', { as: ada, body: {} })
    const { note } = await ok(`PUT /photos/${id}/note`, { as: ada, body: 'lost' })
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) rmSync(join(folder, entry.name), { recursive: true })
    assert.equal((await send(`GET ${note.url}`, { as: ada })).status, 500)
    assert.equal((await send(`HEAD ${note.url}`, { as: ada })).status, 500)
  }))

/** Each change of a file or folder, and each sync, in order. */
test('bytes and names are synced before a file counts as stored, and its removal before its row goes', async () => {
  const place = mkdtempSync(join(tmpdir(), 'portico-synced-'))
  const handle = await open(place)
  const handles = Object.getPrototypeOf(handle)
  await handle.close()
  const { sync } = handles
  const steps: string[] = []
  handles.sync = async function synced() {
    steps.push((await this.stat()).isDirectory() ? 'folder synced' : 'file synced')
    return sync.call(this)
  }
  try {
    const { objects } = await openFolder(join(place, 'files'), { database: 'one' })
    assert.deepEqual(steps.splice(0), ['file synced', 'folder synced'])
    await objects.put('a'.repeat(22), Readable.from([Buffer.from('a')]))
    // The new folder in its parent, the bytes, their name.
    assert.deepEqual(steps.splice(0), ['folder synced', 'file synced', 'folder synced'])
    await objects.remove('a'.repeat(22))
    assert.deepEqual(steps.splice(0), ['folder synced'])
    await objects.writeClaim('{}', false)
    assert.deepEqual(steps.splice(0), ['file synced', 'folder synced'])
  } finally {
    handles.sync = sync
    rmSync(place, { recursive: true, force: true })
  }
})

test('a full disk is UNAVAILABLE, and leaves nothing', async () => {
  const place = mkdtempSync(join(tmpdir(), 'portico-full-'))
  const handle = await open(place)
  const handles = Object.getPrototypeOf(handle)
  await handle.close()
  const { writeFile } = handles
  try {
    const { objects } = await openFolder(place, { database: 'one' })
    for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG']) {
      handles.writeFile = async () => {
        throw Object.assign(new Error(code), { code })
      }
      await assert.rejects(objects.put('a'.repeat(22), Readable.from([Buffer.from('a')])), {
        code: 'UNAVAILABLE',
        isExpected: true,
        message: `There is no space for the file (${code}).`,
      })
    }
    assert.deepEqual(readdirSync(join(place, 'aa')), [])
  } finally {
    handles.writeFile = writeFile
    rmSync(place, { recursive: true, force: true })
  }
})
