import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBySystem } from '../../../../src/auth/bootstrap.ts'
import {
  AppSecrets,
  addFirst,
  newSecret,
  secretHashes,
} from '../../../../src/auth/server/clients/app-secrets.ts'
import { type AppSecretRow, appById } from '../../../../src/auth/server/clients/apps.ts'
import { newClientId, newClientSecret, secretHash } from '../../../../src/auth/server/secret.ts'
import { type Run, writeWith } from '../../../../src/plan/run.ts'
import { createPlan } from '../../../../src/plan/system-plans.ts'
import { system } from '../../../../src/principal.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  inOtherProcess,
  post,
  redirectUri,
  sharedFixtures,
  withFixture,
} from '../../../conformance/oauth/server.ts'
import blog from '../../../models/blog.ts'
import { postgresRowSecurity } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'

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

/** An app as older versions stored it, with the hash of its first secret in a column; `others`: later secrets. */
function oldApp({ deployment, ann }: Fixture, others: readonly string[] = []): Promise<App> {
  return inOtherProcess({ deployment }, async run => {
    const app = { client_id: newClientId(), client_secret: newClientSecret(), redirect_uris: [redirectUri] }
    const values = { name: 'Old', redirect_uris: app.redirect_uris }
    const { client_id, client_secret } = app
    const computed = { client_id, secret_hash: secretHash(client_secret), user_id: ann.id }
    const id = await createBySystem(run, 'oauth_apps', values, computed)
    for (const other of others) {
      const secret = { app_id: id, hash: secretHash(other), prefix: other.slice(0, 10) }
      await createBySystem(run, 'oauth_app_secrets', {}, secret)
    }
    return { ...app, id }
  })
}

for (const setup of [sqlite, postgresRowSecurity]) {
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

  test(`${setup.name}: the start moves a secret from an older version’s column to a row`, () =>
    on({}, async fixture => {
      const app = await oldApp(fixture)
      await fixture.restart()
      const [first, ...more] = await secretsOf(fixture, app)
      assert.ok(first && more.length === 0)
      assert.deepEqual([first.prefix, first.expires_at], ['ps_', null])
      assert.ok(await isAccepted(fixture, clientCredentials(app)))
      await end(fixture, first.id)
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
      await fixture.restart()
      assert.ok(
        !(await isAccepted(fixture, clientCredentials(app))),
        'a deleted secret works again after a restart',
      )
      assert.deepEqual(await secretsOf(fixture, app), [])
    }))

  test(`${setup.name}: the secret of an app that an older node has created is moved at the first look-up`, () =>
    on({}, async fixture => {
      const app = await oldApp(fixture)
      assert.ok(await isAccepted(fixture, clientCredentials(app)))
      const [first] = await secretsOf(fixture, app)
      assert.ok(first)
      await end(fixture, first.id)
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
    }))

  test(`${setup.name}: a rotation by an older node is honoured, even after its secret is deleted here`, () =>
    on({ secretOverlap: '0 s' }, async fixture => {
      const other = newClientSecret()
      const app = await oldApp(fixture, [other])
      const renewed = { client_id: app.client_id, client_secret: other }
      assert.ok(await isAccepted(fixture, renewed))
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
      const [row, ...more] = await secretsOf(fixture, app)
      assert.ok(row && more.length === 0, 'an expired secret is moved')
      await end(fixture, row.id)
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
    }))

  test(`${setup.name}: a first secret with an expiry keeps it when it is moved`, () =>
    on({ secretOverlap: '1 d' }, async fixture => {
      const other = newClientSecret()
      const app = await oldApp(fixture, [other])
      const renewed = { client_id: app.client_id, client_secret: other }
      assert.ok((await isAccepted(fixture, clientCredentials(app))) && (await isAccepted(fixture, renewed)))
      const rows = await secretsOf(fixture, app)
      const newer = rows.find(({ prefix }) => prefix !== 'ps_')
      const first = rows.find(({ prefix }) => prefix === 'ps_')
      assert.ok(newer && first && rows.length === 2)
      assert.deepEqual(
        [newer.expires_at, first.expires_at],
        [null, new Date(Date.parse(newer.created_at) + daySeconds * 1000).toISOString()],
      )
    }))

  test(`${setup.name}: two nodes that move the same secret create one row, and a late one creates none`, () =>
    on({}, async fixture => {
      const app = await oldApp(fixture)
      await inOtherProcess(fixture, async (run, { records }) => {
        const secrets = new AppSecrets({ run, records, overlapSeconds: daySeconds })
        await Promise.all(Array.from({ length: 5 }, () => secrets.settle(app.id)))
        const [first, ...more] = (await appById(run, app.id))?.secrets ?? []
        assert.ok(first && more.length === 0)
        // A node that has read the column before, and continues after the row was deleted.
        const late = new AppSecrets({
          run: { ...run, list: async (plan, principal) => stale(await run.list(plan, principal)) },
          records,
          overlapSeconds: daySeconds,
        })
        await secrets.end(first.id)
        await late.settle(app.id)
        assert.deepEqual((await appById(run, app.id))?.secrets, [])
        function stale(answer: Awaited<ReturnType<Run['list']>>) {
          const hash = JSON.stringify(secretHash(app.client_secret))
          return {
            ...answer,
            text: answer.text?.replace('"secret_hash":null', `"secret_hash":${hash}`) ?? null,
          }
        }
      })
      assert.ok(!(await isAccepted(fixture, clientCredentials(app))))
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
    const app = await oldApp(fixture)
    const ends = () =>
      inOtherProcess({ deployment }, async run =>
        (await appById(run, app.id))?.secrets.map(({ expires_at }) => expires_at),
      )
    const notes = () =>
      inOtherProcess({ deployment }, async (_run, { records }) => (await records.all('EndedSecret')).length)
    const first = await inOtherProcess({ deployment }, async (run, { records }) => {
      await new AppSecrets({ run, records, overlapSeconds: daySeconds }).settle(app.id)
      // State left by another node that has created a secret but not yet stored the expiry of the older one.
      await createBySystem(run, 'oauth_app_secrets', {}, { ...newSecret().computed, app_id: app.id })
      return (await appById(run, app.id))?.secrets.find(({ prefix }) => prefix === 'ps_')
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
      assert.deepEqual([await ends(), await notes()], [[null, null], 0])
    }
  })
})

test('all the secrets of an app work during their overlap, and one beyond the limit is refused', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    const secrets = [app.client_secret]
    await inOtherProcess(fixture, async (run, { records }) => {
      const rotating = new AppSecrets({ run, records, overlapSeconds: daySeconds })
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
    await inOtherProcess(fixture, async (run, { records }) => {
      const ends = async () => (await appById(run, app.id))?.secrets.map(({ expires_at }) => expires_at)
      const rotate = (overlapSeconds: number) =>
        new AppSecrets({ run, records, overlapSeconds }).rotate(app.id)
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

test('deleting a secret that an older node has created first stores the expiries it causes', async () => {
  await withFixture({}, async fixture => {
    const app = await fixture.app()
    await inOtherProcess(fixture, async (run, { records }) => {
      const id = await createBySystem(
        run,
        'oauth_app_secrets',
        {},
        { ...newSecret().computed, app_id: app.id },
      )
      await new AppSecrets({ run, records, overlapSeconds: 0 }).end(id)
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

function row(id: number, hour: number, expires: string | null, prefix = `ps_${id}`): AppSecretRow {
  return { id, hash: `hash ${id}`, prefix, created_at: at(hour), expires_at: expires }
}

test('each newer secret sets the expiry of earlier ones, and the earliest expiry applies', () => {
  const hour = Date.UTC(2026, 0, 1)
  const cases: readonly (readonly [
    readonly AppSecretRow[],
    string | null,
    readonly (number | undefined)[],
  ])[] = [
    // State left by an older node.
    [[row(3, 9, null), row(2, 2, null)], 'first', [undefined, 10, 3]],
    // A clock that was set back does not change which secret is newer.
    [[row(3, 1, null), row(2, 9, null)], null, [undefined, 2]],
    // A stored expiry is never delayed, whatever is deleted or set.
    [[row(2, 2, at(3))], null, [3]],
    [[row(4, 2, null), row(2, 0, at(9))], null, [undefined, 9]],
    // An expiring secret still sets the expiry of earlier ones.
    [[row(3, 4, at(7)), row(2, 0, null)], 'first', [7, 5, 1]],
    // The moved secret is the oldest, whatever its id, and has one expiry in both places.
    [[row(9, 0, null, 'ps_'), row(2, 5, null)], 'hash 9', [6, undefined]],
    [[row(2, 5, null)], 'hash 2', [undefined]],
  ]
  for (const [secrets, secret_hash, ends] of cases) {
    const found = secretHashes({ secrets, secret_hash }, 3600).map(({ expiresAt }) => expiresAt)
    const expected = ends.map(end => (end === undefined ? undefined : hour + end * 3600 * 1000))
    assert.deepEqual(found, expected)
  }
})
