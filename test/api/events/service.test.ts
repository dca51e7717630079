/** `GET /api/v1/events` of a service: one node, and several. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Fixture, type Person, sharedFixtures } from '../../identity/conformance/server.ts'
import notes from '../../models/notes.ts'
import { call } from '../../server/serve/service.ts'
import { setups } from '../../setups/setups.ts'
import { until } from '../transports/service.ts'
import { type Event, fetchEvents, fetchPage, requestPage, stream } from './listener.ts'

type Values = Readonly<Record<string, unknown>>

/** Sends a request with the key of a person. */
async function write(url: string, who: Person, method: string, path: string, body?: Values) {
  const answer = await call(`${url}/api/v1/${path}`, { method, key: who.key, ...(body && { body }) })
  assert.ok(answer.status < 300, answer.text)
  return answer.json as { readonly id: number }
}

const create = (url: string, who: Person, values: Values = {}) =>
  write(url, who, 'POST', 'notes', { title: 'a', ...values })
const end = async (url: string) => (await fetchPage(url, 'collections=notes')).meta.next_after
const typesIn = (events: readonly Event[]) => events.map(({ type }) => type)
const listeners = async (urls: readonly string[]) => {
  const texts = await Promise.all(urls.map(async url => (await fetch(`${url}/metrics`)).text()))
  const counts = texts.map(text => Number(/^portico_event_listeners (\d+)$/m.exec(text)?.[1]))
  return counts.reduce((sum, value) => sum + value, 0)
}
/** Polls until the condition holds. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (const giveUp = performance.now() + 120_000; performance.now() < giveUp; ) {
    if (await condition()) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  assert.fail(`not so: ${condition}`)
}

for (const setup of setups) {
  describe(setup.name, () => {
    const withFixture = sharedFixtures(setup, {}, notes)
    const test = (name: string, use: (fixture: Fixture) => Promise<void>) => it(name, () => withFixture(use))

    test('a page returns the events after an id, and the id for the next page', async ({ url, ann }) => {
      const start = await end(url)
      const { id } = await create(url, ann)
      await write(url, ann, 'PATCH', `notes/${id}`, { title: 'b' })
      await write(url, ann, 'DELETE', `notes/${id}`)
      const first = await fetchPage(url, `after=${start}&limit=2`, ann.key)
      assert.deepEqual(typesIn(first.data), ['note.created', 'note.updated'])
      assert.deepEqual(first.meta, { next_after: first.data[1]?.id, has_more: true })
      assert.deepEqual(first.data[1]?.changed, ['title'])
      assert.deepEqual(first.data[1]?.actor, { user_id: ann.id, app_id: null })
      const rest = await fetchPage(url, `after=${first.meta.next_after}&limit=2`, ann.key)
      assert.deepEqual(typesIn(rest.data), ['note.deleted'])
      assert.equal(rest.data[0]?.data?.['title'], 'b')
      assert.equal(rest.meta.has_more, false)
      const none = await fetchPage(url, `after=${rest.meta.next_after}`, ann.key)
      assert.deepEqual(none, { data: [], meta: { next_after: rest.meta.next_after, has_more: false } })
    })

    test('a page without an id begins at the end of the log', async ({ url, ann }) => {
      await create(url, ann)
      const { data, meta } = await fetchPage(url, '', ann.key)
      assert.deepEqual(data, [])
      await create(url, ann)
      assert.equal((await fetchPage(url, `after=${meta.next_after}`, ann.key)).data.length, 1)
    })

    test('a page advances past events that are not shown', async ({ url, ann, ben }) => {
      const start = await end(url)
      for (let index = 0; index < 3; index++) await create(url, ann, { state: 'draft' })
      const { data, meta } = await fetchPage(url, `after=${start}&limit=1`, ben.key)
      assert.deepEqual(data, [])
      assert.deepEqual(meta, { next_after: String(Number(start) + 3), has_more: false })
    })

    test('an item that leaves the view is a deletion without values, one that enters it is returned whole', async fixture => {
      const { url, ann, ben } = fixture
      const start = await end(url)
      const { id } = await create(url, ann, { secret: 's' })
      await write(url, ann, 'PATCH', `notes/${id}`, { secret: 't' })
      await write(url, ann, 'PATCH', `notes/${id}`, { state: 'draft' })
      await write(url, ann, 'PATCH', `notes/${id}`, { title: 'b' })
      await write(url, ann, 'PATCH', `notes/${id}`, { state: 'public' })
      await write(url, ann, 'PATCH', `notes/${id}`, { state: 'draft' })
      await write(url, ann, 'DELETE', `notes/${id}`)
      const events = await fetchEvents(url, '', ben.key, start)
      const types = ['note.created', 'note.deleted', 'note.updated', 'note.deleted']
      assert.deepEqual(typesIn(events), types)
      assert.deepEqual(
        events.map(({ data }) => data?.['title'] ?? null),
        ['a', null, 'b', null],
      )
      assert.ok(events.every(({ data }) => (data?.['secret'] ?? null) === null))
      assert.ok(events.every(event => !('actor' in event)))
      assert.equal((await fetchEvents(url, '', ann.key, start)).length, 7)
    })

    test('events are filtered by the caller’s current role', async ({ url, admin, ann, ben }) => {
      const start = await end(url)
      await create(url, ann, { state: 'draft', secret: 's' })
      const eventsOfBen = async () => fetchEvents(url, 'collections=notes', ben.key, start)
      assert.deepEqual(await eventsOfBen(), [])
      await write(url, admin, 'PATCH', `users/${ben.id}`, { role: 'admin' })
      await eventually(async () => (await eventsOfBen()).length === 1)
      assert.equal((await eventsOfBen())[0]?.data?.['secret'], 's')
      await write(url, admin, 'PATCH', `users/${ben.id}`, { role: 'user' })
      await eventually(async () => (await eventsOfBen()).length === 0)
    })

    test('events are filtered by type, item and field filters', async ({ url, ann }) => {
      const start = await end(url)
      const { id } = await create(url, ann, { title: 'x' })
      const other = await create(url, ann, { title: 'y' })
      await write(url, ann, 'PATCH', `notes/${id}`, { title: 'y' })
      await write(url, ann, 'PATCH', `notes/${other.id}`, { title: 'x' })
      const eventsFor = async (query: string) =>
        (await fetchEvents(url, query, ann.key, start)).map(
          ({ type, item_id }) => `${type} ${item_id === id ? 1 : 2}`,
        )
      assert.deepEqual(await eventsFor('types=note.created'), ['note.created 1', 'note.created 2'])
      assert.deepEqual(await eventsFor(`types=note.*&collections=notes&item_id=${id}`), [
        'note.created 1',
        'note.updated 1',
      ])
      assert.deepEqual(await eventsFor('types=user.*'), [])
      const filtered = ['note.created 1', 'note.deleted 1', 'note.updated 2']
      assert.deepEqual(await eventsFor('collections=notes&title[eq]=x'), filtered)
      assert.deepEqual(await eventsFor('types=note.deleted&title[in]=x,z'), ['note.deleted 1'])
      assert.deepEqual(await eventsFor(`types=note.*&author.id[eq]=${ann.id}`), await eventsFor(''))
    })

    test('a token gets the events that its scopes cover', async ({ url, ann }) => {
      const created = await call(`${url}/api/v1/api_keys`, {
        method: 'POST',
        key: ann.key,
        body: { name: 'reader', scopes: ['read:note'] },
      })
      const key = String((created.json as { key?: string }).key)
      const start = await end(url)
      await create(url, ann)
      await write(url, ann, 'PATCH', `users/${ann.id}`, { name: 'Anna' })
      const [event, ...others] = await fetchEvents(url, '', key, start)
      assert.equal(event?.type, 'note.created')
      assert.deepEqual(others, [])
      assert.equal(event && 'actor' in event, false)
      const refused = await requestPage(url, 'collections=notes,users', key)
      assert.deepEqual([refused.status, refused.code], [403, 'INSUFFICIENT_SCOPE'])
      assert.match(refused.headers.get('www-authenticate') ?? '', /scope="read:user"/)
      assert.equal((await requestPage(url, 'types=user.created', key)).code, 'INSUFFICIENT_SCOPE')
      assert.equal(
        (await requestPage(url, 'collections=notes&author.name[eq]=a', key)).code,
        'INSUFFICIENT_SCOPE',
      )
      assert.equal((await requestPage(url, 'collections=users')).status, 401)
    })

    test('an invalid request is refused with a message that names the fault', async ({ url, ann }) => {
      const newest = Number(await end(url))
      const unavailable = [`after=${newest + 1000}`, 'after=99999999999999999999', 'after=9007199254740991']
      for (const query of unavailable) {
        const { status, code } = await requestPage(url, query, ann.key)
        assert.deepEqual([status, code], [410, 'RESYNC_REQUIRED'], query)
      }
      const wrong: readonly (readonly [string, RegExp])[] = [
        ['after=-1', /"after" must be the id of an event/],
        ['after=1e3', /"after" must be the id of an event/],
        ['after=01', /"after" must be the id of an event/],
        ['after=', /empty/],
        ['after=1&after=2', /occurs twice/],
        ['limit=0', /from 1 to 1000/],
        ['limit=1001', /from 1 to 1000/],
        ['wait=31', /from 0 to 30/],
        ['wait=1.5', /from 0 to 30/],
        ['collections=nots', /Did you mean `notes`/],
        ['collections=webhook_deliveries', /not a collection with events/],
        ['collections=notes,', /not a collection with events/],
        ['types=note.create', /Did you mean `note.created`/],
        ['types=notes.created', /not an event type/],
        ['types=__proto__.*', /not an event type/],
        ['collections=users&types=note.created', /notes is not among "collections"/],
        ['item_id=1', /exactly one collection/],
        ['collections=notes,users&item_id=1', /exactly one collection/],
        ['collections=notes&item_id=0', /above 0/],
        ['title[eq]=a', /exactly one collection/],
        ['collections=notes&title=a', /write title\[eq\]/],
        ['collections=notes&titel[eq]=a', /not known here/],
        ['collections=notes&author_id[eq]=a', /must be/],
        ['page=1', /not known here/],
        ['collections=users&password_hash[eq]=a', /not known here/],
      ]
      for (const [query, message] of wrong) {
        const { status, code, text } = await requestPage(url, query, ann.key)
        assert.deepEqual([status, code], [400, 'BAD_REQUEST'], query)
        assert.match(JSON.parse(text).error.message, message)
      }
    })

    test('a poll waits for the first event, even if another node wrote it', async ({ url, urls, ann }) => {
      const start = await end(url)
      const waits = urls.map(url => fetchPage(url, `after=${start}&wait=30`, ann.key))
      await eventually(async () => (await listeners(urls)) === urls.length)
      await create(urls.at(-1) ?? url, ann)
      for (const { data, meta } of await Promise.all(waits)) {
        assert.deepEqual(typesIn(data), ['note.created'])
        assert.deepEqual(meta, { next_after: data[0]?.id, has_more: false })
      }
      await eventually(async () => (await listeners(urls)) === 0)
    })

    test('a poll that times out returns no events and advances past hidden ones', async fixture => {
      const { url, urls, ann, ben } = fixture
      const start = await end(url)
      const waiting = fetchPage(url, `after=${start}&wait=2`, ben.key)
      await eventually(async () => (await listeners(urls)) === 1)
      await create(url, ann, { state: 'draft' })
      const { data, meta } = await waiting
      assert.deepEqual(data, [])
      assert.deepEqual(meta, { next_after: String(Number(start) + 1), has_more: false })
    })

    test('revoking a key ends its polls and streams', async ({ url, urls, ann }) => {
      const body = { name: 'short', scopes: ['*'] }
      const created = await call(`${url}/api/v1/api_keys`, { method: 'POST', key: ann.key, body })
      const { key, id } = created.json as unknown as { key: string; id: number }
      const poll = requestPage(url, 'wait=30', key)
      const open = await stream(url, '', { key })
      await eventually(async () => (await listeners(urls)) === 2)
      await write(url, ann, 'DELETE', `api_keys/${id}`)
      assert.equal((await poll).status, 401)
      await open.end
      assert.equal(await listeners(urls), 0)
    })

    test('a stream replays missed events, continues live, and prefers Last-Event-ID to the after parameter', async fixture => {
      const { url, urls, ann } = fixture
      const start = await end(url)
      for (const title of ['1', '2', '3']) await create(url, ann, { title })
      const titles = (events: readonly Event[]) => events.map(({ data }) => data?.['title'])
      const unfiltered = await stream(url, `after=${start}`, { key: ann.key })
      assert.equal(unfiltered.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      assert.equal(unfiltered.headers.get('cache-control'), 'no-store')
      await until(() => unfiltered.events().length === 3)
      await create(urls.at(-1) ?? url, ann, { title: '4' })
      await until(() => unfiltered.events().length === 4)
      assert.deepEqual(titles(unfiltered.events()), ['1', '2', '3', '4'])
      const namedBlocks = unfiltered.blocks.filter(({ data }) => data !== undefined)
      assert.deepEqual(
        namedBlocks.map(({ id, event }) => [id, event]),
        unfiltered.events().map(({ id, type }) => [id, type]),
      )
      assert.deepEqual(unfiltered.events(), await fetchEvents(url, '', ann.key, start))
      const second = String(namedBlocks[1]?.id)
      const resumed = await stream(url, `after=${start}`, { key: ann.key, lastEventId: second })
      await until(() => resumed.events().length === 2)
      assert.deepEqual(titles(resumed.events()), ['3', '4'])
      unfiltered.close()
      resumed.close()
      await eventually(async () => (await listeners(urls)) === 0)
    })

    test('a stream begins with the id from which it is live', async ({ url, ann }) => {
      const open = await stream(url, 'collections=notes', { key: ann.key })
      await until(() => open.blocks.some(({ id }) => id !== undefined))
      const [first] = open.blocks
      assert.deepEqual(first, { id: await end(url), event: undefined, data: undefined })
      open.close()
    })

    test('a stream from a pruned id reports it once, with the id to continue from', async ({ url, ann }) => {
      const huge = await stream(url, 'after=99999999999999999999', { key: ann.key })
      await huge.end
      assert.equal(huge.blocks[0]?.event, 'resync_required')
      const open = await stream(url, 'after=123456789', { key: ann.key })
      await open.end
      const [resync, ...others] = open.blocks
      assert.deepEqual(others, [])
      assert.equal(resync?.event, 'resync_required')
      assert.equal(JSON.parse(resync?.data ?? '').error.code, 'RESYNC_REQUIRED')
      const again = await stream(url, 'after=123456789', { key: ann.key, lastEventId: String(resync?.id) })
      await create(url, ann)
      await until(() => again.events().length === 1)
      again.close()
    })

    test('an invalid stream request responds like an invalid page request', async ({ url, ann }) => {
      const open = await stream(url, 'collections=users')
      assert.equal(open.status, 401)
      const bad = await stream(url, '', { key: ann.key, lastEventId: 'x' })
      assert.equal(bad.status, 400)
      await bad.end
      const filtered = await stream(url, 'collections=users&password_hash[eq]=a', { key: ann.key })
      assert.equal(filtered.status, 400)
    })

    test('a client that disconnects is removed', async ({ url, urls, ann }) => {
      const controller = new AbortController()
      const { signal } = controller
      const headers = { Authorization: `Bearer ${ann.key}` }
      const abandoned = Array.from({ length: 5 }, () =>
        fetch(`${url}/api/v1/events?wait=30`, { headers, signal }).catch(() => undefined),
      )
      const open = await stream(url, '', { key: ann.key })
      await eventually(async () => (await listeners(urls)) === 6)
      controller.abort()
      open.close()
      await Promise.all(abandoned)
      await eventually(async () => (await listeners(urls)) === 0)
    })

    test('the path supports GET, HEAD and OPTIONS, with JSON or an event stream', async ({ url, ann }) => {
      const send = (method: string, headers = {}) =>
        fetch(`${url}/api/v1/events`, { method, headers: { Authorization: `Bearer ${ann.key}`, ...headers } })
      const head = await send('HEAD')
      assert.deepEqual([head.status, head.headers.get('content-type')], [200, 'application/json'])
      assert.equal(head.headers.get('cache-control'), 'no-store')
      const streamed = await send('HEAD', { Accept: 'text/event-stream' })
      assert.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      assert.equal((await send('OPTIONS')).headers.get('allow'), 'GET, HEAD, OPTIONS')
      assert.equal((await send('POST')).status, 405)
      assert.equal((await send('GET', { Accept: 'text/html' })).status, 406)
      const negotiated = await send('GET', { Accept: 'application/json, text/event-stream;q=0.5' })
      assert.equal(negotiated.headers.get('content-type'), 'application/json')
      const limited = await send('GET')
      assert.equal(limited.status, 200)
    })
  })
}
