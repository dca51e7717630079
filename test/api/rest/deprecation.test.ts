/** Deprecation and Sunset name what the request uses and nothing else (RFC 9745, RFC 8594). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { user } from '../../../src/base/principal.ts'
import { anyone, collection, model, relation, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { openStore, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness, type Request } from '../contract/rest/harness.ts'

const until = (year: number) => ({ since: `${year - 10}-01-01`, sunset: `${year}-01-01` })

const declared = model({
  boxes: collection({
    deprecated: until(2041),
    fields: { label: string() },
    access: { read: anyone },
  }),
  things: collection({
    fields: {
      name: string(),
      first: string({ optional: true, deprecated: until(2042) }),
      second: string({ optional: true, deprecated: until(2043) }),
      box_id: relation('boxes', { optional: true }),
      twin_id: relation('things', { optional: true, inverse: 'twins', deprecated: until(2044) }),
    },
    access: { read: anyone },
  }),
})

let harness: Harness

before(async () => {
  harness = await openHarness(checkModel(declared), model => openStore(sqlite, model))
  await harness.seed('users', { name: 'Root', email: 'root@example.com', role: 'admin' })
  await harness.seed('boxes', { label: 'Box' })
  for (const name of ['One', 'Two']) await harness.seed('things', { name, box_id: 1 })
})
after(() => harness.close())

/** The year of the Sunset header; undefined without one. */
async function sunsetOf(request: Request): Promise<string | undefined> {
  const { status, headers, body } = await harness.send(request, user(1, 'admin', 'all'))
  assert.ok(status < 300, `${status} ${body}`)
  const index = headers.indexOf('Sunset')
  assert.equal(index === -1, !headers.includes('Deprecation'))
  return index === -1 ? undefined : /\d{4}/.exec(headers[index + 1] ?? '')?.[0]
}

const cases: readonly (readonly [request: Request, year: string | undefined])[] = [
  [{ url: '/api/v1/things/1?fields=name' }, undefined],
  [{ url: '/api/v1/things/1?fields=second' }, '2043'],
  [{ url: '/api/v1/things/1' }, '2042'],
  [{ url: '/api/v1/things/1?fields=name&include=box' }, '2041'],
  [{ url: '/api/v1/things?fields=name' }, undefined],
  [{ url: '/api/v1/things?fields=name&box.label=Box' }, '2041'],
  [{ url: '/api/v1/things?fields=name&twin.first=x' }, '2042'],
  [{ url: '/api/v1/things?fields=name&twin.name=One' }, '2044'],
  [{ url: '/api/v1/things?fields=name&twins.name=One' }, '2044'],
  [{ method: 'PATCH', url: '/api/v1/things/1?fields=name', body: { name: 'x' } }, undefined],
  [{ method: 'PATCH', url: '/api/v1/things/1?fields=name', body: { second: 'x' } }, '2043'],
  [{ method: 'PATCH', url: '/api/v1/things/1?fields=name&include=box', body: { second: 'x' } }, '2041'],
  [{ method: 'POST', url: '/api/v1/things?fields=name', body: { name: 'x' } }, undefined],
  [{ method: 'POST', url: '/api/v1/things?fields=name', body: { name: 'x', second: 'x' } }, '2043'],
  [{ method: 'DELETE', url: '/api/v1/things/2' }, undefined],
]

for (const [request, year] of cases) {
  const { method = 'GET', url, body } = request
  test(`${method} ${url} ${JSON.stringify(body ?? '')} has Sunset ${year}`, async () => {
    assert.equal(await sunsetOf(request), year)
  })
}

test('a deletion from a deprecated collection has Sunset', async () => {
  const id = await harness.seed('boxes', { label: 'Another' })
  assert.equal(await sunsetOf({ method: 'DELETE', url: `/api/v1/boxes/${id}` }), '2041')
})
