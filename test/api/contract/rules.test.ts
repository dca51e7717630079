/** Rules that depend on the time, on the caller's own fields and on other rows: through REST, GraphQL and events. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddresses } from '../../../src/identity/accounts/addresses/addresses.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { chosen } from '../../chosen.ts'
import { type Fixture, type Person, withFixture } from '../../identity/conformance/server.ts'
import embargo from '../../models/embargo.ts'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import { postgresNodes, postgresRowSecurity } from '../../setups/postgres.ts'
import type { Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'

const setups: readonly Setup[] = chosen([sqlite, postgresNodes, postgresRowSecurity])
/** How far ahead a moment is. Requests before it are repeated until it has passed. */
const aheadMs = 1500

type Item = { readonly id: number } & Readonly<Record<string, unknown>>

async function create(fixture: Fixture, collection: string, { key }: Person, body: object): Promise<Item> {
  const created = await fixture.call(`/api/v1/${collection}`, { method: 'POST', key, body })
  assert.equal(created.status, 201, created.text)
  return created.json as Item
}

async function graphql(url: string, { key }: Person, query: string): Promise<Answer['json']> {
  const answer = await call(`${url}/graphql`, { method: 'POST', key, body: { query } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

/** Whether the caller sees the note, in every way to read it. */
async function visibility(url: string, note: Item, who: Person): Promise<Readonly<Record<string, boolean>>> {
  const request = (path: string) => call(`${url}/api/v1/${path}`, { key: who.key })
  const [item, list, filtered, related, document] = await Promise.all([
    request(`notes/${note.id}`),
    request('notes'),
    request('notes?title=news&sort=-created_at&total=exact'),
    request(`users/${note.author_id}?include=notes`),
    graphql(url, who, `{ note(id: ${note.id}) { id } notes { id } notesConnection { totalCount } }`),
  ])
  const data = document.data as { note: unknown; notes: unknown[]; notesConnection: { totalCount: number } }
  const countOf = ({ json }: Answer) => (json.data as readonly unknown[] | undefined)?.length === 1
  return {
    item: item.status === 200,
    list: countOf(list),
    total: (list.json.meta as { total: number }).total === 1,
    filtered: countOf(filtered),
    related: related.text.includes('"news"'),
    one: data.note !== null,
    many: data.notes.length === 1,
    counted: data.notesConnection.totalCount === 1,
  }
}

/** Repeats a request until the moment has passed; checks the answers that came before it. */
async function repeatUntil<T>(
  moment: number,
  request: () => Promise<T>,
  before: (answer: T) => void,
): Promise<T> {
  for (;;) {
    const askedAt = Date.now()
    const answer = await request()
    if (Date.now() < moment) before(answer)
    if (askedAt >= moment) return answer
  }
}

function assertAll(visibility: Readonly<Record<string, boolean>>, expected: boolean): void {
  for (const [way, isSeen] of Object.entries(visibility)) assert.equal(isSeen, expected, `${way}: ${isSeen}`)
}

async function eventsOf(url: string, { key }: Person, after: string): Promise<readonly { type: string }[]> {
  const { json, text, status } = await call(`${url}/api/v1/events?collections=notes&after=${after}`, { key })
  assert.equal(status, 200, text)
  return json.data as { type: string }[]
}

for (const setup of setups) {
  const within = (use: (fixture: Fixture) => Promise<void>) => withFixture({}, use, embargo, setup)

  test(`a rule on the current time shows a row to the first request after that time (${setup.name})`, () =>
    within(async fixture => {
      const { ben, ann, urls } = fixture
      const [first = ''] = urls
      const start = await call(`${first}/api/v1/events`, { key: ben.key })
      const { next_after: after } = start.json.meta as { next_after: string }
      const moment = Date.now() + aheadMs
      const note = await create(fixture, 'notes', ann, {
        title: 'news',
        published_at: new Date(moment).toISOString(),
      }).catch(() => undefined)
      // A caller who cannot read the created item gets only its id.
      assert.ok(note)
      const ids = { id: note.id, author_id: ann.id }
      const tags = await Promise.all(urls.map(url => call(`${url}/api/v1/notes`, { key: ben.key })))
      const isEarlyTag = Date.now() < moment
      const early = await eventsOf(first, ben, after)
      // A slow machine may take longer than `aheadMs` to get here.
      if (Date.now() < moment) assert.deepEqual(early, [])
      const rounds = await repeatUntil(
        moment,
        () => Promise.all(urls.map(url => visibility(url, ids, ben))),
        results => {
          for (const result of results) assertAll(result, false)
        },
      )
      for (const result of rounds) assertAll(result, true)
      for (const [index, url] of urls.entries()) {
        const tag = tags[index]?.headers.get('etag') ?? ''
        const second = await call(`${url}/api/v1/notes`, { key: ben.key, headers: { 'If-None-Match': tag } })
        assert.equal(second.status, isEarlyTag ? 200 : 304)
      }
      // The passing of time is not an event, and what was hidden at its commit is never told.
      assert.deepEqual(await eventsOf(first, ben, after), [])
    }))

  test(`a rule on the current time refuses a write after that time (${setup.name})`, () =>
    within(async fixture => {
      const { ann, urls } = fixture
      const moment = Date.now() + aheadMs
      const closes = new Date(moment).toISOString()
      const { id } = await create(fixture, 'notes', ann, {
        title: 'a',
        published_at: '2026-01-01T00:00:00Z',
        closes_at: closes,
      })
      let tries = 0
      const change = async () => {
        const url = urls[tries++ % urls.length] ?? ''
        const body = { title: `try ${tries}` }
        return (await call(`${url}/api/v1/notes/${id}`, { method: 'PATCH', key: ann.key, body })).status
      }
      assert.equal(await repeatUntil(moment, change, status => assert.equal(status, 200)), 403)
    }))

  test(`a rule on the caller’s e-mail address applies as soon as the address is confirmed (${setup.name})`, () =>
    within(async fixture => {
      const { admin, ann, ben, urls, deployment } = fixture
      const { id } = await create(fixture, 'invitations', admin, { email: ann.email, team: 'red' })
      const sees = async (who: Person) => {
        const results = await Promise.all(
          urls.map(async url => {
            const item = await call(`${url}/api/v1/invitations/${id}`, { key: who.key })
            const list = await call(`${url}/api/v1/invitations`, { key: who.key })
            const isListed = (list.json.data as readonly unknown[]).length === 1
            const { data } = await graphql(url, who, '{ invitations { id } }')
            const isSelected = (data as { invitations: unknown[] }).invitations.length === 1
            assert.deepEqual([isListed, isSelected], [item.status === 200, item.status === 200])
            return item.status === 200
          }),
        )
        assert.equal(new Set(results).size, 1)
        return results[0]
      }
      const store = await deployment.openStore(checkModel(embargo))
      try {
        const addresses = createAddresses(store.records)
        assert.equal(await sees(ann), false)
        await addresses.confirm(ann.id, ann.email)
        assert.equal(await sees(ann), true)
        assert.equal(await sees(ben), false)
        // The address was confirmed for an account that has another one now.
        await addresses.confirm(ben.id, ann.email)
        assert.equal(await sees(ben), false)
        await store.records.put(await addresses.assignedRecord(ann.id, ann.email))
        assert.equal(await sees(ann), false)
      } finally {
        await store.close()
      }
      const joined = await fixture.call(`/api/v1/users/${ben.id}`, {
        method: 'PATCH',
        key: ben.key,
        body: { team: 'red' },
      })
      assert.equal(joined.status, 200, joined.text)
      assert.equal(await sees(ben), true)
      assert.equal((await fixture.call(`/api/v1/invitations/${id}`)).status, 401)
    }))

  test(`a rule compares fields of the two rows that a new row refers to (${setup.name})`, () =>
    within(async fixture => {
      const { admin, ann, ben } = fixture
      const published_at = '2026-01-01T00:00:00Z'
      const note = await create(fixture, 'notes', ann, { title: 'a', published_at })
      const own = await create(fixture, 'labels', admin, { name: 'own', author_id: ann.id })
      const otherItem = await create(fixture, 'labels', admin, { name: 'other', author_id: ben.id })
      const label = (label_id: number, key: string): CallOptions => {
        return { method: 'POST', key, body: { note_id: note.id, label_id } }
      }
      assert.equal((await fixture.call('/api/v1/labellings', label(own.id, ben.key))).status, 201)
      assert.equal((await fixture.call('/api/v1/labellings', label(otherItem.id, ben.key))).status, 403)
    }))

  test(`a field that only its owner can read is hidden from others everywhere (${setup.name})`, () =>
    within(async fixture => {
      const { admin, ann, ben, urls } = fixture
      const published_at = '2026-01-01T00:00:00Z'
      await create(fixture, 'notes', ben, { title: 'a', published_at })
      const start = await fixture.call('/api/v1/events', { key: ann.key })
      const { next_after: after } = start.json.meta as { next_after: string }
      const renamed = { method: 'PATCH', key: ben.key, body: { name: 'Benjamin' } }
      assert.equal((await fixture.call(`/api/v1/users/${ben.id}`, renamed)).status, 200)
      const address = encodeURIComponent(ben.email)
      const paths = [
        'users',
        `users/${ben.id}`,
        'users?sort=email',
        `users?email=${address}`,
        'users?email[contains]=ben',
        'users?email[gt]=b',
        'notes?include=author',
        `notes?author.email=${address}`,
        `events?collections=users&after=${after}`,
      ]
      for (const path of paths) {
        const answer = await fixture.call(`/api/v1/${path}`, { key: ann.key })
        assert.ok(!answer.text.includes(ben.email), `${path}: ${answer.text}`)
        if (path.includes('email=') || path.includes('email[')) {
          assert.deepEqual(answer.json.data, [], `${path}: ${answer.text}`)
        }
      }
      const result = await graphql(
        urls[0] ?? '',
        ann,
        `{ users { name email } one: users(filter: { email: { eq: "${ben.email}" } }) { id } notes(filter: { author: { email: { eq: "${ben.email}" } } }) { id } }`,
      )
      const { users, one, notes } = result.data as Record<'users' | 'one' | 'notes', readonly Item[]>
      assert.deepEqual([one, notes], [[], []])
      const visibleNames = users?.filter(({ email }) => email !== null).map(({ name }) => name)
      assert.deepEqual(visibleNames, ['Ann'])
      const own = await fixture.call('/api/v1/me', { key: ben.key })
      assert.equal(own.json.email, ben.email)
      const byAdmin = await fixture.call(`/api/v1/users?email=${address}`, { key: admin.key })
      assert.equal((byAdmin.json.data as readonly unknown[]).length, 1)
    }))
}
