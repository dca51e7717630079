/** Who acts: the caller's app in logic and defaults, and the caller as the actor of what an action writes as the service. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  action,
  anyone,
  check,
  collection,
  currentApp,
  integer,
  model,
  on,
  query,
  relation,
  route,
  signedIn,
  string,
  text,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { chosen } from '../../chosen.ts'
import {
  type App,
  clientCredentials,
  type Fixture,
  newTokens,
  post,
  withFixture,
} from '../../identity/conformance/server.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

type Seen = readonly [place: string, caller: unknown]
/** What the model's code has been given. */
let seen: Seen[] = []
/** The types and actors of the events that the reaction was given. */
let actors: unknown[] = []
/** Awaited by the route before it writes. */
let beforeLate = async (): Promise<unknown> => undefined

const declared = model(
  {
    courses: collection({
      fields: {
        title: string(),
        made_by: string({ optional: true, readOnly: true }),
        partner_id: relation('oauth_apps', {
          optional: true,
          inverse: 'courses',
          default: currentApp,
          readOnly: true,
        }),
      },
      prepare({ caller }) {
        seen.push(['prepare', caller])
        return { made_by: caller?.app?.name ?? null }
      },
      check({ caller }) {
        seen.push(['check', caller])
        return []
      },
      access: { read: anyone, create: anyone, delete: anyone },
    }),
  },
  {
    checks: {
      courses: check(async ({ caller }) => {
        seen.push(['checks', caller])
        return []
      }),
    },
    actions: {
      settle: action({
        input: { title: string() },
        access: anyone,
        async run({ input, caller, data }) {
          seen.push(['settle', caller])
          await data.asSystem.courses.create({ title: input.title })
        },
      }),
    },
  },
  {
    actions: {
      book: action({
        input: { title: string() },
        access: anyone,
        async run({ input, caller, data, actions }) {
          seen.push(['book', caller])
          await data.courses.create({ title: `own ${input.title}` })
          await data.asSystem.courses.create({ title: `system ${input.title}` })
          await data.transaction(async (inner, effects) => {
            await inner.asSystem.courses.create({ title: `transaction ${input.title}` })
            await effects.actions.asSystem.settle({ title: `settled as system ${input.title}` })
          })
          await actions.settle({ title: `settled ${input.title}` })
        },
      }),
    },
    queries: {
      who: query({
        output: { user: integer({ optional: true }), app: text({ optional: true }) },
        access: anyone,
        run: ({ caller }) => ({
          user: caller?.id ?? null,
          app: caller?.app ? JSON.stringify(caller.app) : null,
        }),
      }),
      mine: query({
        output: { user: integer() },
        access: signedIn,
        run: ({ caller }) => ({ user: caller.id }),
      }),
    },
    routes: {
      late: route({
        path: '/hooks/late',
        access: anyone,
        async run({ data }) {
          await beforeLate()
          const refused: unknown[] = []
          await data.courses.create({ title: 'late' }).catch((error: unknown) => refused.push(error))
          await data.asSystem.courses.create({ title: 'by a route' })
          return { status: 200, body: JSON.stringify({ code: (refused[0] as { code?: string })?.code }) }
        },
      }),
      whoever: route({
        method: 'GET',
        path: '/hooks/whoever',
        access: anyone,
        run: ({ caller }) => ({ status: 200, body: JSON.stringify({ caller }) }),
      }),
    },
    reactions: {
      kept: on('course.created', ({ event }) => {
        actors.push([event.data.title, event.actor])
      }),
    },
  },
)

const maxCascade = 5
const registrationToken = 'an-initial-access-token-that-is-long'
const scopes = [...checkModel(declared).scopes.keys(), 'offline_access']

interface Caller {
  readonly headers: Readonly<Record<string, string>>
  readonly id: number | null
  readonly app: App | null
}

const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` })

async function callersOf(fixture: Fixture): Promise<Readonly<Record<string, Caller>>> {
  const { ann, ben, call, url } = fixture
  const app = await fixture.app({ name: 'Finder', scopes, default_scopes: null })
  const scope = scopes.join(' ')
  const options = { browser: fixture.browser(), person: ben, scope }
  const token = bearer((await newTokens(fixture, app, options)).access_token)
  const body = { name: 'made', scopes: scopes.filter(name => name !== 'offline_access') }
  const key = await call('/api/v1/api_keys', { method: 'POST', headers: token, body })
  assert.equal(key.status, 201, key.text)
  const alone = await post(`${url}/oauth/token`, {
    grant_type: 'client_credentials',
    scope: body.scopes.join(' '),
    ...clientCredentials(app),
  })
  assert.equal(alone.status, 200, alone.text)
  return {
    anonymous: { headers: {}, id: null, app: null },
    'a user': { headers: bearer(ann.key), id: ann.id, app: null },
    'an app for a user': { headers: token, id: ben.id, app },
    'a key that an app has made': { headers: bearer(key.json['key']), id: ben.id, app },
    'an app without a user': { headers: bearer(alone.json['access_token']), id: null, app },
  }
}

const appOf = ({ app }: Caller, name = 'Finder') => app && { id: app.id, name }

for (const setup of chosen([sqlite, postgres, postgresRowSecurity])) {
  describe(setup.name, () => {
    const test = (name: string, use: (fixture: Fixture) => Promise<void>) =>
      it(name, () =>
        withFixture(
          {
            rateLimit: 'off',
            autoMigrate: true,
            quotas: { cascade: maxCascade },
            'oauth.registrationToken': registrationToken,
          },
          use,
          declared,
          setup,
        ),
      )

    test('all code is given the app, with the name that it has at the time', async fixture => {
      const { call, ann } = fixture
      const callers = await callersOf(fixture)
      const whoAll = async (name: string) => {
        for (const [title, caller] of Object.entries(callers)) {
          const { headers, id } = caller
          const app = appOf(caller, name)
          const { json, text } = await call('/api/v1/queries/who', { headers })
          assert.deepEqual(json, { user: id, app: app && JSON.stringify(app) }, `${title}: ${text}`)
          const hook = JSON.parse((await call('/hooks/whoever', { headers })).text).caller
          assert.deepEqual([hook?.id ?? null, hook?.app ?? null], [id, app], title)
          assert.equal(hook?.thirdParty, id === null && app === null ? undefined : app !== null, title)
          seen = []
          const created = await call('/api/v1/courses', { method: 'POST', headers, body: { title: 'A' } })
          assert.deepEqual(
            [created.json['made_by'], created.json['partner_id']],
            [app?.name ?? null, app?.id ?? null],
            `${title}: ${created.text}`,
          )
          const places = seen.map(([place]) => place)
          assert.deepEqual(new Set(places), new Set(['prepare', 'check', 'checks']), title)
          for (const [place, value] of seen as [
            string,
            { id: unknown; role: unknown; app: unknown } | null,
          ][]) {
            if (id === null && app === null) assert.equal(value, null, place)
            else assert.deepEqual([value?.id, value?.app], [id, app], `${title}: ${place}`)
            if (id === null && app !== null) assert.equal(value?.role, null)
          }
        }
      }
      await whoAll('Finder')
      const id = callers['an app without a user']?.app?.id
      const renamed = await call(`/api/v1/oauth_apps/${id}`, {
        method: 'PATCH',
        key: ann.key,
        body: { name: 'Seeker' },
      })
      assert.equal(renamed.status, 200, renamed.text)
      await whoAll('Seeker')
      const refused = await call('/api/v1/queries/mine', callers['an app without a user'])
      assert.equal(refused.code, 'FORBIDDEN', refused.text)
    })

    test('what an action writes as the service has its caller as the actor, by the action', async fixture => {
      const { call, admin, ben } = fixture
      const callers = await callersOf(fixture)
      for (const [title, caller] of Object.entries(callers)) {
        const { headers, id } = caller
        const app = appOf(caller)
        const start = await call('/api/v1/events', { key: admin.key })
        const { next_after: after } = start.json['meta'] as { readonly next_after: string }
        actors = []
        const booked = await call('/api/v1/actions/book', { method: 'POST', headers, body: { title } })
        assert.equal(booked.status, 204, booked.text)
        const by = id === null && app === null ? undefined : { user_id: id, app_id: app?.id ?? null }
        const expected = [
          [`own ${title}`, by],
          [`system ${title}`, by && { ...by, via: 'book' }],
          [`transaction ${title}`, by && { ...by, via: 'book' }],
          [`settled as system ${title}`, by && { ...by, via: 'settle' }],
          [`settled ${title}`, by && { ...by, via: 'settle' }],
        ]
        const eventsFor = async (key: string) => {
          const { json } = await call(`/api/v1/events?after=${after}&collections=courses`, { key })
          const events = json['data'] as readonly { data: { title: string }; actor?: unknown }[]
          return events.map(({ data, actor }) => [data.title, actor])
        }
        assert.deepEqual(await eventsFor(admin.key), expected, title)
        // Ben may not read Ann's app, which acts without a user.
        const isShown = id !== null
        assert.deepEqual(
          await eventsFor(ben.key),
          isShown ? expected : expected.map(([name]) => [name, undefined]),
        )
        for (let waitedMs = 0; actors.length < expected.length && waitedMs < 120_000; waitedMs += 20)
          await new Promise(resolve => setTimeout(resolve, 20))
        const inReactions = expected.map(([name, actor]) => [name, actor ?? null])
        const sorted = (rows: readonly unknown[]) => rows.map(row => JSON.stringify(row)).sort()
        assert.deepEqual(sorted(actors), sorted(inReactions), title)
      }
    })

    test('what an action writes as the service has the app of its caller', async fixture => {
      const { call, admin } = fixture
      for (const [title, { headers, app }] of Object.entries(await callersOf(fixture))) {
        const booked = await call('/api/v1/actions/book', { method: 'POST', headers, body: { title } })
        assert.equal(booked.status, 204, booked.text)
        const { json } = await call('/api/v1/courses?sort=-id&per_page=5', { key: admin.key })
        const courses = json['data'] as readonly { readonly partner_id: number | null }[]
        const partners = courses.map(({ partner_id: partner }) => partner)
        assert.deepEqual(partners, Array(5).fill(app?.id ?? null), title)
      }
    })

    test('an app that has registered itself is a third party', async fixture => {
      const { call, url, ben } = fixture
      const registered = await call('/oauth/register', {
        method: 'POST',
        key: registrationToken,
        body: { redirect_uris: ['https://app.example.com/cb'], scope: 'read:course write:course' },
      })
      assert.equal(registered.status, 201, registered.text)
      const options = { browser: fixture.browser(), person: ben, scope: 'read:course write:course' }
      const headers = bearer(
        (await newTokens(fixture, registered.json as unknown as App, options)).access_token,
      )
      const { caller } = JSON.parse((await call('/hooks/whoever', { headers })).text)
      assert.deepEqual([caller.id, caller.app, caller.thirdParty], [ben.id, null, true], url)
    })

    test('an app sees that it has made the events that it made without a user', async fixture => {
      const { call } = fixture
      const alone = (await callersOf(fixture))['an app without a user'] as Caller
      const other = await fixture.app({ name: 'Other', scopes, default_scopes: scopes })
      const form = { grant_type: 'client_credentials', ...clientCredentials(other) }
      const { access_token: otherToken } = (await post(`${fixture.url}/oauth/token`, form)).json
      const body = { title: 'A' }
      assert.equal(
        (await call('/api/v1/courses', { method: 'POST', headers: alone.headers, body })).status,
        201,
      )
      const actorsFor = async (headers: Caller['headers']) => {
        const { json, text } = await call('/api/v1/events?after=0&collections=courses', { headers })
        assert.ok(Array.isArray(json['data']), text)
        return (json['data'] as readonly { readonly actor?: unknown }[]).map(({ actor }) => actor)
      }
      assert.deepEqual(await actorsFor(alone.headers), [{ user_id: null, app_id: alone.app?.id }])
      assert.deepEqual(await actorsFor(bearer(otherToken)), [undefined])
    })

    test('a write whose app is deleted meanwhile is refused as one without a valid credential', async fixture => {
      const { call, ann, admin } = fixture
      const callers = await callersOf(fixture)
      const { headers, app } = callers['an app without a user'] as Caller
      beforeLate = () => call(`/api/v1/oauth_apps/${app?.id}`, { method: 'DELETE', key: ann.key })
      const late = await call('/hooks/late', { method: 'POST', headers, body: {} })
      assert.equal(late.text, JSON.stringify({ code: 'UNAUTHORIZED' }))
      const { json } = await call('/api/v1/courses', { key: admin.key })
      const courses = json['data'] as readonly { readonly title: string; readonly partner_id: unknown }[]
      assert.deepEqual(
        courses.map(course => [course.title, course.partner_id]),
        [['by a route', null]],
      )
    })

    test('the access of an app ends even if too many items refer to it to delete it at once', async fixture => {
      const { call, ann, ben, admin } = fixture
      const callers = await callersOf(fixture)
      const own = ['an app without a user', 'an app for a user', 'a key that an app has made']
      const { app } = callers['an app for a user'] as Caller
      const { headers } = callers['a key that an app has made'] as Caller
      const body = { title: 'A' }
      for (let count = 0; count <= maxCascade; count++)
        assert.equal((await call('/api/v1/courses', { method: 'POST', headers, body })).status, 201)
      const path = `/api/v1/oauth_apps/${app?.id}`
      const statuses = () =>
        Promise.all(
          own.map(async name => {
            const { status } = await call('/api/v1/queries/who', { headers: callers[name]?.headers ?? {} })
            return status
          }),
        )
      assert.equal((await call(path, { method: 'DELETE', key: ben.key })).status, 404)
      const explained = { as: ann.id, method: 'DELETE', path }
      const explanation = await call('/api/v1/explain', { method: 'POST', key: admin.key, body: explained })
      assert.deepEqual([explanation.json['allowed'], explanation.json['status']], [false, 409])
      assert.deepEqual(await statuses(), [200, 200, 200])
      const refused = await call(path, { method: 'DELETE', key: ann.key })
      assert.equal(refused.status, 409, refused.text)
      assert.match(refused.text, /The access of the app has ended\. .*`portico delete oauth_apps \d+`/)
      assert.deepEqual(await statuses(), [401, 401, 401])
      const { json } = await call('/api/v1/courses', { key: admin.key })
      const courses = json['data'] as readonly { readonly id: number }[]
      for (const { id } of courses.slice(0, 4))
        assert.equal((await call(`/api/v1/courses/${id}`, { method: 'DELETE', key: admin.key })).status, 204)
      const gone = await call(path, { method: 'DELETE', key: ann.key })
      assert.equal(gone.status, 204, gone.text)
    })

    test('a deleted app leaves its items, without it', async fixture => {
      const { call, ann, admin } = fixture
      const callers = await callersOf(fixture)
      const { headers, app } = callers['an app for a user'] as Caller
      const { json } = await call('/api/v1/courses', { method: 'POST', headers, body: { title: 'A' } })
      assert.equal(json['partner_id'], app?.id)
      const path = `/api/v1/oauth_apps/${app?.id}`
      assert.equal((await call(path, { method: 'DELETE', key: ann.key })).status, 204)
      const left = await call(`/api/v1/courses/${json['id']}`, { key: admin.key })
      assert.deepEqual([left.status, left.json['partner_id']], [200, null])
    })
  })
}
