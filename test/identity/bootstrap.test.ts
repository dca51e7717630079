/** The first start creates an administrator and a key, even if earlier starts were interrupted. */

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { system } from '../../src/base/principal.ts'
import type { Records } from '../../src/base/records.ts'
import { createGuard } from '../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../src/engine/plan/order.ts'
import type { Run } from '../../src/engine/plan/run.ts'
import type { Store } from '../../src/engine/store/store.ts'
import { bootstrap, createKey, createUser } from '../../src/identity/bootstrap.ts'
import { EncryptedRecords } from '../../src/identity/encryption/encrypted-records.ts'
import { RecordCipher, secretKey } from '../../src/identity/encryption/record-cipher.ts'
import type { FirstAdministrator } from '../../src/identity/first-administrator.ts'
import { generateKey, keyHash } from '../../src/identity/keys/key.ts'
import { verifyPassword } from '../../src/identity/password.ts'
import { serve } from '../../src/server/serve/serve.ts'
import { createRun } from '../../src/server/serve/store.ts'
import { blog, fields, parsed, withFile } from '../engine/store/blog.ts'
import { type DatabaseKind, databaseKinds } from '../engine/store/databases.ts'
import declaration from '../models/blog.ts'
import { call } from '../server/serve/service.ts'
import { cheapHash } from './cheap-hash.ts'
import { crashingRecords, untilCrash } from './crashing-records.ts'
import { isEncrypted } from './encryption/is-encrypted.ts'

const settings: GivenStart = {
  adminEmail: 'admin@example.com',
  adminPassword: undefined,
  adminApiKey: undefined,
}

interface Opened {
  readonly run: Run
  readonly records: Records
  /** The records as stored, still encrypted. */
  readonly stored: Records
}

const keys = [secretKey('a key of these tests')]

function openedOf(store: Store): Opened {
  const run = createRun(createGuard(blog), store)
  return {
    run,
    records: new EncryptedRecords(store.records, new RecordCipher({ keys: () => keys })),
    stored: store.records,
  }
}

/** `count` nodes on one new database. */
async function withNodes(
  kind: DatabaseKind,
  count: number,
  use: (nodes: readonly Opened[]) => Promise<void>,
): Promise<void> {
  await kind.within(async database => {
    const stores: Store[] = []
    try {
      for (let at = 0; at < count; at++) stores.push(await database.open(blog))
      await use(stores.map(openedOf))
    } finally {
      await Promise.all(stores.map(store => store.close()))
    }
  })
}

async function withRun(use: (opened: Opened) => Promise<void>): Promise<void> {
  const [sqlite] = databaseKinds
  assert.ok(sqlite)
  await withNodes(sqlite, 1, ([opened]) => use(opened ?? assert.fail()))
}

function start({ run, records }: Opened, startSettings: GivenStart = settings) {
  return bootstrap(run, records, startSettings, cheapHash)
}

interface GivenStart {
  readonly adminEmail: string
  readonly adminPassword: string | undefined
  readonly adminApiKey: string | undefined
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
        sort: orderById,
        window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
        select: fields(...names),
      },
      args: [0, 10],
    },
    system,
  )
  return parsed(text) as Record<string, unknown>[]
}

/** The writes of a first start: the claim, the user, the key, and the end of the claim. */
const writeCount = 4

/** The records and the plans of a process that crashes before its nth write. */
function crashingAt({ run, records, stored }: Opened, count: number): Opened {
  const counted = untilCrash(write => write !== count)
  return { run: { ...run, write: counted(run.write) }, records: crashingRecords(records, counted), stored }
}

/** Fails unless there is one administrator with one key, and the reported credentials work. */
async function requireOne({ run, stored }: Opened, reported: FirstAdministrator | undefined): Promise<void> {
  assert.match(reported?.key ?? '', /^pk_/)
  assert.match(reported?.password ?? '', /^[\w-]{20}$/)
  const [user, ...others] = await rows(run, 'users', 'id', 'email', 'role', 'password_hash')
  assert.deepEqual([user?.email, user?.role, others], ['admin@example.com', 'admin', []])
  assert.ok(await verifyPassword(reported?.password ?? '', String(user?.password_hash)))
  assert.deepEqual(await rows(run, 'api_keys', 'user_id', 'scopes', 'hash'), [
    { user_id: user?.id, scopes: ['*'], hash: keyHash(reported?.key ?? '') },
  ])
  const left = JSON.stringify(await stored.all('FirstStart'))
  assert.ok(!left.includes(reported?.key ?? '') && !left.includes(reported?.password ?? ''))
}

test('the first start creates one administrator with a password and a key; the second creates nothing', async () => {
  await withRun(async opened => {
    await requireOne(opened, await start(opened))
    assert.equal(await start(opened), undefined)
    const [left] = await opened.records.all('FirstStart')
    assert.equal(left?.payload, '{}')
  })
})

test('until both are created, the stored claim is encrypted', async () => {
  await withRun(async opened => {
    await assert.rejects(start(crashingAt(opened, writeCount)), /crashed/)
    const [claim] = await opened.stored.all('FirstStart')
    assert.ok(isEncrypted(claim?.payload ?? ''))
  })
})

for (const kind of databaseKinds) {
  for (let at = 1; at <= writeCount; at++) {
    test(`a later start completes one that crashed before write ${at} (${kind.name})`, async () => {
      await withNodes(kind, 3, async nodes => {
        const [first] = nodes
        assert.ok(first)
        await assert.rejects(start(crashingAt(first, at)), /crashed/)
        const reported = (await Promise.all(nodes.map(node => start(node)))).filter(
          result => result !== undefined,
        )
        assert.equal(reported.length, 1)
        await requireOne(first, reported[0])
        assert.equal(await start(first), undefined)
      })
    })
  }

  test(`of concurrent first starts, some of which crash, exactly one reports the credentials (${kind.name})`, async () => {
    for (let round = 0; round < 3; round++) {
      await withNodes(kind, 4, async nodes => {
        const starts = nodes.flatMap((node, index) => [
          start(node),
          start(crashingAt(node, ((index + round) % writeCount) + 1)),
        ])
        const ended = await Promise.allSettled(starts)
        const reported = ended.flatMap(result =>
          result.status === 'fulfilled' && result.value ? [result.value] : [],
        )
        for (const result of ended)
          if (result.status === 'rejected') assert.match(String(result.reason), /crashed/)
        assert.equal(reported.length, 1)
        await requireOne(nodes[0] ?? assert.fail(), reported[0])
      })
    }
  })
}

test('a configured key that exists already is not an error', async () => {
  await withRun(async opened => {
    const startSettings = { ...settings, adminApiKey: generateKey(), adminPassword: 'secret enough' }
    await assert.rejects(start(crashingAt(opened, writeCount), startSettings), /crashed/)
    assert.deepEqual(await start(opened, startSettings), {
      email: settings.adminEmail,
      password: undefined,
      key: undefined,
    })
    assert.equal((await rows(opened.run, 'api_keys', 'id')).length, 1)
  })
})

test('a start that continues with other settings reports the stored credentials', async () => {
  await withRun(async opened => {
    await assert.rejects(start(crashingAt(opened, 3)), /crashed/)
    const other = {
      adminEmail: 'new@example.com',
      adminPassword: 'secret enough',
      adminApiKey: generateKey(),
    }
    await requireOne(opened, await start(opened, other))
  })
})

test('an account that was created with the administrator’s address in the meantime gets no role and no key', async () => {
  for (const role of ['user', 'admin']) {
    await withRun(async opened => {
      await assert.rejects(start(crashingAt(opened, 2)), /crashed/)
      await createUser(opened.run, { name: 'A', email: 'admin@example.com', role }, 'their own password')
      assert.equal(await start(opened), undefined)
      assert.deepEqual(await rows(opened.run, 'api_keys', 'id'), [])
      assert.equal(await start(opened), undefined)
    })
  }
})

test('a start creates an administrator again after all users were deleted', async () => {
  await withRun(async opened => {
    await start(opened)
    const remove = { kind: 'delete', collection: 'users', id: 0, ifMatch: undefined } as const
    await opened.run.write({ shape: remove, args: [1] }, system)
    const reported = await Promise.all([start(opened), start(opened)])
    assert.equal(reported.filter(result => result !== undefined).length, 1)
    await requireOne(
      opened,
      reported.find(result => result !== undefined),
    )
  })
})

test('a start creates nothing if there are users, whoever created them', async () => {
  for (const [email, role] of [
    ['admin@example.com', 'user'],
    ['other@example.com', 'admin'],
  ] as const) {
    await withRun(async opened => {
      const set = ['name', 'email', 'role'].map((field, param) => ({ field, param }))
      const shape = { kind: 'create', collection: 'users', set, computed: [], select: [] } as const
      await opened.run.write({ shape, args: ['A', email, role] }, system)
      assert.equal(await start(opened), undefined)
      assert.deepEqual(await rows(opened.run, 'api_keys', 'id'), [])
    })
  }
})

test('the administrator’s last key is not created again after it is revoked', async () => {
  await withRun(async opened => {
    const { run } = opened
    await start(opened)
    const remove = { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined } as const
    await run.write({ shape: remove, args: [1] }, system)
    assert.equal(await start(opened), undefined)
    assert.match(await createKey(run, 1, { name: 'Another' }), /^pk_/)
    assert.equal((await rows(run, 'api_keys', 'id')).length, 1)
  })
})

test('a start that fails on a taken port creates nothing; the next one reports the key', async () => {
  await withFile(async file => {
    const taken = createServer()
    await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const startSettings = { host: '127.0.0.1', database: file, logLevel: 'silent' } as const
    await assert.rejects(serve(declaration, { ...startSettings, port }), { code: 'EADDRINUSE' })
    await new Promise(resolve => taken.close(resolve))
    const service = await serve(declaration, { ...startSettings, port: 0 })
    try {
      const key = service.firstAdministrator?.key ?? assert.fail('no key was shown')
      assert.equal((await call(`${service.url}/api/v1/me`, { key })).json.role, 'admin')
    } finally {
      await service.close()
    }
  })
})
