/** Replies to events that are larger than an answer may be: subscriptions get an error for the event, and go on. */
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
  relation,
  signedIn,
  text,
  users,
} from '../../../src/index.ts'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import { postgres } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { openWebSocket, until } from '../transports/service.ts'
import { type Event, fetchEvents, fetchPage, stream } from './listener.ts'

const maxAnswer = 65_536
const long = 'l'.repeat(30_000)

const declaration = model(
  {
    users: users({}),
    reports: collection({
      fields: {
        title: text(),
        body: text({ optional: true }),
        owner_id: relation('users', { default: currentUser }),
      },
      access: { read: signedIn, create: signedIn, update: signedIn, delete: signedIn },
    }),
  },
  {
    actions: {
      flag: action({
        on: 'reports',
        input: { stars: integer(), length: integer() },
        access: signedIn,
        emits: { 'report.flagged': { fields: { stars: integer(), note: text() } } },
        // biome-ignore lint/suspicious/noExplicitAny: only generated types describe the arguments of `run`.
        run: ({ item, input, emit }: Record<string, any>) =>
          emit('report.flagged', item, { stars: input.stars, note: 'n'.repeat(input.length) }),
      }),
    },
  },
)

interface Payload {
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>> | null>> | null
  readonly errors?: readonly {
    readonly message: string
    readonly path?: unknown
    readonly extensions: { readonly code: string }
  }[]
  readonly extensions: { readonly eventId: string }
}

interface Subscribed {
  payloads(): readonly Payload[]
  readonly isEnded: () => boolean
  close(): void
}

type Subscribe = (url: string, key: string, query: string) => Promise<Subscribed>

const overEventStream: Subscribe = async (url, key, query) => {
  const controller = new AbortController()
  const headers = {
    Accept: 'text/event-stream',
    'Content-Type': 'application/json',
    Authorization: `Bearer ${key}`,
  }
  const body = JSON.stringify({ query })
  const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body, signal: controller.signal })
  assert.equal(response.status, 200)
  let received = ''
  let isEnded = false
  const read = async () => {
    for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>)
      received += Buffer.from(part).toString()
    isEnded = true
  }
  void read().catch(() => {})
  return {
    payloads: () => [...received.matchAll(/^data: (\{.*\})\n\n/gm)].map(([, json]) => JSON.parse(json ?? '')),
    isEnded: () => isEnded,
    close: () => controller.abort(),
  }
}

const overWebSocket: Subscribe = async (url, key, query) => {
  const opened = await openWebSocket(`${url.replace('http', 'ws')}/graphql`)
  opened.send({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } })
  await until(() => opened.messages.length === 1)
  opened.send({ id: '1', type: 'subscribe', payload: { query } })
  // The reply to a ping shows that the subscription was received.
  opened.send({ type: 'ping' })
  await until(() => opened.messages.length > 1)
  const messages = () => opened.messages.map(message => JSON.parse(message))
  return {
    payloads: () => messages().flatMap(({ type, payload }) => (type === 'next' ? [payload] : [])),
    isEnded: () => messages().some(({ type }) => type === 'error' || type === 'complete'),
    close: () => opened.socket.close(),
  }
}

const transports = { 'server-sent events': overEventStream, WebSocket: overWebSocket }

/** A payload without its id: an error’s code, or the field's first characters. */
function shown({ data, errors }: Payload) {
  if (errors) return [data, ...errors.map(({ extensions: { code } }) => code)]
  return Object.values(data ?? {}).map(value => value?.['body'] ?? value?.['title'] ?? value?.['values'])
}

/** Receives webhooks. */
async function openReceiver() {
  const received: Event[] = []
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
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received }
}

for (const setup of [sqlite, postgres]) {
  describe(setup.name, () => {
    const withFixture = sharedFixtures(
      setup,
      { maxAnswer: '64 KiB', webhooks: { allowPrivate: true } },
      declaration,
    )
    const test = (name: string, use: (fixture: Fixture) => Promise<void>) => it(name, () => withFixture(use))
    const writer =
      ({ call, ann: { key } }: Fixture) =>
      async (method: string, path: string, body?: object) => {
        const answer = await call(`/api/v1/${path}`, { method, key, ...(body && { body }) })
        assert.ok(answer.status < 300, answer.text)
        return answer.json
      }

    for (const [name, subscribe] of Object.entries(transports)) {
      test(`a reply that is too large is an error of its event, and the subscription continues over ${name}`, async fixture => {
        const { url, ann } = fixture
        const write = writer(fixture)
        const { id } = await write('POST', 'reports', { title: 'a' })
        const fields = 'title body a: body b: body'
        const updates = await subscribe(url, ann.key, `subscription { reportUpdated { ${fields} } }`)
        const narrow = await subscribe(url, ann.key, 'subscription { reportUpdated { title } }')
        const path = `reports/${id}?fields=id`
        await write('PATCH', path, { body: long })
        await write('PATCH', path, { body: 'short' })
        await until(() =>
          [updates, narrow].every(({ payloads, isEnded }) => isEnded() || payloads().length === 2),
        )
        const tooLarge = [null, 'ANSWER_TOO_LARGE']
        assert.deepEqual(updates.payloads().map(shown), [tooLarge, ['short']])
        assert.deepEqual(narrow.payloads().map(shown), [['a'], ['a']])
        const [first, second] = updates.payloads()
        assert.match(first?.errors?.[0]?.message ?? '', /more than 65,536 bytes/)
        const eventIds = narrow.payloads().map(({ extensions }) => extensions.eventId)
        assert.deepEqual([first?.extensions.eventId, second?.extensions.eventId], eventIds)

        const resume = (eventId: string) =>
          subscribe(url, ann.key, `subscription { reportUpdated(after: "${eventId}") { ${fields} } }`)
        const before = await resume(String(Number(eventIds[0]) - 1))
        const between = await resume(eventIds[0] ?? '')
        await until(() => before.payloads().length === 2 && between.payloads().length === 1)
        assert.deepEqual(before.payloads().map(shown), [tooLarge, ['short']])
        assert.deepEqual(between.payloads().map(shown), [['short']])
        for (const subscribed of [updates, narrow, before, between]) {
          assert.equal(subscribed.isEnded(), false)
          subscribed.close()
        }
      })
    }

    test('created and deleted items, and values that occur several times, are bounded too', async fixture => {
      const { url, ann } = fixture
      const write = writer(fixture)
      const subscribe = (field: string) =>
        overEventStream(url, ann.key, `subscription { ${field} { title body a: body b: body } }`)
      const listeners = await Promise.all(['newReport', 'reportDeleted'].map(subscribe))
      for (const body of [long, 'short']) {
        const { id } = await write('POST', 'reports?fields=id', { title: 'a', body })
        await write('DELETE', `reports/${id}`)
      }
      await until(() => listeners.every(({ payloads, isEnded }) => isEnded() || payloads().length === 2))
      for (const listener of listeners) {
        assert.deepEqual(listener.payloads().map(shown), [[null, 'ANSWER_TOO_LARGE'], ['short']])
        listener.close()
      }
    })

    test('an emitted event with too large values is an error to subscribers who select them', async fixture => {
      const { url, ann } = fixture
      const write = writer(fixture)
      const { id } = await write('POST', 'reports', { title: 'a' })
      const wide = await overEventStream(
        url,
        ann.key,
        'subscription { reportFlagged { values { stars note } } }',
      )
      const narrow = await overEventStream(
        url,
        ann.key,
        'subscription { reportFlagged { values { stars } } }',
      )
      await write('POST', `reports/${id}/flag`, { stars: 1, length: 70_000 })
      await write('POST', `reports/${id}/flag`, { stars: 2, length: 1 })
      await until(() => [wide, narrow].every(({ payloads, isEnded }) => isEnded() || payloads().length === 2))
      assert.deepEqual(wide.payloads().map(shown), [[null, 'ANSWER_TOO_LARGE'], [{ stars: 2, note: 'n' }]])
      assert.deepEqual(narrow.payloads().map(shown), [[{ stars: 1 }], [{ stars: 2 }]])
      for (const subscribed of [wide, narrow]) subscribed.close()
    })

    test('pages, streams and webhooks have a too large event without its data and values', async fixture => {
      const { url, ann } = fixture
      const write = writer(fixture)
      const { id } = await write('POST', 'reports', { title: 'a' })
      const hook = await openReceiver()
      await write('POST', 'webhooks', { url: hook.url, types: ['report.flagged', 'report.updated'] })
      const start = (await fetchPage(url, 'collections=reports', ann.key)).meta.next_after
      const live = await stream(url, `collections=reports&after=${start}`, { key: ann.key })
      await write('POST', `reports/${id}/flag`, { stars: 1, length: 70_000 })
      await write('PATCH', `reports/${id}?fields=id`, { title: long, body: long + long })
      await write('PATCH', `reports/${id}?fields=id`, { title: 'b', body: null })
      const summary = (events: readonly Event[]) =>
        events
          .map(event => {
            const { type, data, truncated, values } = event as Event & { truncated?: true; values?: object }
            return [type, data?.['title'] ?? null, truncated ?? false, values !== undefined]
          })
          .sort()
      const expected = [
        ['report.flagged', null, true, false],
        ['report.updated', 'b', false, false],
        ['report.updated', null, true, false],
      ].sort()
      await until(() => live.events().length === 3 && hook.received.length >= 3)
      assert.deepEqual(summary(live.events()), expected)
      assert.deepEqual(summary(await fetchEvents(url, 'collections=reports', ann.key, start)), expected)
      // A webhook sends what its owner may read now.
      assert.deepEqual(hook.received.map(({ type }) => type).sort(), [
        'report.flagged',
        'report.updated',
        'report.updated',
      ])
      live.close()
      for (const { data } of hook.received) assert.ok(JSON.stringify(data).length <= maxAnswer)
    })
  })
}
