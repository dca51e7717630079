/** `/readyz` of a whole service on SQLite: whether it could serve an ordinary read and an ordinary write. */
import assert from 'node:assert/strict'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { applyMigration } from '../../../src/engine/store/sqlite/sqlite.ts'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { collection, model, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import { withFile } from '../../engine/store/blog.ts'
import blog from '../../models/blog.ts'
import { freePort } from '../../system/processes/port.ts'
import { type Answer, call, type TestService, withService } from './service.ts'

/** Longer than the lifetime of a check. */
const next = () => wait(1050)

async function ready({ call }: TestService): Promise<readonly [number, string]> {
  const answer = await call('/readyz')
  return [answer.status, messageOf(answer)]
}

function messageOf({ json }: Answer): string {
  return String((json.error as { message?: string } | undefined)?.message ?? json.status)
}

const movedFile = [503, 'The file of the database was moved, replaced or removed.']
const unfit = [503, 'The tables of the database do not fit the model any more.']

test('a removed database file makes the service not ready, and no write is acknowledged', () =>
  withService({}, async service => {
    assert.deepEqual(await ready(service), [200, 'ok'])
    const { file, key, call } = service
    renameSync(file, `${file}.away`)
    await next()
    assert.deepEqual(await ready(service), movedFile)
    const refused = await call('/api/v1/posts', { method: 'POST', key, body: { title: 'lost' } })
    assert.deepEqual([refused.status, messageOf(refused)], movedFile)
    renameSync(`${file}.away`, file)
    await next()
    assert.deepEqual(await ready(service), [200, 'ok'])
  }))

test('a replaced database file makes the service not ready', () =>
  withService({}, async service => {
    const { file } = service
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
    assert.deepEqual(await ready(service), movedFile)
  }))

test('a removed log makes the service not ready', () =>
  withService({}, async service => {
    rmSync(`${service.file}-wal`)
    assert.deepEqual(await ready(service), movedFile)
  }))

test('a renamed column makes the service not ready, an added table does not', () =>
  withService({}, async service => {
    const { file } = service
    const { collections } = blog
    const more = model({ ...collections, extras: collection({ fields: { name: text({ max: 10 }) } }) })
    applyMigration(file, checkModel(more), { allowDestructive: false })
    assert.deepEqual(await ready(service), [200, 'ok'])
    const other = new DatabaseSync(file)
    other.exec('ALTER TABLE posts RENAME COLUMN title TO headline')
    await next()
    assert.deepEqual(await ready(service), unfit)
    other.exec('ALTER TABLE posts RENAME COLUMN headline TO title')
    await next()
    assert.deepEqual(await ready(service), [200, 'ok'])
    other.close()
  }))

test('an idle service does not write to the database with each readiness check', () =>
  withService({}, async service => {
    const file = new DatabaseSync(service.file)
    const pages = () => Number(file.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log)
    const before = pages()
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await ready(service), [200, 'ok'])
      await next()
    }
    assert.ok(pages() - before <= 1, `${pages() - before} pages`)
    file.close()
  }))

test('until the first administrator exists, every request is a 503, and no key is reported as invalid', () =>
  withFile(async database => {
    const port = await freePort()
    const adminApiKey = generateKey()
    const url = `http://127.0.0.1:${port}`
    const settings = { port, host: '127.0.0.1', database, logLevel: 'silent', adminApiKey } as const
    let isServing = false
    const starting = serve(blog, settings).finally(() => {
      isServing = true
    })
    const responses = new Set<string>()
    const ask = async (path: string) => {
      const answer = await call(url + path, { key: adminApiKey }).catch(() => undefined)
      if (answer === undefined) return
      const { status, headers } = answer
      responses.add(`${path} ${status} ${status === 503 ? headers.get('retry-after') : ''}`)
    }
    while (!isServing) await Promise.all(['/readyz', '/api/v1/me', '/healthz'].map(ask))
    const service = await starting
    await Promise.all(['/readyz', '/api/v1/me'].map(ask))
    await service.close()
    assert.deepEqual([...responses].toSorted(), [
      '/api/v1/me 200 ',
      '/api/v1/me 503 1',
      '/healthz 200 ',
      '/readyz 200 ',
      '/readyz 503 1',
    ])
  }))
