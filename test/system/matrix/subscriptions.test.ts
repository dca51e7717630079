/**
 * A subscription delivers exactly what its credential may see, with every credential and over both transports,
 * and ends when the credential is revoked.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { isWhole } from '../../cases.ts'
import { chosen, inWhole } from '../../chosen.ts'
import type { Data } from '../../engine/plan/reference.ts'
import { clientCredentials, type Fixture, post } from '../../identity/conformance/server.ts'
import { postgresNodes, rowSecurityNodes } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { type Context, defaultSecrets, people, rowsOf, type Secrets, type Values } from './context.ts'
import { type Credential, clientTokens, keys, none, scopeSets, tokens } from './credentials.ts'
import { schemaOf } from './graphql.ts'
import { withContext } from './service.ts'
import {
  departure,
  type ErrorStream,
  expectEvents,
  refusedFields,
  type Subscriber,
  subscribe,
  subscribeToRefused,
  type Transport,
  topics,
} from './subscriptions.ts'

const schema = schemaOf()
const all = topics(schema)

const later: Secrets = {
  phone: '+3 333',
  budget: 333,
  passphrase: 'new passphrase',
  ticket: 'T-3',
  text: 'later secret',
}

/** Rows like the existing ones, with other values in unique fields. */
function newRows(): readonly (readonly [string, Values])[] {
  const collections = new Set(['projects', 'tasks', 'labels', 'contacts', 'notices', 'audits'])
  return rowsOf(later)
    .filter(([collection]) => collections.has(collection))
    .map(([collection, values]) => {
      const text = (name: string) => `${String(values[name])}x`
      if (collection === 'projects') return [collection, { ...values, slug: text('slug') }] as const
      if (collection === 'labels') return [collection, { ...values, name: text('name') }] as const
      if (collection === 'contacts') return [collection, { ...values, email: text('email') }] as const
      return [collection, values] as const
    })
}

/** Changes that reveal, hide or transfer existing rows. */
const changes: readonly (readonly [string, number, Values])[] = [
  ['projects', 4, { visibility: 'open' }],
  ['projects', 1, { visibility: 'members' }],
  ['projects', 2, { owner_id: people.cleo }],
  ['projects', 3, { budget: 5 }],
  ['tasks', 2, { state: 'done', notes: later.text }],
  ['tasks', 5, { notes: later.text, ticket: later.ticket }],
  ['contacts', 1, { blocked: true }],
  ['contacts', 2, { blocked: false, passphrase: later.passphrase }],
  ['contacts', 3, { owner_id: people.ann }],
  ['notices', 3, { published_at: '2026-02-01T00:00:00.000Z' }],
  ['notices', 1, { audience: 'staff', title: later.text }],
  ['users', people.root, { phone: later.phone }],
  ['users', people.ben, { bio: 'changed' }],
  ['memberships', 2, { level: 'lead' }],
  ['labels', 1, { shade: '#00ff00' }],
  ['audits', 1, { weight: 9 }],
]

/** Waits until each subscriber has received what is expected. */
async function untilReceived(subscribers: readonly Subscriber[]): Promise<void> {
  const end = performance.now() + 120_000
  const isBehind = () =>
    subscribers.some(({ feeds }) => feeds.some(({ received, expected }) => received.length < expected.length))
  while (isBehind() && performance.now() < end) await wait(10)
  if (isBehind()) compare(subscribers)
}

interface Scene {
  readonly fixture: Fixture
  readonly context: Context
  readonly subscribers: readonly Subscriber[]
}

/** Makes every change, and records the expected events. */
async function changeEverything({ context, subscribers }: Scene): Promise<number> {
  let due = 0
  const note = async (collection: string, id: number, before?: Data) => {
    const kind = before ? 'updated' : 'created'
    due += expectEvents(subscribers, schema, await context.snapshot(), {
      collection,
      kind,
      id,
      ...(before && { before }),
    })
    await untilReceived(subscribers)
  }
  const created: [string, number][] = []
  for (const [collection, values] of newRows()) {
    const id = await context.insert(collection, values)
    created.push([collection, id])
    await note(collection, id)
  }
  for (const [collection, id, values] of changes) {
    const before = await context.snapshot()
    await context.update(collection, id, values)
    await note(collection, id, before)
  }
  // Newest first, so that no deletion cascades.
  for (const [collection, id] of created.reverse()) {
    due += expectEvents(subscribers, schema, await context.snapshot(), { collection, kind: 'deleted', id })
    await context.remove(collection, id)
    await untilReceived(subscribers)
  }
  await wait(400)
  return due
}

function compare(subscribers: readonly Subscriber[]): void {
  for (const { credential, transport, feeds, isEnded } of subscribers) {
    assert.equal(isEnded(), false, `${credential.name} by ${transport} was ended`)
    for (const { topic, received, expected } of feeds)
      assert.deepEqual(received, expected, `${credential.name} by ${transport}: ${topic.root}`)
  }
}

async function openSubscribers(
  fixture: Fixture,
  context: Context,
  credentials: readonly Credential[],
  transports: readonly Transport[],
): Promise<Subscriber[]> {
  const data = await context.snapshot()
  const subscribers: Subscriber[] = []
  for (const credential of credentials)
    for (const transport of transports)
      subscribers.push(await subscribe(fixture.url, { schema, data, credential }, all, transport))
  // An SSE subscription starts shortly after its response headers.
  await wait(300)
  return subscribers
}

const sets = isWhole ? Object.keys(scopeSets) : ['some', 'users']

const rows: Readonly<Record<string, (fixture: Fixture) => Promise<readonly Credential[]>>> = {
  'no credential, keys and client credentials': async fixture => [
    none(),
    ...(await keys(fixture, sets)),
    ...(await clientTokens(fixture)).slice(0, 2),
  ],
  'opaque tokens': fixture => tokens(fixture, 'opaque', sets),
  'JWT access tokens': fixture => tokens(fixture, 'jwt', sets),
}

/**
 * The test consists mostly of waiting: on PostgreSQL one kind of credential is enough, and one way to enforce the rules, since
 * REST and GraphQL are tested with both.
 */
const setupsOf = (name: string) =>
  chosen(
    isWhole || name === 'opaque tokens' ? [sqlite, ...inWhole(postgresNodes), rowSecurityNodes] : [sqlite],
  )

for (const [name, credentials] of Object.entries(rows)) {
  for (const setup of setupsOf(name)) {
    test(`subscribers receive exactly the events that the rules and scopes allow: ${name} (${setup.name})`, async t => {
      const check = async (fixture: Fixture, context: Context) => {
        const subscribers = await openSubscribers(fixture, context, await credentials(fixture), [
          'WebSocket',
          'SSE',
        ])
        try {
          const due = await changeEverything({ fixture, context, subscribers })
          compare(subscribers)
          const silent = subscribers
            .flatMap(({ feeds }) => feeds)
            .filter(({ expected }) => expected.length === 0)
          t.diagnostic(
            `${subscribers.length} subscribers, ${due} events, ${silent.length} topics without one`,
          )
          assert.ok(due > 100 && silent.length > 10)
          assert.ok(
            subscribers.some(({ feeds }) => feeds.some(({ expected }) => expected.includes(departure))),
          )
        } finally {
          for (const { close } of subscribers) close()
        }
      }
      await withContext(check, defaultSecrets, setup)
    })
  }
}

test('a forbidden field gets the error of a query, at the start or with the first event, and no value', async t => {
  await withContext(async (fixture, context) => {
    const data = await context.snapshot()
    const apps = (await clientTokens(fixture)).slice(0, 2)
    const streams: ErrorStream[] = []
    for (const credential of [none(), ...(await keys(fixture, ['some', 'users'])), ...apps]) {
      for (const topic of all.filter(({ kind }) => kind === 'created')) {
        // One field for each error: the others are refused by the same rule.
        const refused = refusedFields({ schema, data, credential }, topic)
        const differing = new Map(refused.map(refusal => [refusal[1], refusal]))
        for (const refusal of differing.values())
          streams.push(await subscribeToRefused(fixture.url, credential, topic, refusal))
      }
    }
    try {
      await wait(300)
      for (const [collection, values] of newRows()) await context.insert(collection, values)
      await wait(1500)
      const codes = new Map<string, number>()
      for (const { name, code, text } of streams) {
        const received = /"code":"([A-Z_]+)"/.exec(text())?.[1]
        codes.set(received ?? 'silence', (codes.get(received ?? 'silence') ?? 0) + 1)
        if (received !== undefined) assert.equal(received, code, `${name}: ${text()}`)
        for (const secret of [later.phone, later.text, later.passphrase, later.ticket, String(later.budget)])
          assert.ok(!text().includes(secret), `${name}: ${text()}`)
        assert.doesNotMatch(text(), /"seen":\{"\w+":[^n}]/, name)
      }
      t.diagnostic(JSON.stringify([...codes]))
      for (const code of ['INSUFFICIENT_SCOPE', 'FORBIDDEN', 'UNAUTHORIZED'])
        assert.ok((codes.get(code) ?? 0) >= 5, code)
    } finally {
      for (const { close } of streams) close()
    }
  })
})

/** The promise is a second; test machines may be busy. */
const maxEndMs = 5000

async function millisecondsToEnd(subscriber: Subscriber): Promise<number> {
  const start = performance.now()
  const reason = await Promise.race([subscriber.end, wait(maxEndMs, undefined)])
  assert.ok(reason !== undefined, `${subscriber.credential.name} by ${subscriber.transport} goes on`)
  return Math.round(performance.now() - start)
}

test('revoking a credential ends all its subscriptions, and no event follows', async t => {
  await withContext(async (fixture, context) => {
    const { call, ann } = fixture
    const created = await call('/api/v1/api_keys', {
      method: 'POST',
      key: ann.key,
      body: { name: 'short', scopes: ['*'] },
    })
    const app = await fixture.app({
      scopes: ['read:label', 'offline_access'],
      default_scopes: ['read:label'],
    })
    const own = await post(`${fixture.url}/oauth/token`, {
      grant_type: 'client_credentials',
      scope: 'read:label',
      ...clientCredentials(app),
    })
    const who = none().who
    const bearer = (token: unknown) => ({ Authorization: `Bearer ${token}` })
    const [opaque] = await tokens(fixture, 'opaque', ['all'])
    const [jwt] = await tokens(fixture, 'jwt', ['all'])
    assert.ok(opaque && jwt)
    const apps = (await call('/api/v1/oauth_apps', { key: ann.key })).json as unknown as {
      data: { id: number; name: string }[]
    }
    const remove = (name: string) => {
      const id = apps.data.find(item => item.name === name)?.id
      return call(`/api/v1/oauth_apps/${id}`, { method: 'DELETE', key: ann.key })
    }
    const cases: readonly (readonly [Credential, () => Promise<{ status: number }>])[] = [
      [
        { name: 'a key that is deleted', headers: bearer(created.json.key), who },
        () => call(`/api/v1/api_keys/${created.json.id}`, { method: 'DELETE', key: ann.key }),
      ],
      [
        { name: "an app's token that it revokes", headers: bearer(own.json.access_token), who },
        () =>
          post(`${fixture.url}/oauth/revoke`, {
            token: String(own.json.access_token),
            ...clientCredentials(app),
          }),
      ],
      [{ ...opaque, name: 'an opaque token of an app that is deleted' }, () => remove('Matrix opaque')],
      [{ ...jwt, name: 'a JWT of an app that is deleted' }, () => remove('Matrix jwt')],
    ]
    const labels = all.filter(({ collection, kind }) => collection.name === 'labels' && kind === 'created')
    const data = await context.snapshot()
    let name = 0
    for (const [credential, revoke] of cases) {
      const subscribers: Subscriber[] = []
      // Anyone may read labels, so only the credential decides.
      const view = { schema, data, credential: { ...credential, who: none().who } }
      for (const transport of ['WebSocket', 'SSE'] as const)
        subscribers.push(await subscribe(fixture.url, view, labels, transport))
      await wait(300)
      const id = await context.insert('labels', { name: `label ${name++}`, shade: null })
      expectEvents(subscribers, schema, await context.snapshot(), {
        collection: 'labels',
        kind: 'created',
        id,
      })
      await untilReceived(subscribers)
      compare(subscribers)
      const revoked = await revoke()
      assert.ok(revoked.status < 300, `${credential.name}: ${revoked.status}`)
      const took = await Promise.all(subscribers.map(millisecondsToEnd))
      t.diagnostic(`${credential.name}: ${took.join(' and ')} ms`)
      await context.insert('labels', { name: `label ${name++}`, shade: null })
      await wait(300)
      // The last message may be the error that ended the subscription.
      const isError = (payload: unknown) => (payload as { errors?: unknown }).errors !== undefined
      for (const { received, expected } of subscribers.flatMap(({ feeds }) => feeds))
        assert.deepEqual(
          received.filter(payload => !isError(payload)),
          expected,
        )
    }
  })
})
