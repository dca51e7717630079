/** What REST refuses, GraphQL refuses; what a rule hides, no field, filter, order or count tells. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fixture } from '../conformance/oauth/server.ts'
import { type Credential, clientTokens, keys, none, scopeSets, tokens } from './credentials.ts'
import { checkGraphql, schemaOf } from './graphql.ts'
import { isWhole, matrix, matrixSetups } from './service.ts'

const outcomes = ['read', 'refused', 'written', 'write refused']

const sets = isWhole ? Object.keys(scopeSets) : ['some']

const rows: Readonly<Record<string, (fixture: Fixture) => Promise<readonly Credential[]>>> = {
  'no credential, and keys': async fixture => [none(), ...(await keys(fixture, sets))],
  'opaque tokens': fixture => tokens(fixture, 'opaque', sets),
  'JWT access tokens': fixture => tokens(fixture, 'jwt', sets),
}

for (const [what, credentials] of Object.entries(rows)) {
  for (const setup of matrixSetups(what)) {
    test(`GraphQL by ${what}: each user, each set of scopes (${setup.name})`, async t => {
      const schema = schemaOf()
      const { counts } = await matrix(
        credentials,
        (bench, by) => checkGraphql({ ...bench, schema }, by),
        setup,
      )
      t.diagnostic(JSON.stringify([...counts]))
      for (const outcome of outcomes)
        assert.ok((counts.get(outcome) ?? 0) > 30, `${outcome}: ${counts.get(outcome)}`)
    })
  }
}

for (const setup of matrixSetups('apps themselves')) {
  test(`GraphQL by apps themselves, with nobody behind them (${setup.name})`, async t => {
    const schema = schemaOf()
    const { counts } = await matrix(
      clientTokens,
      (bench, by) => checkGraphql({ ...bench, schema }, by),
      setup,
    )
    t.diagnostic(JSON.stringify([...counts]))
    for (const outcome of ['read', 'refused', 'write refused'])
      assert.ok((counts.get(outcome) ?? 0) > 10, `${outcome}: ${counts.get(outcome)}`)
  })
}
