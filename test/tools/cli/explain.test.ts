/** `portico explain`, while a service runs. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseArguments } from '../../../src/tools/cli/commands/commands.ts'
import { command, requestOf } from '../../../src/tools/cli/commands/explain.ts'
import { Failure } from '../../../src/tools/cli/failure.ts'
import { newDatabase } from '../../setups/databases/postgres.ts'
import { portico as start } from '../../system/processes/command.ts'
import { startProcess } from '../../system/processes/portico.ts'

let folder = ''
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'portico-explain-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

const requestFrom = (...words: string[]) =>
  requestOf(parseArguments({ ...command, name: 'explain', sentence: '' }, words))

test('the arguments describe a request', () => {
  assert.deepEqual(requestFrom('--as', '3', 'PATCH /api/v1/tasks/7', '{"status":"done"}'), {
    ...{ method: 'PATCH', path: '/api/v1/tasks/7', as: 3, body: { status: 'done' } },
  })
  assert.deepEqual(
    requestFrom('--as', 'ada@example.com', '--scopes', 'read:task, write:label', 'GET /tasks'),
    {
      ...{ method: 'GET', path: '/tasks', as: 'ada@example.com', scopes: ['read:task', 'write:label'] },
    },
  )
  assert.deepEqual(requestFrom('--api-key', '12', 'GET /tasks'), {
    ...{ method: 'GET', path: '/tasks', as: null, api_key: 12 },
  })
  for (const [words, message] of [
    [['/tasks'], /one argument, e\.g\./],
    [['GET', '/tasks'], /one argument, e\.g\./],
    [['POST /tasks', '{'], /The body is not JSON: \{/],
    [['--as', '3', '--api-key', '12', 'GET /tasks'], /a key belongs to a user/],
  ] as const) {
    assert.throws(
      () => requestFrom(...words),
      (error: unknown) => error instanceof Failure && error.exitCode === 2 && message.test(error.message),
    )
  }
})

for (const kind of ['SQLite', 'PostgreSQL'] as const) {
  test(`explains why a request is refused, while the service runs on ${kind}`, async () => {
    const newPostgres = kind === 'SQLite' ? undefined : await newDatabase()
    const database = newPostgres && { DATABASE_URL: newPostgres.url, PORTICO_SECRET_KEY: 'k'.repeat(40) }
    const environment = { HOST: '127.0.0.1', PORT: '0', ...database }
    const service = await startProcess({ folder, environment })
    const explain = (...words: string[]) => start(['explain', ...words], { folder, environment })
    try {
      const [allowed, refused, none] = await Promise.all([
        explain('--as', '1', '--json', 'POST /api/v1/posts', '{"title":"Hi","author_id":1}'),
        explain('POST /api/v1/posts', '{"title":"Hi","author_id":1}'),
        explain('--as', '99', 'GET /api/v1/posts'),
      ])
      assert.equal(allowed.code, 0, allowed.err)
      assert.deepEqual([JSON.parse(allowed.out).allowed, JSON.parse(allowed.out).status], [true, 201])
      assert.equal(refused.code, 1, refused.err)
      assert.match(refused.out, /^POST \/api\/v1\/posts as nobody signed in: refused, 401 UNAUTHORIZED\n/)
      assert.match(refused.out, /owner\('author_id'\)/)
      assert.deepEqual([none.code, none.out], [2, ''])
      assert.match(none.err, /There is no user 99\./)
      const list = await fetch(`${service.url}/api/v1/posts`)
      assert.equal(((await list.json()) as { meta: { total: number } }).meta.total, 0)
    } finally {
      await service.end()
      await newPostgres?.drop()
    }
  })
}

test('does not create a missing database', async () => {
  const { code, err } = await start(['explain', '--database', 'none.db', 'GET /posts'], { folder })
  assert.deepEqual([code, /There is no database at .*none\.db/.test(err)], [2, true])
  assert.ok(!readdirSync(folder).includes('none.db'))
})
