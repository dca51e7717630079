/** What REST refuses, GraphQL refuses; what a rule hides, no field, filter, order or count tells. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fixture } from '../conformance/oauth/server.ts'
import { type Credential, keys, none } from './credentials.ts'
import { checkGraphql, schemaOf } from './graphql.ts'
import { matrix } from './service.ts'

const outcomes = ['read', 'refused', 'written', 'write refused']

const rows: Readonly<Record<string, (fixture: Fixture) => Promise<readonly Credential[]>>> = {
  'no credential, and keys': async fixture => [none(), ...(await keys(fixture))],
}

for (const [what, credentials] of Object.entries(rows)) {
  test(`GraphQL by ${what}: each user, each set of scopes`, async t => {
    const schema = schemaOf()
    const { counts } = await matrix(credentials, (bench, by) => checkGraphql({ ...bench, schema }, by))
    t.diagnostic(JSON.stringify([...counts]))
    for (const outcome of outcomes)
      assert.ok((counts.get(outcome) ?? 0) > 30, `${outcome}: ${counts.get(outcome)}`)
  })
}
