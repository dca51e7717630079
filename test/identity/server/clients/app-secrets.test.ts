import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../../src/base/principal.ts'
import { writeWith } from '../../../../src/engine/plan/run.ts'
import { createPlan } from '../../../../src/engine/plan/system-plans.ts'
import { createBySystem } from '../../../../src/identity/bootstrap.ts'
import {
  AppSecrets,
  addFirst,
  newSecret,
  secretHashes,
} from '../../../../src/identity/server/clients/app-secrets.ts'
import { type AppSecretRow, appById } from '../../../../src/identity/server/clients/apps.ts'
import { secretHash } from '../../../../src/identity/server/secret.ts'
import { chosen } from '../../../chosen.ts'
import blog from '../../../models/blog.ts'
import { postgresRowSecurity } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  inOtherProcess,
  post,
  sharedFixtures,
  withFixture,
} from '../../conformance/server.ts'

const daySeconds = 24 * 60 * 60

async function isAccepted({ url }: Pick<Fixture, 'url'>, app: Pick<App, 'client_id' | 'client_secret'>) {
  const form = { grant_type: 'client_credentials', scope: 'read:post', ...app }
  return (await post(`${url}/oauth/token`, form)).status === 200
}

interface Listed {
  readonly id: number
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
}

async function secretsOf({ call, ann }: Fixture, app: Pick<App, 'id'>): Promise<readonly Listed[]> {
  const { json, text } = await call(`/api/v1/oauth_app_secrets?app_id=${app.id}`, { key: ann.key })
  assert.ok(!text.includes('hash'))
  return json.data as unknown as Listed[]
}

async function rotate({ call, ann }: Fixture, app: App): Promise<App & { readonly secretId: number }> {
  const body = { app_id: app.id }
  const created = await call('/api/v1/oauth_app_secrets', { method: 'POST', key: ann.key, body })
  assert.equal(created.status, 201, created.text)
  return { ...app, client_secret: String(created.json.client_secret), secretId: Number(created.json.id) }
}

async function end({ call, ann }: Fixture, id: number): Promise<void> {
  const deleted = await call(`/api/v1/oauth_app_secrets/${id}`, { method: 'DELETE', key: ann.key })
  assert.equal(deleted.status, 204, deleted.text)
}

for (const setup of chosen([sqlite, postgresRowSecurity])) {
  const withShared = sharedFixtures(setup)
  const on = (settings: object, use: (fixture: Fixture) => Promise<void>) =>
    Object.keys(settings).length === 0 ? withShared(use) : withFixture(settings, use, blog, setup)

  test(`${setup.name}: the first secret is listed, and is invalid as soon as it is deleted`, () =>
    on({}, async fixture => {
      const app = await fixture.app()
      const [first, ...more] = await secretsOf(fixture, app)
      assert.ok(first && more.length === 0)
      assert.equal(first.prefix, app.client_secret.slice(0, 10))
      assert.equal(first.expires_at, null)
      const renewed = await rotate(fixture, app)
      assert.ok(
        (await isAccepted(fixture, clientCredentials(app))) &&
          (await isAccepted(fixture, clientCredentials(renewed))),
      )
      await end(fixture, first.id)
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))), 'a deleted first secret works')
      assert.ok(await isAccepted(fixture, clientCredentials(renewed)))
      // The last secret can be deleted too; a rotation then creates one.
      await end(fixture, renewed.secretId)
      assert.ok(!(await isAccepted(fixture, clientCredentials(renewed))))
      assert.ok(await isAccepted(fixture, clientCredentials(await rotate(fixture, app))))
    }))

  test(`${setup.name}: a rotation stores the expiry of earlier secrets, and deleting the new secret does not undo it`, () =>
    on({ secretOverlap: '0 s' }, async fixture => {
      const app = await fixture.app()
      const renewed = await rotate(fixture, app)
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
      await end(fixture, renewed.secretId)
      assert.ok(
        !(await isAccepted(fixture, clientCredentials(app))),
        'a deleted newer secret revives an older one',
      )
      const [first] = await secretsOf(fixture, app)
      assert.ok(first?.expires_at && Date.parse(first.expires_at) <= Date.now())
    }))
}

test('only its owner can delete a secret, by GraphQL too', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const [first] = await secretsOf(fixture, app)
    const path = `/api/v1/oauth_app_secrets/${first?.id}`
    const refused = await fixture.call(path, { method: 'DELETE', key: fixture.ben.key })
    assert.equal(refused.status, 404)
    assert.ok(await isAccepted(fixture, clientCredentials(app)))
    const query = `mutation { deleteOauthAppSecret(id: "${first?.id}") }`
    const ended = await fixture.call('/graphql', { method: 'POST', key: fixture.ann.key, body: { query } })
    assert.doesNotMatch(ended.text, /errors/)
    assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
  })
})

test('a caller who may not delete a secret changes nothing', async () => {
  await withFixture({}, async fixture => {
    const { deployment, call, ann, ben } = fixture
    const app = await fixture.app()
    const ends = () =>
      inOtherProcess({ deployment }, async run =>
        (await appById(run, app.id))?.secrets.map(({ expires_at }) => expires_at),
      )
    const first = await inOtherProcess({ deployment }, async run => {
      // State left by another node that has created a secret but not yet stored the expiry of the older one.
      await createBySystem(run, 'oauth_app_secrets', {}, { ...newSecret().computed, app_id: app.id })
      return (await appById(run, app.id))?.secrets.at(-1)
    })
    assert.ok(first)
    const path = `/api/v1/oauth_app_secrets/${first.id}`
    const scoped = { name: 'Reads', scopes: ['read:oauth_app_secret'] }
    const created = await call('/api/v1/api_keys', { method: 'POST', key: ann.key, body: scoped })
    const callers = [
      { key: ben.key, status: 404 },
      { key: undefined, status: 401 },
      { key: String(created.json.key), status: 403 },
    ]
    for (const { key, status } of callers) {
      const refused = await call(path, { method: 'DELETE', ...(key === undefined ? undefined : { key }) })
      assert.equal(refused.status, status, refused.text)
      const query = `mutation { deleteOauthAppSecret(id: "${first.id}") }`
      await call('/graphql', {
        method: 'POST',
        body: { query },
        ...(key === undefined ? undefined : { key }),
      })
      assert.deepEqual(await ends(), [null, null])
    }
  })
})

test('all the secrets of an app work during their overlap, and one beyond the limit is refused', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const secrets = [app.client_secret]
    await inOtherProcess(fixture, async run => {
      const rotating = new AppSecrets({ run, overlapSeconds: daySeconds })
      while (secrets.length < 50) secrets.push(await rotating.rotate(app.id))
      await assert.rejects(rotating.rotate(app.id), { code: 'CONFLICT' })
      const hashes = secretHashes((await appById(run, app.id)) ?? assert.fail(), daySeconds)
      assert.deepEqual(
        hashes.map(({ hash }) => hash),
        secrets.map(secretHash).toReversed(),
      )
      for (const [age, { expiresAt }] of hashes.entries()) assert.equal(expiresAt === undefined, age === 0)
    })
    assert.ok(await isAccepted(fixture, clientCredentials(app)), 'the oldest secret does not work')
  })
})

test('a rotation with a shorter overlap brings expiries forward, and one with a longer overlap delays none', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    await inOtherProcess(fixture, async run => {
      const ends = async () => (await appById(run, app.id))?.secrets.map(({ expires_at }) => expires_at)
      const rotate = (overlapSeconds: number) => new AppSecrets({ run, overlapSeconds }).rotate(app.id)
      await rotate(daySeconds)
      const [, first] = (await ends()) ?? []
      assert.ok(first && Date.parse(first) > Date.now() + (daySeconds - 600) * 1000)
      await rotate(0)
      const [newest, ...older] = (await ends()) ?? []
      assert.equal(newest, null)
      assert.equal(older.length, 2)
      for (const end of older) assert.ok(end && Date.parse(end) <= Date.now(), String(end))
      await rotate(daySeconds)
      assert.deepEqual((await ends())?.slice(2), older)
    })
    assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
  })
})

test('deleting a secret whose rotation another node has not finished first stores the expiries it causes', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    await inOtherProcess(fixture, async run => {
      const id = await createBySystem(
        run,
        'oauth_app_secrets',
        {},
        { ...newSecret().computed, app_id: app.id },
      )
      await new AppSecrets({ run, overlapSeconds: 0 }).end(id)
      const [first, ...more] = (await appById(run, app.id))?.secrets ?? []
      assert.ok(first?.expires_at && more.length === 0)
      assert.ok(Date.parse(first.expires_at) <= Date.now())
    })
    assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
  })
})

test('creating an app is rolled back if its first secret cannot be stored', async () => {
  await withFixture({}, async ({ deployment, ann, call }) => {
    await inOtherProcess({ deployment }, async run => {
      const values = { name: 'Half', redirect_uris: [] }
      const plan = createPlan('oauth_apps', values, { client_id: 'app_half', user_id: ann.id })
      const first = newSecret()
      const twice = writeWith(function* (id) {
        yield* addFirst(id, first)
        yield* addFirst(id, first)
      })
      await assert.rejects(run.write(plan, system, twice), { code: 'CONFLICT' })
    })
    assert.deepEqual((await call('/api/v1/oauth_apps', { key: ann.key })).json.data, [])
  })
})

const at = (hour: number) => new Date(Date.UTC(2026, 0, 1, hour)).toISOString()

function row(id: number, hour: number, expires: string | null): AppSecretRow {
  return { id, hash: `hash ${id}`, prefix: `ps_${id}`, created_at: at(hour), expires_at: expires }
}

test('each newer secret sets the expiry of earlier ones, and the earliest expiry applies', () => {
  const hour = Date.UTC(2026, 0, 1)
  const cases: readonly (readonly [readonly AppSecretRow[], readonly (number | undefined)[]])[] = [
    // No expiry is stored yet.
    [
      [row(3, 9, null), row(2, 2, null), row(1, 0, null)],
      [undefined, 10, 3],
    ],
    // A clock that was set back does not change which secret is newer.
    [
      [row(3, 1, null), row(2, 9, null)],
      [undefined, 2],
    ],
    // A stored expiry is never delayed, whatever is deleted or set.
    [[row(2, 2, at(3))], [3]],
    [
      [row(4, 2, null), row(2, 0, at(9))],
      [undefined, 9],
    ],
    // An expiring secret still sets the expiry of earlier ones.
    [
      [row(3, 4, at(7)), row(2, 0, null), row(1, 0, null)],
      [7, 5, 1],
    ],
    [[row(2, 5, null)], [undefined]],
  ]
  for (const [secrets, ends] of cases) {
    const found = secretHashes({ secrets }, 3600).map(({ expiresAt }) => expiresAt)
    const expected = ends.map(end => (end === undefined ? undefined : hour + end * 3600 * 1000))
    assert.deepEqual(found, expected)
  }
})
