/** Declared events in streams, webhooks and subscriptions, and the scopes of actions in consent. */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import {
  action,
  collection,
  currentUser,
  integer,
  model,
  owner,
  relation,
  role,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'
import { type Event, fetchPage, stream } from '../../../api/events/listener.ts'
import { until } from '../../../api/transports/service.ts'
import { chosen } from '../../../chosen.ts'
import {
  authorizationUrl,
  consentOf,
  type Fixture,
  formWith,
  newTokens,
  type Person,
  redirectUri,
  sharedFixtures,
} from '../../../identity/conformance/server.ts'
import { call } from '../../../server/serve/service.ts'
import { postgres } from '../../../setups/postgres.ts'
import { sqlite } from '../../../setups/sqlite.ts'

const declaration = model(
  {
    users: users({}),
    reports: collection({
      fields: { title: text(), owner_id: relation('users', { default: currentUser }) },
      access: { read: signedIn, create: signedIn, update: owner('owner_id') },
    }),
  },
  {
    actions: {
      flag: action({
        on: 'reports',
        description: 'Flag reports for a second look',
        input: { stars: integer() },
        access: signedIn,
        scope: 'flag:report',
        emits: {
          'report.flagged': { fields: { stars: integer() } },
          'report.reviewed': {
            fields: { stars: integer() },
            access: owner('owner_id').or(role('accountant')),
          },
        },
        async run({ item, input, emit }) {
          await emit('report.flagged', item, { stars: input.stars })
          await emit('report.reviewed', item, { stars: input.stars })
        },
      }),
      other: action({ on: 'reports', access: signedIn, scope: 'other:report', run: () => undefined }),
    },
  },
)

const appScopes = {
  scopes: ['flag:report', 'read:report', 'offline_access'],
  default_scopes: ['flag:report'],
}

async function create({ url }: Fixture, { key }: Person, title = 'a'): Promise<number> {
  const answer = await call(`${url}/api/v1/reports`, { method: 'POST', key, body: { title } })
  assert.equal(answer.status, 201, answer.text)
  return Number(answer.json['id'])
}

const flag = ({ url }: Fixture, key: string | undefined, id: number, stars: number) =>
  call(`${url}/api/v1/reports/${id}/flag`, { method: 'POST', key, body: { stars } })

const typesIn = (events: readonly Event[]) => events.map(({ type }) => type)

/** Receives webhooks. */
async function openReceiver() {
  const received: (Event & { readonly values?: object })[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', part => {
      body += part
    })
    request.on('end', () => {
      received.push(JSON.parse(body))
      response.writeHead(204).end()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/`, received, close }
}

/** Subscribes over server-sent events. */
async function subscribe({ url }: Fixture, key: string, query: string) {
  const controller = new AbortController()
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      ...{ Accept: 'text/event-stream', 'Content-Type': 'application/json' },
      Authorization: `Bearer ${key}`,
    },
    body: JSON.stringify({ query }),
    signal: controller.signal,
  })
  assert.equal(response.status, 200)
  let text = ''
  const read = async () => {
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString()
    }
  }
  void read().catch(() => {})
  return { text: () => text, close: () => controller.abort() }
}

interface Payload {
  readonly data: unknown
  readonly extensions: { readonly eventId: string }
}

/** The payloads received so far. */
function payloads(text: string): readonly Payload[] {
  return [...text.matchAll(/^data: (\{"data".*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
}

/** The body of the response to a refused subscription. */
async function subscriptionAnswer({ url }: Fixture, key: string | undefined, query: string): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      ...{ Accept: 'text/event-stream', 'Content-Type': 'application/json' },
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ query }),
  })
  return response.text()
}

for (const setup of chosen([sqlite, postgres])) {
  describe(setup.name, () => {
    const withFixture = sharedFixtures(setup, { webhooks: { allowPrivate: true } }, declaration)
    const test = (name: string, use: (fixture: Fixture) => Promise<void>) => it(name, () => withFixture(use))

    test('a stream contains declared events for the callers that their rules allow', async fixture => {
      const { url, ann, ben, cleo, call: anonymousCall } = fixture
      const listeners = [ann, ben, cleo].map(({ key }) => stream(url, 'collections=reports', { key }))
      const [anns, bens, cleos] = await Promise.all(listeners)
      assert.ok(anns && bens && cleos)
      const id = await create(fixture, ann)
      // The caller of the action need not be allowed to read its event.
      assert.equal((await flag(fixture, ben.key, id, 4)).status, 204)
      const last = await create(fixture, ann, 'last')
      for (const listener of [anns, bens, cleos]) {
        await until(() => listener.events().some(({ item_id }) => item_id === last))
        listener.close()
      }
      const all = ['report.created', 'report.flagged', 'report.reviewed', 'report.created']
      assert.deepEqual(typesIn(anns.events()), all)
      assert.deepEqual(typesIn(cleos.events()), all)
      assert.deepEqual(
        typesIn(bens.events()),
        all.filter(type => type !== 'report.reviewed'),
      )
      const flagged: Event & { values?: object } = anns.events()[1] as Event
      assert.deepEqual(flagged.values, { stars: 4 })
      assert.equal(flagged.data?.['title'], 'a')
      assert.ok(anns.blocks.some(({ event }) => event === 'report.flagged'))
      assert.equal((await anonymousCall('/api/v1/events?collections=reports')).status, 401)
      const own = await fetchPage(url, `after=${Number(flagged.id) - 1}&types=report.reviewed`, ben.key)
      assert.deepEqual(own.data, [])
    })

    test('webhooks receive declared events if the rules allow their owners', async fixture => {
      const { url, ann, ben } = fixture
      const [anns, bens] = [await openReceiver(), await openReceiver()]
      after(anns.close)
      after(bens.close)
      for (const [who, hook] of [
        [ann, anns],
        [ben, bens],
      ] as const) {
        const body = { url: hook.url, types: ['report.flagged', 'report.reviewed'] }
        const created = await call(`${url}/api/v1/webhooks`, { method: 'POST', key: who.key, body })
        assert.equal(created.status, 201, created.text)
      }
      const id = await create(fixture, ann)
      assert.equal((await flag(fixture, ann.key, id, 3)).status, 204)
      assert.equal((await flag(fixture, ann.key, id, 5)).status, 204)
      await until(() => anns.received.length >= 4 && bens.received.length >= 2)
      const summary = ({ received }: typeof anns) =>
        received.map(({ type, values }) => `${type} ${JSON.stringify(values)}`).sort()
      assert.deepEqual(summary(anns), [
        'report.flagged {"stars":3}',
        'report.flagged {"stars":5}',
        'report.reviewed {"stars":3}',
        'report.reviewed {"stars":5}',
      ])
      assert.deepEqual(summary(bens), ['report.flagged {"stars":3}', 'report.flagged {"stars":5}'])
    })

    test('GraphQL subscriptions to built-in events do not contain declared events', async fixture => {
      const { url, ann } = fixture
      const id = await create(fixture, ann)
      const updates = await subscribe(fixture, ann.key, 'subscription { reportUpdated { title } }')
      assert.equal((await flag(fixture, ann.key, id, 1)).status, 204)
      await call(`${url}/api/v1/reports/${id}`, { method: 'PATCH', key: ann.key, body: { title: 'changed' } })
      await until(() => updates.text().includes('changed'))
      updates.close()
      assert.equal(updates.text().match(/"reportUpdated"/g)?.length, 1, updates.text())
    })

    test('each declared event has a GraphQL subscription for the callers that its rule allows, which can be resumed', async fixture => {
      const { ann, ben, cleo } = fixture
      const id = await create(fixture, ann)
      const flagged = 'subscription { reportFlagged { __typename values { n: stars } data { id title } } }'
      const reviewed =
        'subscription { seen: reportReviewed { values { stars } one: data { id } data { title } } }'
      const bens = await subscribe(fixture, ben.key, reviewed)
      const listeners = await Promise.all([
        subscribe(fixture, ben.key, flagged),
        subscribe(fixture, ann.key, reviewed),
        subscribe(fixture, cleo.key, reviewed),
      ])
      for (const stars of [1, 2]) assert.equal((await flag(fixture, ann.key, id, stars)).status, 204)
      await until(() => listeners.every(listener => payloads(listener.text()).length === 2))
      const [bensFlagged, annsReviewed, cleosReviewed] = listeners.map(listener => payloads(listener.text()))
      const data = { id: String(id), title: 'a' }
      assert.deepEqual(
        bensFlagged?.map(payload => payload.data),
        [1, 2].map(n => ({ reportFlagged: { __typename: 'ReportFlaggedEvent', values: { n }, data } })),
      )
      assert.deepEqual(
        annsReviewed?.map(payload => payload.data),
        [1, 2].map(stars => ({ seen: { values: { stars }, one: { id: data.id }, data: { title: 'a' } } })),
      )
      assert.deepEqual(cleosReviewed, annsReviewed)
      assert.deepEqual(payloads(bens.text()), [])

      const first = bensFlagged?.[0]?.extensions.eventId
      const after = `subscription { reportFlagged(after: "${first}") { values { stars } } }`
      const resumed = await subscribe(fixture, ben.key, after)
      await until(() => payloads(resumed.text()).length === 1)
      assert.deepEqual(payloads(resumed.text())[0]?.data, { reportFlagged: { values: { stars: 2 } } })
      for (const listener of [...listeners, bens, resumed]) listener.close()
    })

    test('a subscription to a declared event needs the read scope of its item', async fixture => {
      const { ann } = fixture
      const app = await fixture.app(appScopes)
      const browser = fixture.browser()
      const options = { browser, person: ann, scope: 'flag:report' }
      const { access_token: token } = await newTokens(fixture, app, options)
      const query = 'subscription { reportFlagged { values { stars } } }'
      for (const key of [token, undefined]) {
        const answer = await subscriptionAnswer(fixture, key, query)
        assert.match(answer, key === undefined ? /UNAUTHORIZED/ : /INSUFFICIENT_SCOPE/)
        assert.doesNotMatch(answer, /"stars"/)
      }
    })

    test('the consent page shows the scope of an action, and the scope allows only that action', async fixture => {
      const { url, ann } = fixture
      const app = await fixture.app(appScopes)
      const browser = fixture.browser()
      const parameters = { client_id: app.client_id, redirect_uri: redirectUri, state: 's' }
      const address = authorizationUrl(url, {
        ...parameters,
        response_type: 'code',
        scope: 'flag:report',
      })
      let page = await browser.open(address)
      assert.ok(!('location' in page))
      const signIn = formWith(page, 'password')
      assert.ok(signIn)
      page = await browser.submit(signIn, { email: ann.email, password: ann.password })
      assert.ok(!('location' in page))
      assert.ok(consentOf(page))
      assert.match(page.text, /Flag reports for a second look/)
      assert.doesNotMatch(page.text, /other:report/)

      const id = await create(fixture, ann)
      const { access_token: token } = await newTokens(fixture, app, {
        ...{ browser: fixture.browser(), person: ann, scope: 'flag:report' },
      })
      assert.equal((await flag(fixture, token, id, 2)).status, 204)
      const refused = [
        { path: `reports/${id}` },
        { path: `reports/${id}`, method: 'PATCH', body: { title: 'b' } },
        { path: `reports/${id}`, method: 'DELETE' },
        { path: 'reports', method: 'POST', body: { title: 'b' } },
        { path: `reports/${id}/other`, method: 'POST' },
        { path: 'events?collections=reports' },
      ]
      for (const { path, ...options } of refused) {
        const answer = await call(`${url}/api/v1/${path}`, { ...options, key: token })
        assert.equal(answer.status, 403, `${path}: ${answer.text}`)
      }
      const listed = await call(`${url}/api/v1/reports`, { key: token })
      assert.ok(listed.status === 403 || (listed.json['data'] as unknown[]).length === 0, listed.text)
      const metadata = await call(`${url}/.well-known/oauth-authorization-server`)
      assert.ok((metadata.json['scopes_supported'] as string[]).includes('flag:report'))
    })
  })
}
