import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, model, relation, text, users } from '../../src/index.ts'
import { type TestService, withService } from '../server/serve/service.ts'

const settings = { rateLimit: 'off' } as const
const message =
  'The account is disabled. Its credentials are accepted again when an administrator enables it.'

async function person({ call, key }: TestService, name: string, role = 'user') {
  const body = { name, email: `${name}@example.com`, role }
  const created = await call('/api/v1/users', { method: 'POST', key, body })
  assert.equal(created.status, 201, created.text)
  return { id: Number(created.json.id), email: body.email }
}

test('only administrators read and write `disabled`', async () => {
  await withService(settings, async service => {
    const { call, key } = service
    const { id } = await person(service, 'ann')
    const asAnn = service.service.data.as(id)['users']
    assert.ok(!('disabled' in ((await asAnn?.get(id)) ?? assert.fail())))
    await assert.rejects(async () => asAnn?.update(id, { disabled: false }), { code: 'FORBIDDEN' })
    const read = await call(`/api/v1/users/${id}`, { key })
    assert.equal(read.json.disabled, false)
    const changed = await call(`/api/v1/users/${id}`, { method: 'PATCH', key, body: { disabled: true } })
    assert.equal(changed.status, 200, changed.text)
    assert.equal(changed.json.disabled, true)
  })
})

test('the last enabled administrator cannot be disabled, demoted or deleted', async () => {
  await withService(settings, async service => {
    const { call, key } = service
    const me = await call('/api/v1/me', { key })
    const path = `/api/v1/users/${me.json.id}`
    for (const [method, body] of [
      ['PATCH', { disabled: true }],
      ['PATCH', { role: 'user' }],
      ['DELETE', undefined],
    ] as const) {
      const refused = await call(path, { method, key, ...(body && { body }) })
      assert.equal(refused.code, 'CONFLICT', `${method} ${JSON.stringify(body)}: ${refused.text}`)
    }
    const second = await person(service, 'bea', 'admin')
    const demoted = await call(path, { method: 'PATCH', key, body: { role: 'user' } })
    assert.equal(demoted.status, 200, demoted.text)
    assert.ok(second.id)
  })
})

test('an API key of a disabled user is refused with the reason, and accepted again once enabled', async () => {
  await withService(settings, async service => {
    const { call, key } = service
    // The last administrator cannot be disabled.
    await person(service, 'bea', 'admin')
    const me = await call('/api/v1/me', { key })
    const created = await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'x' } })
    const own = String(created.json.key)
    await call(`/api/v1/users/${me.json.id}`, { method: 'PATCH', key, body: { disabled: true } })
    for (const credential of [key, own]) {
      const refused = await call('/api/v1/posts', { key: credential })
      assert.equal(refused.status, 401)
      assert.ok(refused.text.includes(message), refused.text)
    }
    await service.service.data['users']?.update(Number(me.json.id), { disabled: false })
    assert.equal((await call('/api/v1/posts', { key: own })).status, 200)
  })
})

test('an embedding program cannot act as a disabled user', async () => {
  await withService(settings, async running => {
    const { id } = await person(running, 'ann')
    const { data } = running.service
    const posts = () => data.as(id)['posts']?.list()
    await posts()
    await data['users']?.update(id, { disabled: true })
    await assert.rejects(async () => posts(), /account \d+ is disabled/)
  })
})

/** Deleting a user’s company or boss deletes the user. */
const companies = model({
  users: users({
    fields: {
      company_id: relation('companies', { onDelete: 'cascade', optional: true }),
      boss_id: relation('users', { onDelete: 'cascade', optional: true }),
    },
  }),
  companies: collection({
    fields: { name: text() },
    access: { read: anyone, create: anyone, update: anyone, delete: anyone },
  }),
})

test('a cascade cannot delete the last enabled administrator', async () => {
  await withService(
    settings,
    async service => {
      const { call, key } = service
      const me = `/api/v1/users/${(await call('/api/v1/me', { key })).json.id}`
      const company = await call('/api/v1/companies', { method: 'POST', key, body: { name: 'one' } })
      const companyPath = `/api/v1/companies/${company.json.id}`
      const boss = await person(service, 'bob')
      const body = { company_id: company.json.id, boss_id: boss.id }
      assert.equal((await call(me, { method: 'PATCH', key, body })).status, 200)
      // Anyone may delete the company.
      for (const [path, options] of [
        [companyPath, { method: 'DELETE' }],
        [`/api/v1/users/${boss.id}`, { method: 'DELETE', key }],
      ] as const) {
        const refused = await call(path, options)
        assert.equal(refused.code, 'CONFLICT', `${path} ${refused.text}`)
      }
      await person(service, 'bea', 'admin')
      assert.equal((await call(companyPath, { method: 'DELETE' })).status, 204)
      assert.equal((await call('/api/v1/posts', { key })).status, 401)
    },
    companies,
  )
})
