/** `quotas.keys` holds for concurrent creates: in one process and in several, on both databases. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosen } from '../../chosen.ts'
import blog from '../../models/blog.ts'
import { type Answer, call } from '../../server/serve/service.ts'
import { postgresRowSecurity } from '../../setups/postgres.ts'
import { nodeSetups, setups } from '../../setups/setups.ts'
import { type Fixture, withFixture } from '../conformance/server.ts'

const maxKeys = 7
const concurrentCreates = 50
const path = '/api/v1/api_keys'
const mutation = 'mutation { createApiKey(name: "many") { id key } }'

/** Creates a key by REST or GraphQL at one of the nodes; returns whether it was created. */
async function isCreated({ urls }: Fixture, key: string, at: number): Promise<boolean> {
  const url = urls[at % urls.length] ?? ''
  const isRest = at % 3 !== 0
  const answer: Answer = isRest
    ? await call(url + path, { method: 'POST', key, body: { name: 'many' } })
    : await call(`${url}/graphql`, { method: 'POST', key, body: { query: mutation } })
  const created = isRest ? answer.status === 201 : answer.json.errors === undefined
  assert.equal(/pk_/.test(answer.text), created, answer.text)
  if (!created) assert.ok(/CONFLICT/.test(answer.text) && /may have at most 7/.test(answer.text), answer.text)
  return created
}

async function countOf({ call: request }: Fixture, key: string): Promise<unknown> {
  const { json } = await request(path, { key })
  return (json.meta as { readonly total: number }).total
}

async function createConcurrently(fixture: Fixture, key: string): Promise<number> {
  const created = await Promise.all(
    Array.from({ length: concurrentCreates }, (_, at) => isCreated(fixture, key, at)),
  )
  return created.filter(one => one).length
}

for (const setup of chosen(new Set([...setups, ...nodeSetups, postgresRowSecurity]))) {
  test(`${concurrentCreates} concurrent creates make exactly as many keys as the user may have (${setup.name})`, async () => {
    const use = async (fixture: Fixture) => {
      const { ann, ben, call: request } = fixture
      // Each has one key already.
      const [annsKeys, bensKeys] = await Promise.all([
        createConcurrently(fixture, ann.key),
        createConcurrently(fixture, ben.key),
      ])
      assert.deepEqual([annsKeys, bensKeys], [maxKeys - 1, maxKeys - 1])
      assert.deepEqual([await countOf(fixture, ann.key), await countOf(fixture, ben.key)], [maxKeys, maxKeys])
      const { json } = await request(`${path}?sort=-id&per_page=2`, { key: ann.key })
      for (const { id } of json.data as readonly { readonly id: number }[]) {
        assert.equal((await request(`${path}/${id}`, { method: 'DELETE', key: ann.key })).status, 204)
      }
      assert.equal(await createConcurrently(fixture, ann.key), 2)
      assert.equal(await countOf(fixture, ann.key), maxKeys)
    }
    await withFixture({ quotas: { keys: maxKeys }, autoMigrate: true }, use, blog, setup)
  })
}
