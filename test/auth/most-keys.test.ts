/** `maxKeysPerUser` holds whatever comes at the same time: by one process and by several, on both databases. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, withFixture } from '../conformance/oauth/server.ts'
import blog from '../models/blog.ts'
import { type Answer, call } from '../serve/service.ts'
import { locked } from '../setups/postgres.ts'
import { nodeSetups, setups } from '../setups/setups.ts'

const MOST = 7
const AT_ONCE = 50
const path = '/api/v1/api_keys'
const mutation = 'mutation { createApiKey(name: "many") { id key } }'

/** One create, by REST or GraphQL, at one of the nodes; whether a key was made. */
async function isMade({ urls }: Fixture, key: string, at: number): Promise<boolean> {
  const url = urls[at % urls.length] ?? ''
  const isRest = at % 3 !== 0
  const answer: Answer = isRest
    ? await call(url + path, { method: 'POST', key, body: { name: 'many' } })
    : await call(`${url}/graphql`, { method: 'POST', key, body: { query: mutation } })
  const made = isRest ? answer.status === 201 : answer.json.errors === undefined
  assert.equal(/pk_/.test(answer.text), made, answer.text)
  if (!made) assert.ok(/CONFLICT/.test(answer.text) && /may have 7/.test(answer.text), answer.text)
  return made
}

async function countOf({ call: ask }: Fixture, key: string): Promise<unknown> {
  const { json } = await ask(path, { key })
  return (json.meta as { readonly total: number }).total
}

async function makeMany(fixture: Fixture, key: string): Promise<number> {
  const made = await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => isMade(fixture, key, at)))
  return made.filter(one => one).length
}

for (const setup of new Set([...setups, ...nodeSetups, locked])) {
  test(`of ${AT_ONCE} creates at once as many make a key as the user may have (${setup.name})`, async () => {
    const use = async (fixture: Fixture) => {
      const { ann, ben, call: ask } = fixture
      // Each has one already.
      const [anns, bens] = await Promise.all([makeMany(fixture, ann.key), makeMany(fixture, ben.key)])
      assert.deepEqual([anns, bens], [MOST - 1, MOST - 1])
      assert.deepEqual([await countOf(fixture, ann.key), await countOf(fixture, ben.key)], [MOST, MOST])
      const { json } = await ask(`${path}?sort=-id&per_page=2`, { key: ann.key })
      for (const { id } of json.data as readonly { readonly id: number }[]) {
        assert.equal((await ask(`${path}/${id}`, { method: 'DELETE', key: ann.key })).status, 204)
      }
      assert.equal(await makeMany(fixture, ann.key), 2)
      assert.equal(await countOf(fixture, ann.key), MOST)
    }
    await withFixture({ maxKeysPerUser: MOST, autoMigrate: true }, use, blog, setup)
  })
}
