/** Every operation, by every kind of credential, at every row: exactly what the rules say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fixture } from '../conformance/oauth/server.ts'
import { type Credential, clientTokens, keys, none, scopeSets, tokens } from './credentials.ts'
import { operations } from './operations.ts'
import { checkRest } from './rest.ts'
import { isWhole, matrix, matrixSetups } from './service.ts'
import { model } from './world.ts'

const outcomes = ['read', 'refused', 'not found', 'written', 'write refused']

const sets = isWhole ? Object.keys(scopeSets) : ['reading', 'some']

const rows: Readonly<Record<string, (fixture: Fixture) => Promise<readonly Credential[]>>> = {
  'no credential, and keys': async fixture => [none(), ...(await keys(fixture, sets))],
  'opaque tokens': fixture => tokens(fixture, 'opaque', sets),
  'JWT access tokens': fixture => tokens(fixture, 'jwt', sets),
}

test('the document lists every operation that a collection has', () => {
  const listed = new Set(operations().map(({ kind, of, relation }) => `${kind} ${of.name} ${relation ?? ''}`))
  for (const { name, relations } of model.collections.values()) {
    for (const kind of ['list', 'item', 'create', 'delete'])
      assert.ok(listed.has(`${kind} ${name} `), `${kind} ${name}`)
    for (const relation of relations.values())
      assert.equal(
        listed.has(`related ${name} ${relation.name}`),
        relation.kind !== 'one',
        `${name} ${relation.name}`,
      )
  }
  for (const { kind, of, relation = '', scopes } of operations()) {
    const action = ['list', 'item', 'related', 'me'].includes(kind) ? 'read' : 'write'
    const shown = model.collections.get(of.relations.get(relation)?.target ?? '') ?? of
    assert.ok(scopes.includes(`${action}:${shown.singular}`), `${kind} ${of.name} ${relation}: ${scopes}`)
  }
})

for (const [what, credentials] of Object.entries(rows)) {
  for (const setup of matrixSetups(what)) {
    test(`REST by ${what}: each user, each set of scopes (${setup.name})`, async t => {
      const { counts } = await matrix(credentials, checkRest, setup)
      t.diagnostic(JSON.stringify([...counts]))
      // A matrix in which everything is refused, or nothing, shows little.
      for (const outcome of outcomes)
        assert.ok((counts.get(outcome) ?? 0) > 30, `${outcome}: ${counts.get(outcome)}`)
    })
  }
}

for (const setup of matrixSetups('apps themselves')) {
  test(`REST by apps themselves, with nobody behind them (${setup.name})`, async t => {
    const { counts } = await matrix(clientTokens, checkRest, setup)
    t.diagnostic(JSON.stringify([...counts]))
    for (const outcome of ['read', 'refused', 'not found', 'write refused'])
      assert.ok((counts.get(outcome) ?? 0) > 10, `${outcome}: ${counts.get(outcome)}`)
  })
}
