/** The first start: an administrator and a key, whatever the start before has left behind. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { bootstrap, createKey, createUser } from '../../src/auth/bootstrap.ts'
import { generateKey } from '../../src/auth/key.ts'
import { createGuard } from '../../src/plan/guard.ts'
import type { Run } from '../../src/plan/run.ts'
import { system } from '../../src/principal.ts'
import { createRun } from '../../src/serve/store.ts'
import { serve } from '../../src/serve.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import declaration from '../models/blog.ts'
import { call } from '../serve/service.ts'
import { blog, fields, parsed, withFile } from '../store/blog.ts'

const settings = { adminEmail: 'admin@example.com', adminPassword: undefined, adminApiKey: undefined }

interface Opened {
  readonly run: Run
  /** Lets the clock of the store's stand `milliseconds` before the real one. */
  age(milliseconds: number): void
}

async function withRun(use: (opened: Opened) => Promise<void>): Promise<void> {
  await withFile(async file => {
    let behind = 0
    const store = openSqlite(blog, { file, now: () => Date.now() - behind })
    try {
      const run = createRun(createGuard(blog), store)
      await use({ run, age: milliseconds => (behind = milliseconds) })
    } finally {
      await store.close()
    }
  })
}

async function rows(run: Run, collection: string, ...names: string[]): Promise<Record<string, unknown>[]> {
  const { text } = await run.list(
    {
      shape: {
        kind: 'list',
        collection,
        within: undefined,
        filter: undefined,
        search: undefined,
        sort: [],
        window: { kind: 'page', offset: 0, limit: 1, total: false },
        select: fields(...names),
      },
      args: [0, 10],
    },
    system,
  )
  return parsed(text) as Record<string, unknown>[]
}

/** A run that dies at its nth write. */
function dyingAt(run: Run, count: number): Run {
  let writes = 0
  return {
    ...run,
    write: async (plan, principal) => {
      writes += 1
      if (writes === count) throw new Error('died')
      return run.write(plan, principal)
    },
  }
}

const never = () => assert.fail('must not wait')

test('the first start makes one administrator with a password and a key; the second nothing', async () => {
  await withRun(async ({ run }) => {
    const made = await bootstrap(run, settings, never)
    assert.match(made?.key ?? '', /^pk_/)
    assert.match(made?.password ?? '', /^[\w-]{20}$/)
    assert.equal(await bootstrap(run, settings, never), undefined)
    const [user, ...others] = await rows(run, 'users', 'email', 'role', 'password_hash')
    assert.deepEqual([user?.email, user?.role, others], ['admin@example.com', 'admin', []])
    assert.match(String(user?.password_hash), /^\$argon2id\$/)
    assert.deepEqual(await rows(run, 'api_keys', 'user_id', 'scopes'), [{ user_id: 1, scopes: ['*'] }])
  })
})

for (const [count, dead] of [
  [2, 'before the key'],
  [3, 'before the password'],
] as const) {
  test(`what a start that died ${dead} did not finish, the next one does, once`, async () => {
    await withRun(async ({ run, age }) => {
      age(60_000)
      await assert.rejects(bootstrap(dyingAt(run, count), settings, never), /died/)
      age(0)
      const made = await bootstrap(run, settings, never)
      assert.match(made?.key ?? '', /^pk_/)
      assert.equal((await rows(run, 'users', 'id')).length, 1)
      assert.equal(await bootstrap(run, settings, never), undefined)
    })
  })
}

test('a given key that is there already is no obstacle', async () => {
  await withRun(async ({ run, age }) => {
    const given = { ...settings, adminApiKey: generateKey(), adminPassword: 'secret enough' }
    age(60_000)
    await assert.rejects(bootstrap(dyingAt(run, 3), given, never), /died/)
    age(0)
    assert.deepEqual(await bootstrap(run, given, never), {
      email: settings.adminEmail,
      password: undefined,
      key: undefined,
    })
    assert.equal((await rows(run, 'api_keys', 'id')).length, 1)
  })
})

test('a start that another one is at is waited for, and makes nothing when that one finishes', async () => {
  await withRun(async ({ run }) => {
    let waited = 0
    const [one, two] = await Promise.all([
      bootstrap(run, settings, never),
      Promise.resolve().then(() =>
        bootstrap(run, settings, async () => {
          waited++
          await new Promise(resolve => setTimeout(resolve, 5))
        }),
      ),
    ])
    assert.ok(one)
    assert.equal(two, undefined)
    assert.ok(waited > 0)
    assert.equal((await rows(run, 'api_keys', 'id')).length, 1)
  })
})

test('users that somebody made are left alone: with a password, of another role or address, or several', async () => {
  const password = 'a long password'
  const makers: readonly ((run: Run) => Promise<unknown>)[] = [
    run => createUser(run, { name: 'A', email: 'admin@example.com', role: 'admin' }, password),
    run => insert(run, 'admin@example.com', 'user'),
    run => insert(run, 'other@example.com', 'admin'),
    async run => {
      await insert(run, 'admin@example.com', 'admin')
      await insert(run, 'other@example.com', 'user')
    },
  ]
  for (const make of makers) {
    await withRun(async ({ run, age }) => {
      age(60_000)
      await make(run)
      age(0)
      assert.equal(await bootstrap(run, settings, never), undefined)
      assert.deepEqual(await rows(run, 'api_keys', 'id'), [])
    })
  }
})

function insert(run: Run, email: string, role: string) {
  const set = [
    { field: 'name', param: 0 },
    { field: 'email', param: 1 },
    { field: 'role', param: 2 },
  ]
  const shape = { kind: 'create', collection: 'users', set, computed: [], select: [] } as const
  return run.write({ shape, args: ['A', email, role] }, system)
}

test('the last key of an administrator who has a password can be revoked for good', async () => {
  await withRun(async ({ run, age }) => {
    age(60_000)
    await bootstrap(run, settings, never)
    age(0)
    await run.write(
      { shape: { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined }, args: [1] },
      system,
    )
    assert.equal(await bootstrap(run, settings, never), undefined)
    assert.match(await createKey(run, 1, { name: 'Another' }), /^pk_/)
  })
})

test('a start whose port is taken has made nothing; the next one shows the key', async () => {
  await withFile(async file => {
    const taken = createServer()
    await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const given = { host: '127.0.0.1', database: file, logLevel: 'silent' } as const
    await assert.rejects(serve(declaration, { ...given, port }), { code: 'EADDRINUSE' })
    await new Promise(resolve => taken.close(resolve))
    const service = await serve(declaration, { ...given, port: 0 })
    try {
      const key = service.firstAdministrator?.key ?? assert.fail('no key was shown')
      assert.equal((await call(`${service.url}/api/v1/me`, { key })).json.role, 'admin')
    } finally {
      await service.close()
    }
  })
})
