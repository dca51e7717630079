/** Many clients at once, their limits, and what happens to them when the service stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventSource, MessageEvent } from 'undici'
import { withFixture } from '../../identity/conformance/server.ts'
import notes from '../../models/notes.ts'
import { call } from '../../server/serve/service.ts'
import { until } from '../transports/service.ts'
import { type Event, fetchPage, type Page, requestPage, stream } from './listener.ts'

const waitingCount = 1000
/** A larger number would be refused as overload: the clients run in the same process. */
const openedTogether = 50

async function open(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^portico_event_listeners (\d+)$/m.exec(text)?.[1])
}

/** Polls, because the count is kept in the service. */
async function untilOpen(url: string, count: number): Promise<void> {
  for (const giveUp = performance.now() + 120_000; (await open(url)) !== count; ) {
    assert.ok(performance.now() < giveUp, `not ${count} listeners`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function write(url: string, key: string, title: string): Promise<void> {
  const created = await call(`${url}/api/v1/notes`, { method: 'POST', key, body: { title } })
  assert.equal(created.status, 201, created.text)
}

test('one event answers a thousand waiting polls', async () => {
  const settings = { maxConnections: 5000, quotas: { connections: 2000 } }
  await withFixture(
    settings,
    async ({ url, ann }) => {
      const { meta } = await fetchPage(url, '', ann.key)
      const waits: Promise<Page>[] = []
      while (waits.length < waitingCount) {
        for (let index = 0; index < openedTogether; index++) {
          waits.push(fetchPage(url, `after=${meta.next_after}&wait=30`, ann.key))
        }
        await untilOpen(url, waits.length)
      }
      await write(url, ann.key, 'for all')
      for (const { data } of await Promise.all(waits)) assert.equal(data[0]?.data?.['title'], 'for all')
      await untilOpen(url, 0)
    },
    notes,
  )
})

test('a caller has one limit for open polls and streams together, and a closed one frees its place', async () => {
  await withFixture(
    { quotas: { connections: 2 } },
    async ({ url, ann, ben }) => {
      const first = await stream(url, '', { key: ann.key })
      const second = requestPage(url, 'wait=30', ann.key)
      await untilOpen(url, 2)
      const refused = await requestPage(url, 'wait=1', ann.key)
      assert.deepEqual([refused.status, refused.code], [429, 'RATE_LIMITED'])
      assert.equal((await stream(url, '', { key: ann.key })).status, 429)
      assert.equal((await requestPage(url, 'wait=0', ann.key)).status, 200)
      const others = await stream(url, '', { key: ben.key })
      assert.equal(others.status, 200)
      first.close()
      await untilOpen(url, 2)
      const third = await stream(url, '', { key: ann.key })
      assert.equal(third.status, 200)
      await write(url, ann.key, 'end')
      assert.equal((await second).status, 200)
      third.close()
      others.close()
      await untilOpen(url, 0)
    },
    notes,
  )
})

test('a caller has one limit for distinct requests of polls, streams and subscriptions', async () => {
  await withFixture(
    { quotas: { distinctSubscriptions: 2 } },
    async ({ url, ann, ben }) => {
      const titled = (title: string) => `collections=notes&title[contains]=${title}`
      const first = await stream(url, titled('a'), { key: ann.key })
      assert.equal(first.status, 200)
      const waiting = requestPage(url, `${titled('b')}&wait=30`, ann.key)
      await untilOpen(url, 2)
      const joined = await stream(url, titled('a'), { key: ann.key })
      assert.equal(joined.status, 200)
      await untilOpen(url, 3)
      const refused = await requestPage(url, `${titled('c')}&wait=30`, ann.key)
      assert.deepEqual([refused.status, refused.code], [429, 'RATE_LIMITED'])
      assert.ok(Number(refused.headers.get('Retry-After')) > 0)
      assert.match(refused.text, /2 open .* with different requests; the maximum is 2/)
      assert.equal((await stream(url, titled('c'), { key: ann.key })).status, 429)
      const operation = { query: 'subscription { newNote { id } }' }
      const subscription = await call(`${url}/graphql`, {
        method: 'POST',
        key: ann.key,
        headers: { Accept: 'text/event-stream' },
        body: operation,
      })
      assert.equal(subscription.status, 429, subscription.text)
      assert.equal((await requestPage(url, `${titled('c')}&wait=0`, ann.key)).status, 200)
      const other = await stream(url, titled('c'), { key: ben.key })
      assert.equal(other.status, 200)
      // A poll frees its place with its reply, a stream when its last listener has gone.
      await write(url, ann.key, 'b')
      assert.equal((await waiting).status, 200)
      await untilOpen(url, 3)
      const third = await stream(url, titled('c'), { key: ann.key })
      assert.equal(third.status, 200)
      first.close()
      await untilOpen(url, 3)
      assert.equal((await stream(url, titled('d'), { key: ann.key })).status, 429)
      joined.close()
      await untilOpen(url, 2)
      const fourth = await stream(url, titled('d'), { key: ann.key })
      assert.equal(fourth.status, 200)
      for (const { close } of [other, third, fourth]) close()
      await untilOpen(url, 0)
    },
    notes,
  )
})

test('a restart answers waiting polls and ends streams; an EventSource reconnects and misses no event', async () => {
  await withFixture(
    {},
    async ({ url, ann, restart }) => {
      const { meta } = await fetchPage(url, '', ann.key)
      const source = new EventSource(`${url}/api/v1/events?api_key=${ann.key}&after=${meta.next_after}`, {
        node: { reconnectionTime: 50 },
      })
      const messages: Event[] = []
      source.addEventListener('note.created', event => {
        if (event instanceof MessageEvent) messages.push(JSON.parse(event.data))
      })
      try {
        await write(url, ann.key, 'before')
        await until(() => messages.length === 1)
        const waiting = requestPage(url, 'wait=30', ann.key)
        await untilOpen(url, 2)
        await restart()
        const { status, json } = await waiting
        assert.deepEqual([status, json.data], [200, []])
        await write(url, ann.key, 'after')
        await until(() => messages.length === 2, 20_000)
        assert.deepEqual(
          messages.map(({ data }) => data?.['title']),
          ['before', 'after'],
        )
      } finally {
        source.close()
      }
    },
    notes,
  )
})

test('filters are limited by the size of the header block and by their number', async () => {
  await withFixture(
    {},
    async ({ url, ann }) => {
      const long = await requestPage(url, `collections=notes&title[contains]=${'x'.repeat(100_000)}`, ann.key)
      assert.equal(long.status, 400)
      const many = Array.from({ length: 101 }, (_, index) => `title[in]=${index}`).join('&')
      assert.equal((await requestPage(url, `collections=notes&${many}`, ann.key)).status, 400)
      const deep = await requestPage(url, 'collections=notes&author.notes.author.notes.title[eq]=x', ann.key)
      assert.equal(deep.status, 400)
    },
    notes,
  )
})

test('anonymous clients of one address share a limit', async () => {
  await withFixture(
    { quotas: { addressConnections: 1 } },
    async ({ url }) => {
      const first = await stream(url)
      assert.equal(first.status, 200)
      assert.equal((await stream(url)).status, 429)
      first.close()
      await untilOpen(url, 0)
    },
    notes,
  )
})
