/** Concurrent changes of one account by two nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { createPlan, itemShape, readItem } from '../../../src/engine/plan/system-plans.ts'
import type { ProgramSteps } from '../../../src/engine/plan/transaction.ts'
import { addBounded } from '../../../src/identity/accounts/bounded-records.ts'
import {
  findUser,
  hasSamePassword,
  passwordHashSteps,
  replacePasswordHash,
} from '../../../src/identity/accounts/users.ts'
import { createKey, createUser } from '../../../src/identity/bootstrap.ts'
import { keysOf } from '../../../src/identity/keys/user-keys.ts'
import { Consents } from '../../../src/identity/server/consent/consents.ts'
import { pauseSessionWebhooks } from '../../../src/identity/webhooks/grants.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import blog from '../../models/blog.ts'
import { cheapHash } from '../cheap-hash.ts'

const rounds = 10
const model = checkModel(blog)

for (const { name, within } of databaseKinds) {
  test(`two nodes store one of several concurrent passwords, lose no consent, and exceed no limit (${name})`, async () => {
    await within(async database => {
      const stores = [await database.open(model)]
      // Only one process may open a SQLite file.
      stores.push(name === 'SQLite' ? (stores[0] ?? assert.fail()) : await database.open(model))
      const [run = assert.fail(), ...others] = stores.map(store => createRun(createGuard(model), store))
      try {
        const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a password', cheapHash)
        // A node sees the writes of another node a little later.
        const storedHash = async () =>
          (await database.rows('SELECT "password_hash" FROM "users"'))[0]?.password_hash
        for (let round = 0; round < rounds; round++) {
          const before = await storedHash()
          const stored = await Promise.all(
            [run, ...others, run].map(async (node, index) => {
              const hashed = `hash ${round} ${index}`
              const isSame = (user: { readonly password_hash: string | null }) =>
                user.password_hash === before
              return (await replacePasswordHash(node, id, hashed, isSame)) && hashed
            }),
          )
          const [hashed, ...more] = stored.filter(value => value !== false)
          assert.deepEqual(more, [])
          assert.equal(await storedHash(), hashed)

          const scopes = ['read:post', 'write:post', 'read:key', 'write:key']
          const app = { clientId: `app ${round}`, sessionUid: undefined }
          await Promise.all(
            scopes.map((scope, index) =>
              new Consents((stores[index % 2] ?? assert.fail()).records).remember(id, app, [scope], [scope]),
            ),
          )
          const consent = await new Consents((stores[0] ?? assert.fail()).records).find(id, app.clientId)
          assert.deepEqual([...(consent?.scopes ?? [])].sort(), [...scopes].sort())

          const kind = `Kind ${round}`
          const added = await Promise.all(
            Array.from({ length: 10 }, (_, index) => {
              const record = { kind, id: String(index), payload: '{}', expiresAt: null, owner: String(id) }
              return addBounded((stores[index % 2] ?? assert.fail()).records, record, 3)
            }),
          )
          const kept = await (stores[1] ?? assert.fail()).records.byOwner(kind, String(id))
          assert.ok(kept.length <= 3, String(kept.length))
          assert.equal(added.filter(answer => answer === 'added').length, kept.length)
        }

        const { records } = stores[0] ?? assert.fail()
        const owner = String(id)
        const left = async () =>
          (await Promise.all(['One', 'Two', 'Kept'].map(kind => records.byOwner(kind, owner)))).map(
            found => found.length,
          )
        for (const kind of ['One', 'One', 'Two', 'Kept']) {
          const record = { kind, id: `${kind} ${(await left())[0]}`, payload: '{}', expiresAt: null, owner }
          await records.put(record)
        }
        function* furtherSteps(): ProgramSteps<void> {
          assert.equal(yield { kind: 'deleteOwned', owner, kinds: ['One', 'Two', 'None'] } as const, true)
          assert.equal(yield { kind: 'deleteOwned', owner, kinds: ['None'] } as const, false)
        }
        const replace = (hash: string, isExpected: boolean) =>
          run.transaction({
            principal: system,
            serial: { writes: ['users'] },
            steps: () => passwordHashSteps(id, hash, () => isExpected, furtherSteps),
          })
        assert.equal(await replace('refused', false), false)
        assert.deepEqual(await left(), [2, 1, 1])
        assert.equal(await replace('accepted', true), true)
        assert.deepEqual(await left(), [0, 0, 1])
      } finally {
        for (const store of new Set(stores)) await store.close()
      }
    })
  })
}

for (const { name, within } of databaseKinds) {
  test(`a node notices that another node has replaced the password during a sign-in (${name})`, async () => {
    await within(async database => {
      const first = await database.open(model)
      // Only one process may open a SQLite file.
      const second = name === 'SQLite' ? first : await database.open(model)
      const [run, other] = [first, second].map(store => createRun(createGuard(model), store))
      assert.ok(run && other)
      try {
        const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a password', cheapHash)
        await second.refresh()
        const read = (await findUser(other, id)) ?? assert.fail()
        assert.equal(await hasSamePassword(other, read), true)
        assert.equal(await replacePasswordHash(run, id, 'another hash', () => true), true)
        assert.equal(await hasSamePassword(other, read), false)
        assert.equal(await hasSamePassword(other, { ...read, id: 999 }), false)
      } finally {
        for (const store of new Set([first, second])) await store.close()
      }
    })
  })
}

for (const { name, within } of databaseKinds) {
  test(`an account recovery finds keys and webhooks that another node has just stored (${name})`, async () => {
    await within(async database => {
      const first = await database.open(model)
      // Only one process may open a SQLite file.
      const second = name === 'SQLite' ? first : await database.open(model)
      const [run, other] = [first, second].map(store => createRun(createGuard(model), store))
      assert.ok(run && other)
      try {
        const id = await createUser(run, { name: 'Ada', email: 'ada@example.com' }, 'a password', cheapHash)
        await second.refresh()
        assert.deepEqual(await keysOf(other, id), [])
        await pauseSessionWebhooks(other, id)
        await createKey(run, id, { name: 'a key', scopes: ['*'] })
        const hook = { url: 'https://example.com/hook', types: ['*'] }
        const plan = createPlan('webhooks', hook, { user_id: id, position: 0 })
        const { id: webhookId } = await run.write(plan, system)
        assert.equal((await keysOf(other, id)).length, 1)
        await pauseSessionWebhooks(other, id)
        await first.refresh()
        const shape = itemShape('webhooks', ['paused_at'])
        const stored = await readItem<{ readonly paused_at: string | null }>(run, shape, webhookId)
        assert.equal(typeof stored?.paused_at, 'string')
      } finally {
        for (const store of new Set([first, second])) await store.close()
      }
    })
  })
}
