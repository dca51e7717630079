/** A copy of a person's data, and its deletion, along the relations that the model marks: who may ask, and what they get. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { deletionRecord } from '../../../../src/base/records.ts'
import {
  collection,
  model,
  nobody,
  owner,
  relation,
  role,
  signedIn,
  string,
  users,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { chosen } from '../../../chosen.ts'
import shop from '../../../models/shop.ts'
import type { Answer } from '../../../server/serve/service.ts'
import { postgres, postgresRowSecurity } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import {
  type Fixture,
  newTokens,
  type Person,
  sharedFixtures,
  withFixture,
} from '../../conformance/server.ts'
import { sameOrigin, signedInCookie } from '../../own-page.ts'

/** One deletion deletes or changes at most this many other items. */
const cascade = 40

/** The person may read the reports, and not whom they are about. */
const hidden = model({
  reports: collection({
    fields: {
      text: string(),
      about_id: relation('users', { personal: true, access: { read: role('admin') } }),
    },
    access: { read: signedIn, create: role('admin') },
  }),
})

interface Row {
  readonly collection: string
  readonly item: Readonly<Record<string, unknown>>
}

const rowsIn = ({ text }: Answer): readonly Row[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
const path = ({ id }: Pick<Person, 'id'>, query = '') => `/api/v1/users/${id}/personal_data${query}`
const because = '?reason=asked+by+mail'

/** Waits up to two minutes. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    assert.ok(tries < 1200, 'it did not happen')
    await setTimeout(100)
  }
}

async function create(fixture: Fixture, key: string, collection: string, body: object): Promise<number> {
  const created = await fixture.call(`/api/v1/${collection}`, { method: 'POST', key, body })
  assert.equal(created.status, 201, created.text)
  return Number(created.json['id'])
}

/** Orders of a person with lines, hidden ones included. */
async function seedOrders(
  fixture: Fixture,
  { id }: Person,
  orders: number,
  lines: number,
): Promise<readonly number[]> {
  const ids: number[] = []
  for (let order = 0; order < orders; order++) {
    const order_id = await create(fixture, fixture.admin.key, 'orders', {
      ...{ number: `${id}-${order}`, margin: 7, pin: 'the pin', buyer_id: id },
    })
    ids.push(order_id)
    const items = Array.from({ length: lines }, (_, line) => ({
      sku: `s${line}`,
      hidden: line === 0 ? 1 : 0,
      order_id,
    }))
    const body = items as unknown as object
    assert.equal(
      (await fixture.call('/api/v1/lines', { method: 'POST', key: fixture.admin.key, body })).status,
      201,
    )
  }
  return ids
}

for (const setup of chosen([sqlite, postgres, postgresRowSecurity])) {
  describe(setup.name, () => {
    const withShop = sharedFixtures(setup, { quotas: { cascade } }, shop)

    test('the copy contains what belongs to the person along the marks, as far as they may read it', () =>
      withShop(async fixture => {
        const { call, ann, ben, admin } = fixture
        const [order = 0] = await seedOrders(fixture, ann, 1, 3)
        await seedOrders(fixture, ben, 1, 2)
        const review = await create(fixture, admin.key, 'reviews', { text: 'good', author_id: ann.id })
        await create(fixture, admin.key, 'reviews', { text: 'bad', author_id: ben.id })
        await create(fixture, admin.key, 'secrets', { about_id: ann.id, note: 'only for administrators' })
        const invoice = await create(fixture, admin.key, 'invoices', { order_id: order })
        const draft = await create(fixture, ann.key, 'drafts', { title: 'mine' })
        await create(fixture, ann.key, 'visits', { place: 'not personal' })

        const own = await call(path(ann), { key: ann.key })
        assert.equal(own.status, 200, own.text)
        assert.equal(own.headers.get('content-type'), 'application/x-ndjson')
        assert.equal(
          own.headers.get('content-disposition'),
          `attachment; filename="personal_data_${ann.id}.ndjson"`,
        )
        const found = rowsIn(own).map(({ collection, item }) => `${collection} ${item['sku'] ?? item['id']}`)
        const [key] = found.filter(name => name.startsWith('api_keys'))
        assert.deepEqual(found, [
          `users ${ann.id}`,
          `orders ${order}`,
          'lines s1',
          'lines s2',
          `reviews ${review}`,
          `invoices ${invoice}`,
          `drafts ${draft}`,
          key,
        ])
        const { item } = rowsIn(own)[1] ?? assert.fail()
        const { created_at: _, ...fields } = item
        // `margin` is for administrators, `pin` write-only, `trace` internal.
        assert.deepEqual(fields, { id: order, number: `${ann.id}-0`, buyer_id: ann.id })
        for (const secret of ['the pin', 'password_hash', 'only for administrators', 'not personal'])
          assert.ok(!own.text.includes(secret), secret)

        // Somebody else gets the same: what the person may read, and not what they may read themselves.
        assert.equal((await call(path(ann, because), { key: admin.key })).text, own.text)
      }))

    test('nobody but the person and administrators with a reason gets it, and no third-party app', () =>
      withShop(async fixture => {
        const { call, ann, ben, cleo, admin } = fixture
        await seedOrders(fixture, ann, 1, 2)
        const scopes = ['openid', 'read:user', 'write:user', 'read:order', 'read:line']
        const app = await fixture.app({ scopes, default_scopes: scopes })
        const tokenOf = async (person: Person) =>
          (await newTokens(fixture, app, { browser: fixture.browser(), person, scope: scopes.join(' ') }))
            .access_token
        const annsApp = await tokenOf(ann)
        const adminsApp = await tokenOf(admin)
        const limited = async (person: Person, ...keyScopes: string[]) => {
          const body = { name: 'limited', scopes: keyScopes }
          const created = await call('/api/v1/api_keys', { method: 'POST', key: person.key, body })
          return String(created.json['key'])
        }
        const refusals: readonly (readonly [string, string | undefined, string, number])[] = [
          ['no credential', undefined, path(ann), 401],
          ['another user', ben.key, path(ann), 403],
          ['another user with a reason', cleo.key, path(ann, because), 403],
          ['another user, of nobody', ben.key, path({ id: 999_999 }, because), 403],
          ["an app of the person's", annsApp, path(ann), 403],
          ["an app of an administrator's", adminsApp, path(ann, because), 403],
          ['an administrator without a reason', admin.key, path(ann), 400],
          ['an administrator with an empty reason', admin.key, path(ann, '?reason=+'), 400],
          ['an administrator with a long reason', admin.key, path(ann, `?reason=${'x'.repeat(501)}`), 400],
          ['a limited key of an administrator', await limited(admin, 'write:user'), path(ann, because), 403],
          ['a limited key without the account', await limited(ann, 'read:order'), path(ann), 403],
          ['an unknown parameter', ann.key, path(ann, '?fields=id'), 400],
          ['nobody’s data', admin.key, path({ id: 999_999 }, because), 404],
        ]
        for (const [name, key, url, status] of refusals) {
          const answer = await call(url, { key })
          assert.equal(answer.status, status, `${name}: ${answer.text}`)
          assert.ok(!answer.text.includes('"item"'), name)
        }
        // An explanation of the request says the same, and has no data.
        for (const [as, url, status] of [
          [ann.id, path(ann), 200],
          [ben.id, path(ann), 403],
          [admin.id, path(ann, because), 200],
        ] as const) {
          const body = { as, method: 'GET', path: url }
          const explained = await call('/api/v1/explain', { method: 'POST', key: admin.key, body })
          assert.equal(explained.json['status'], status, explained.text)
          assert.ok(!explained.text.includes('"item"'))
        }
        const headers = { Accept: 'application/json' }
        assert.equal((await call(path(ann), { key: ann.key, headers })).status, 406)
        // What its scopes cover, and no more.
        const covered = await call(path(ann), { key: await limited(ann, 'read:user', 'read:order') })
        assert.deepEqual(
          rowsIn(covered).map(({ collection }) => collection),
          ['users', 'orders'],
        )
        const batch = { operations: [{ method: 'GET', path: path(ann).slice('/api/v1'.length) }] }
        assert.equal((await call('/api/v1/batch', { method: 'POST', key: ann.key, body: batch })).status, 400)
      }))

    test('a session gets it, and none that has ended', () =>
      withShop(async ({ call, url, ann }) => {
        const cookie = await signedInCookie(url, ann)
        const headers = { ...sameOrigin, Cookie: cookie }
        assert.equal((await call(path(ann), { headers })).status, 200)
        assert.equal((await call('/account/sign-out', { method: 'POST', headers })).status, 204)
        assert.equal((await call(path(ann), { headers })).status, 401)
      }))

    test('an administrator deletes an account at once where that is few items; others may not', () =>
      withShop(async fixture => {
        const { call, ann, ben, admin } = fixture
        await seedOrders(fixture, ann, 1, 2)
        const review = await create(fixture, admin.key, 'reviews', { text: 'stays', author_id: ann.id })
        const erase = (key: string | undefined, { id }: Person, body: object = { reason: 'asked by mail' }) =>
          call(`/api/v1/users/${id}/erase`, { method: 'POST', key, body })
        assert.equal((await erase(undefined, ann)).status, 401)
        for (const person of [ann, ben]) assert.equal((await erase(person.key, ann)).status, 403)
        for (const body of [{}, { reason: '' }, { reason: ' ' }, { reason: 7 }])
          assert.equal((await erase(admin.key, ann, body)).status, 400)
        const scope = 'openid write:user'
        const app = await fixture.app({ scopes: ['openid', 'write:user'], default_scopes: ['openid'] })
        const { access_token } = await newTokens(fixture, app, {
          browser: fixture.browser(),
          person: admin,
          scope,
        })
        assert.equal((await erase(access_token, ann)).status, 403)
        assert.equal((await call(`/api/v1/users/${ann.id}`, { key: admin.key })).status, 200)

        assert.equal((await erase(admin.key, ann)).status, 204)
        assert.equal((await call('/api/v1/me', { key: ann.key })).status, 401)
        assert.equal((await call(`/api/v1/users/${ann.id}`, { key: admin.key })).status, 404)
        const orders = await call(`/api/v1/orders?buyer_id=${ann.id}`, { key: admin.key })
        assert.deepEqual([orders.status, orders.json['meta']], [200, { total: 0, page: 1, per_page: 20 }])
        const { json } = await call(`/api/v1/reviews/${review}`, {})
        assert.deepEqual([json['text'], json['author_id']], ['stays', null])
      }))

    test('an account with more items is unusable from the response on, and deleted in the background', () =>
      withShop(async fixture => {
        const { call, ben, admin } = fixture
        await seedOrders(fixture, ben, 12, 6)
        const orders = async () =>
          (await call(`/api/v1/orders?buyer_id=${ben.id}`, { key: admin.key })).json['meta'] as {
            readonly total: number
          }
        assert.equal((await orders()).total, 12)
        const before = (await call('/api/v1/events?wait=0', { key: admin.key })).json['meta'] as {
          next_after: string
        }
        const erased = await call(`/api/v1/users/${ben.id}/erase`, {
          ...{ method: 'POST', key: admin.key, body: { reason: 'asked by mail' } },
        })
        assert.equal(erased.status, 204, erased.text)
        assert.equal((await call('/api/v1/me', { key: ben.key })).status, 401)
        await until(async () => (await call(`/api/v1/users/${ben.id}`, { key: admin.key })).status === 404)
        assert.equal((await orders()).total, 0)
        const events = await call(
          `/api/v1/events?after=${before.next_after}&types=order.deleted&limit=1000`,
          {
            key: admin.key,
          },
        )
        const data = events.json['data'] as readonly { readonly actor?: { readonly user_id: number } }[]
        assert.equal(data.length, 12)
        assert.deepEqual([...new Set(data.map(({ actor }) => actor?.user_id))], [admin.id])
      }))

    test('nothing is deleted where an item that must stay refers to what would be deleted, however deep', () =>
      withShop(async fixture => {
        const { call, ben, admin } = fixture
        const [first = 0] = await seedOrders(fixture, ben, 12, 6)
        const invoice = await create(fixture, admin.key, 'invoices', { order_id: first })
        const erase = () =>
          call(`/api/v1/users/${ben.id}/erase`, { method: 'POST', key: admin.key, body: { reason: 'asked' } })
        const refused = await erase()
        assert.equal(refused.status, 409, refused.text)
        assert.match(
          refused.text,
          /Items of invoices still refer to the account, or to what is deleted with it, by order_id/,
        )
        assert.equal((await call('/api/v1/me', { key: ben.key })).status, 200)
        const lines = (await call(`/api/v1/lines?order_id=${first}`, { key: ben.key })).json['data']
        // One of the six is hidden.
        assert.equal((lines as readonly unknown[]).length, 5)
        assert.equal(
          (await call(`/api/v1/invoices/${invoice}`, { method: 'DELETE', key: admin.key })).status,
          204,
        )
        assert.equal((await erase()).status, 204)
      }))

    test('an account that is being deleted can be neither enabled nor exported', () =>
      withShop(async fixture => {
        const { call, cleo, admin, deployment } = fixture
        const [order = 0] = await seedOrders(fixture, cleo, 1, 1)
        // It keeps the deletion from ending.
        await create(fixture, admin.key, 'invoices', { order_id: order })
        const user = `/api/v1/users/${cleo.id}`
        const set = (disabled: boolean) => call(user, { method: 'PATCH', key: admin.key, body: { disabled } })
        assert.equal((await set(true)).status, 200)
        const store = await deployment.openStore(checkModel(shop))
        const owner = String(cleo.id)
        const payload = JSON.stringify({ by: admin.id })
        await store.records.put({ kind: deletionRecord, id: owner, owner, payload, expiresAt: null })
        await store.close()
        await until(async () => (await set(false)).status === 409)
        assert.equal((await call(path(cleo, because), { key: admin.key })).status, 409)
        // Nor by a batch.
        const operations = [{ method: 'PATCH', path: `/users/${cleo.id}`, body: { disabled: false } }]
        const batch = await call('/api/v1/batch', { method: 'POST', key: admin.key, body: { operations } })
        assert.equal(batch.status, 409, batch.text)
        assert.equal((await call(user, { key: admin.key })).json['disabled'], true)
      }))

    test('no administrator erases an account that the model lets nobody, or only others, delete', async () => {
      for (const [access, status] of [
        [nobody, 404],
        [owner('id'), 403],
      ] as const) {
        const own = model({ users: users({ access: { delete: access } }) })
        await withFixture(
          {},
          async ({ call, ben, admin }) => {
            const path = `/api/v1/users/${ben.id}`
            const body = { reason: 'asked' }
            assert.equal(
              (await call(`${path}/erase`, { method: 'POST', key: admin.key, body })).status,
              status,
            )
            assert.equal((await call(path, { key: admin.key })).status, 200)
            const document = await call('/api/v1/openapi.json', { key: admin.key })
            assert.equal(document.text.includes('/erase'), access !== nobody)
          },
          own,
          setup,
        )
      }
    })

    test('the copy has no items because of a field that their person may not read', () =>
      withFixture(
        {},
        async fixture => {
          const { ann, admin, call } = fixture
          for (const about_id of [ann.id, admin.id])
            await create(fixture, admin.key, 'reports', { text: 'x', about_id })
          const rows = rowsIn(await call(path(ann), { key: ann.key }))
          assert.deepEqual([...new Set(rows.map(({ collection: of }) => of))], ['users', 'api_keys'])
          const ofAdmin = rowsIn(await call(path(admin), { key: admin.key }))
          assert.ok(ofAdmin.some(({ collection: of }) => of === 'reports'))
        },
        hidden,
        setup,
      ))
  })
}
