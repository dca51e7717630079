/** A kill at any point of an upload: no item without its file, and nothing left after the sweep. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openFolder } from '../../../src/engine/files/folder.ts'
import { sweep } from '../../../src/engine/files/sweep.ts'
import { withFiles } from '../../api/rest/files/fixture.ts'
import { databaseKinds } from '../../engine/store/databases.ts'

const program = fileURLToPath(new URL('uploading-process.ts', import.meta.url))

/** After the bytes are written, synced, renamed, the name synced, the row complete, the item committed. */
const points = ['write', 'sync', 'rename', 'folder', 'row', 'commit']

/** Whether the new file must be there. Before the item's commit, it must not. */
const isCommitted = (point: string) => point === 'commit'

async function killAt(point: string, given: object, use: (url: string) => Promise<unknown>): Promise<void> {
  const child = spawn(process.execPath, [program, JSON.stringify(given), point], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise(resolve => child.once('exit', (_code, signal) => resolve(signal)))
  child.stdout.setEncoding('utf8')
  for await (const url of child.stdout) {
    await use(String(url).trim()).catch(() => undefined)
    break
  }
  assert.equal(await ended, 'SIGKILL', `it was not killed at ${point}`)
}

for (const kind of databaseKinds) {
  test(`${kind.name}: kills at every point of an upload`, () =>
    withFiles(kind, async ({ ok, send, ada, folder, database, service, states, restart }) => {
      const rowSecurity = kind.name.endsWith('row security')
      const given = { database: database.url, rowSecurity, 'files.url': folder }
      const { id } = await ok('POST /photos', { as: ada, body: {} })
      await ok(`PUT /photos/${id}/note`, { as: ada, body: 'before' })
      await service.service.close()
      let content = 'before'
      for (const point of points) {
        await killAt(point, given, url =>
          fetch(`${url}/api/v1/photos/${id}/note`, {
            method: 'PUT',
            headers: { authorization: `Bearer ${ada.key}` },
            body: `at ${point}`,
          }),
        )
        if (isCommitted(point)) content = `at ${point}`
      }
      await restart()
      const { note } = await ok(`GET /photos/${id}`, { as: ada })
      assert.equal(await (await send(`GET ${note.url}`, { as: ada })).text(), content)
      assert.equal((await states()).filter(state => state === 'live').length, 1)
    }))
}

test('kills during the removal of an object leave nothing after the next sweep', () =>
  withFiles(databaseKinds[0] ?? assert.fail(), async files => {
    const { ok, ada, folder, database, service, states, restart } = files
    for (const _ of [1, 2, 3]) await ok('POST /uploads', { as: ada, body: 'unused' })
    await database.run(`UPDATE "uploads" SET "state" = 'deleted', "ended_at" = '2026-01-01T00:00:00.000Z'`)
    await service.service.close()
    // The first sweep begins with the start.
    for (const point of ['remove', 'removed'])
      await killAt(
        point,
        { database: database.url, 'files.url': folder, 'files.keepDeleted': '0 s' },
        async () => {},
      )
    await restart()
    const now = files.service
    const storeId = (await now.records.get('FileStore', 'database'))?.payload ?? ''
    const { objects } = await openFolder(folder, { database: storeId })
    await sweep({
      ...{ run: now.run, records: now.records, objects, keepDeletedMs: 0, now: Date.now },
      ...{ isStopping: () => false, onFault: error => assert.fail(error as Error) },
    })
    assert.deepEqual(await states(), [])
    const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    // The marker and the claim.
    assert.equal(left.length, 2)
  }))
