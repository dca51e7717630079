/** Events of items that are nearly as large as an answer may be, or larger: on pages, long polls and streams. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import notes from '../../models/notes.ts'
import { call } from '../../server/serve/service.ts'
import { setups } from '../../setups/setups.ts'
import { until } from '../transports/service.ts'
import { type Event, fetchEvents, fetchPage, stream } from './listener.ts'

const maxAnswer = 65_536
/** Twice that is more than an answer, three times that more than an event. */
const long = (letter: string) => letter.repeat(30_000)

type Large = Event & { readonly truncated?: true }

const shown = ({ type, changed, data, truncated }: Large) => ({
  type,
  ...(changed && { changed }),
  data: data && {
    title: String(data['title'])[0],
    secret: data['secret'] === null ? null : String(data['secret'])[0],
  },
  ...(truncated && { truncated }),
})

for (const setup of setups) {
  describe(setup.name, () => {
    const withFixture = sharedFixtures(setup, { maxAnswer: '64 KiB' }, notes)
    const test = (name: string, use: (fixture: Fixture) => Promise<void>) => it(name, () => withFixture(use))
    const end = async (url: string) => (await fetchPage(url, 'collections=notes')).meta.next_after

    test('an event is whole if it fits, although both views together do not; a larger one has no data', async fixture => {
      const { url, ann, ben } = fixture
      const start = await end(url)
      const live = await stream(url, `collections=notes&after=${start}`, { key: ann.key })
      const waiting = fetchPage(url, `collections=notes&after=${start}&wait=20&limit=100`, ann.key)
      const write = async (method: string, path: string, body?: object) => {
        const answer = await call(`${url}/api/v1/${path}?fields=id`, {
          method,
          key: ann.key,
          ...(body && { body }),
        })
        assert.ok(answer.status < 300, answer.text)
        return answer.json as { readonly id: number }
      }
      const { id } = await write('POST', 'notes', { title: long('a') })
      await write('PATCH', `notes/${id}`, { title: long('b') })
      await write('PATCH', `notes/${id}`, { secret: long('s') })
      await write('PATCH', `notes/${id}`, { title: long('c'), secret: long('é') })
      await write('PATCH', `notes/${id}`, { secret: long('ü') })
      await write('PATCH', `notes/${id}`, { state: 'draft', secret: null })
      const ofAnn = [
        { type: 'note.created', data: { title: 'a', secret: null } },
        { type: 'note.updated', changed: ['title'], data: { title: 'b', secret: null } },
        { type: 'note.updated', changed: ['secret'], data: { title: 'b', secret: 's' } },
        { type: 'note.updated', changed: ['title', 'secret'], data: null, truncated: true },
        { type: 'note.updated', changed: ['secret'], data: null, truncated: true },
        { type: 'note.updated', changed: ['state', 'secret'], data: { title: 'c', secret: null } },
      ]
      // Updates of the secret alone are nothing to ben.
      const ofBen = [
        { type: 'note.created', data: { title: 'a', secret: null } },
        { type: 'note.updated', changed: ['title'], data: { title: 'b', secret: null } },
        { type: 'note.updated', changed: ['title'], data: { title: 'c', secret: null } },
        { type: 'note.deleted', data: null },
      ]
      assert.deepEqual((await fetchEvents(url, 'collections=notes', ann.key, start)).map(shown), ofAnn)
      assert.deepEqual((await fetchEvents(url, 'collections=notes', ben.key, start)).map(shown), ofBen)
      await until(() => live.events().length === ofAnn.length)
      assert.deepEqual(live.events().map(shown), ofAnn)
      live.close()
      const first = await waiting
      assert.deepEqual(first.data.map(shown), ofAnn.slice(0, first.data.length))
      assert.ok(first.data.length > 0)
    })

    test('a page ends before it is larger than an answer, and continues with the next', async ({
      url,
      ann,
    }) => {
      const start = await end(url)
      for (const title of ['a', 'b', 'c', 'd', 'e'].map(long))
        assert.equal(
          (await call(`${url}/api/v1/notes`, { method: 'POST', key: ann.key, body: { title } })).status,
          201,
        )
      const page = await fetchPage(url, `collections=notes&after=${start}`, ann.key)
      assert.deepEqual([page.data.length, page.meta.has_more], [2, true])
      assert.ok(JSON.stringify(page).length <= maxAnswer)
      const all = await fetchEvents(url, 'collections=notes', ann.key, start)
      assert.equal(all.map(({ data }) => String(data?.['title'])[0]).join(''), 'abcde')
    })
  })
}
