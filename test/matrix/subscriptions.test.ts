/**
 * Subscriptions: what may be seen arrives, what may not never does, whichever credential asks and by whatever
 * way; and revocation ends them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Fixture, post, secretOf } from '../conformance/oauth/server.ts'
import type { Data } from '../plan/reference.ts'
import { lockedNodes } from '../setups/postgres.ts'
import { setups } from '../setups/setups.ts'
import { sqlite } from '../setups/sqlite.ts'
import { type Context, oneSecret, people, rowsOf, type Secrets, type Values } from './context.ts'
import { type Credential, clientTokens, keys, none, scopeSets, tokens } from './credentials.ts'
import { schemaOf } from './graphql.ts'
import { isWhole, withContext } from './service.ts'
import {
  departure,
  expect,
  type Overheard,
  overhear,
  refusedFields,
  type Subscriber,
  subscribe,
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

/** New rows like those that are there, where what must be unique differs. */
function newRows(): readonly (readonly [string, Values])[] {
  const known = new Set(['projects', 'tasks', 'labels', 'contacts', 'notices', 'audits'])
  return rowsOf(later)
    .filter(([collection]) => known.has(collection))
    .map(([collection, values]) => {
      const text = (name: string) => `${String(values[name])}x`
      if (collection === 'projects') return [collection, { ...values, slug: text('slug') }] as const
      if (collection === 'labels') return [collection, { ...values, name: text('name') }] as const
      if (collection === 'contacts') return [collection, { ...values, email: text('email') }] as const
      return [collection, values] as const
    })
}

/** Changes that show, hide or hand over what is there. */
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

/** Until each has heard what it must, and for a while longer: what must not come would come then. */
async function settled(subscribers: readonly Subscriber[]): Promise<void> {
  const end = performance.now() + 10_000
  const isBehind = () =>
    subscribers.some(({ heard }) => heard.some(({ got, expected }) => got.length < expected.length))
  while (isBehind() && performance.now() < end) await wait(10)
  if (isBehind()) compare(subscribers)
}

interface Scene {
  readonly fixture: Fixture
  readonly context: Context
  readonly subscribers: readonly Subscriber[]
}

/** Makes every change, and tells the subscribers' books what must follow. */
async function changeEverything({ context, subscribers }: Scene): Promise<number> {
  let due = 0
  const note = async (collection: string, id: number, before?: Data) => {
    const kind = before ? 'updated' : 'created'
    due += expect(subscribers, schema, await context.snapshot(), {
      collection,
      kind,
      id,
      ...(before && { before }),
    })
    await settled(subscribers)
  }
  const made: [string, number][] = []
  for (const [collection, values] of newRows()) {
    const id = await context.insert(collection, values)
    made.push([collection, id])
    await note(collection, id)
  }
  for (const [collection, id, values] of changes) {
    const before = await context.snapshot()
    await context.update(collection, id, values)
    await note(collection, id, before)
  }
  // The newest first, so that nothing else goes with one.
  for (const [collection, id] of made.reverse()) {
    due += expect(subscribers, schema, await context.snapshot(), { collection, kind: 'deleted', id })
    await context.remove(collection, id)
    await settled(subscribers)
  }
  await wait(400)
  return due
}

function compare(subscribers: readonly Subscriber[]): void {
  for (const { by, transport, heard, isOver } of subscribers) {
    assert.equal(isOver(), false, `${by.what} by ${transport} was ended`)
    for (const { topic, got, expected } of heard)
      assert.deepEqual(got, expected, `${by.what} by ${transport}: ${topic.root}`)
  }
}

async function opened(
  fixture: Fixture,
  context: Context,
  credentials: readonly Credential[],
  transports: readonly Transport[],
): Promise<Subscriber[]> {
  const data = await context.snapshot()
  const made: Subscriber[] = []
  for (const by of credentials)
    for (const transport of transports)
      made.push(await subscribe(fixture, { schema, data, by }, all, transport))
  // Streams of events are opened when their headers come; a moment later they listen.
  await wait(300)
  return made
}

const sets = isWhole ? Object.keys(scopeSets) : ['some', 'users']

const rows: Readonly<Record<string, (fixture: Fixture) => Promise<readonly Credential[]>>> = {
  'no credential, keys, and apps by themselves': async fixture => [
    none(),
    ...(await keys(fixture, sets)),
    ...(await clientTokens(fixture)).slice(0, 2),
  ],
  'opaque tokens': fixture => tokens(fixture, 'opaque', sets),
  'JWT access tokens': fixture => tokens(fixture, 'jwt', sets),
}

/** Most of this is waiting: beside SQLite one kind of credential stands for all. */
const setupsOf = (what: string) => (isWhole || what === 'opaque tokens' ? [...setups, lockedNodes] : [sqlite])

for (const [what, credentials] of Object.entries(rows)) {
  for (const setup of setupsOf(what)) {
    test(`subscribers hear exactly what the rules and scopes allow: ${what} (${setup.name})`, async t => {
      const check = async (fixture: Fixture, context: Context) => {
        const subscribers = await opened(fixture, context, await credentials(fixture), ['WebSocket', 'SSE'])
        try {
          const due = await changeEverything({ fixture, context, subscribers })
          compare(subscribers)
          const silent = subscribers
            .flatMap(({ heard }) => heard)
            .filter(({ expected }) => expected.length === 0)
          t.diagnostic(
            `${subscribers.length} subscribers, ${due} events, ${silent.length} topics without one`,
          )
          assert.ok(due > 100 && silent.length > 10)
          assert.ok(
            subscribers.some(({ heard }) => heard.some(({ expected }) => expected.includes(departure))),
          )
        } finally {
          for (const { close } of subscribers) close()
        }
      }
      await withContext(check, oneSecret, setup)
    })
  }
}

test('what one may not ask for is refused by the same code as a query, at once or at the first event', async t => {
  await withContext(async (fixture, context) => {
    const data = await context.snapshot()
    const apps = (await clientTokens(fixture)).slice(0, 2)
    const streams: Overheard[] = []
    for (const by of [none(), ...(await keys(fixture, ['some', 'users'])), ...apps]) {
      for (const topic of all.filter(({ kind }) => kind === 'created')) {
        // One field of each reason: the others are refused by the same rule.
        const refused = refusedFields({ schema, data, by }, topic)
        const differing = new Map(refused.map(one => [one[1], one]))
        for (const one of differing.values()) streams.push(await overhear(fixture, by, topic, one))
      }
    }
    try {
      await wait(300)
      for (const [collection, values] of newRows()) await context.insert(collection, values)
      await wait(1500)
      const codes = new Map<string, number>()
      for (const { what, code, text } of streams) {
        const said = /"code":"([A-Z_]+)"/.exec(text())?.[1]
        codes.set(said ?? 'silence', (codes.get(said ?? 'silence') ?? 0) + 1)
        if (said !== undefined) assert.equal(said, code, `${what}: ${text()}`)
        for (const secret of [later.phone, later.text, later.passphrase, later.ticket, String(later.budget)])
          assert.ok(!text().includes(secret), `${what}: ${text()}`)
        assert.doesNotMatch(text(), /"seen":\{"\w+":[^n}]/, what)
      }
      t.diagnostic(JSON.stringify([...codes]))
      for (const code of ['INSUFFICIENT_SCOPE', 'FORBIDDEN', 'UNAUTHORIZED'])
        assert.ok((codes.get(code) ?? 0) >= 5, code)
    } finally {
      for (const { close } of streams) close()
    }
  })
})

/** More than a second on a machine that does other things as well. */
const SOON = 5000

async function endsSoon(subscriber: Subscriber): Promise<number> {
  const start = performance.now()
  const reason = await Promise.race([subscriber.ended, wait(SOON, undefined)])
  assert.ok(reason !== undefined, `${subscriber.by.what} by ${subscriber.transport} goes on`)
  return Math.round(performance.now() - start)
}

test('revocation ends every subscription of the credential, and nothing comes after it', async t => {
  await withContext(async (fixture, context) => {
    const { call, ann } = fixture
    const made = await call('/api/v1/api_keys', {
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
      ...secretOf(app),
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
      const id = apps.data.find(each => each.name === name)?.id
      return call(`/api/v1/oauth_apps/${id}`, { method: 'DELETE', key: ann.key })
    }
    const cases: readonly (readonly [Credential, () => Promise<{ status: number }>])[] = [
      [
        { what: 'a key that is deleted', headers: bearer(made.json.key), who },
        () => call(`/api/v1/api_keys/${made.json.id}`, { method: 'DELETE', key: ann.key }),
      ],
      [
        { what: "an app's token that it revokes", headers: bearer(own.json.access_token), who },
        () => post(`${fixture.url}/oauth/revoke`, { token: String(own.json.access_token), ...secretOf(app) }),
      ],
      [{ ...opaque, what: 'an opaque token of an app that is deleted' }, () => remove('Matrix opaque')],
      [{ ...jwt, what: 'a JWT of an app that is deleted' }, () => remove('Matrix jwt')],
    ]
    const labels = all.filter(({ of, kind }) => of.name === 'labels' && kind === 'created')
    const data = await context.snapshot()
    let name = 0
    for (const [by, revoke] of cases) {
      const subscribers: Subscriber[] = []
      // By the reference anybody may read labels: what counts here is the credential.
      const asking = { schema, data, by: { ...by, who: none().who } }
      for (const transport of ['WebSocket', 'SSE'] as const)
        subscribers.push(await subscribe(fixture, asking, labels, transport))
      await wait(300)
      const id = await context.insert('labels', { name: `label ${name++}`, shade: null })
      expect(subscribers, schema, await context.snapshot(), { collection: 'labels', kind: 'created', id })
      await settled(subscribers)
      compare(subscribers)
      const revoked = await revoke()
      assert.ok(revoked.status < 300, `${by.what}: ${revoked.status}`)
      const took = await Promise.all(subscribers.map(endsSoon))
      t.diagnostic(`${by.what}: ${took.join(' and ')} ms`)
      await context.insert('labels', { name: `label ${name++}`, shade: null })
      await wait(300)
      // The last word may be why it ended.
      const isWord = (one: unknown) => (one as { errors?: unknown }).errors !== undefined
      for (const { got, expected } of subscribers.flatMap(({ heard }) => heard))
        assert.deepEqual(
          got.filter(one => !isWord(one)),
          expected,
        )
    }
  })
})
