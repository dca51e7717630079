/** Credentials that a request in progress would store while the user takes the account back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../src/base/principal.ts'
import type { CreateShape } from '../../../src/engine/plan/plan.ts'
import { createPlan, listShape, readAll, where } from '../../../src/engine/plan/system-plans.ts'
import { keysAfterEnd } from '../../../src/identity/keys/keys-after-end.ts'
import { keyCreation } from '../../../src/identity/keys/new-key.ts'
import { keysOf } from '../../../src/identity/keys/user-keys.ts'
import { accountEndRecord } from '../../../src/identity/server/sessions/session-ends.ts'
import { minuteMs, withFixture } from '../accounts/fixture.ts'

const create: CreateShape = {
  kind: 'create',
  collection: 'api_keys',
  set: [{ field: 'name', param: 0 }],
  computed: [
    { field: 'prefix', param: 1 },
    { field: 'hash', param: 2 },
  ],
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

test('a request from before the end of all credentials cannot create a key for a minute after it', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { run, records, now } = base
    const id = await fixture.user('ada@example.com', 'correct horse battery')
    const other = await fixture.user('ben@example.com', 'correct horse battery')
    const checked = keysAfterEnd(run, records, now)
    const make = (userId: number) => {
      const { prefix = '', hash = '' } = keyCreation().computed
      return checked.write({ shape: create, args: ['a key', prefix, hash] }, user(userId, 'user', 'all'))
    }
    await make(id)
    await records.put(await accountEndRecord(records, id, now(), undefined))
    await assert.rejects(make(id), { code: 'FORBIDDEN' })
    await make(other)
    assert.equal((await keysOf(run, id)).length, 1)
    advance(minuteMs)
    await make(id)
    assert.equal((await keysOf(run, id)).length, 2)
  })
})

test('a request from before the end of all credentials cannot create a webhook for a minute after it', async () => {
  await withFixture({}, async fixture => {
    const { base, advance } = fixture
    const { run, records, now } = base
    const id = await fixture.user('ada@example.com', 'correct horse battery')
    const checked = keysAfterEnd(run, records, now)
    const plan = createPlan(
      'webhooks',
      { url: 'https://example.com/', types: ['post.created'] },
      { position: 0 },
    )
    const make = () => checked.write(plan, user(id, 'user', 'all'))
    const webhooks = listShape('webhooks', ['id'], where('user_id'))
    await records.put(await accountEndRecord(records, id, now(), undefined))
    await assert.rejects(make(), { code: 'FORBIDDEN' })
    assert.deepEqual(await readAll(run, webhooks, id), [])
    advance(minuteMs)
    await make()
    assert.equal((await readAll(run, webhooks, id)).length, 1)
  })
})
