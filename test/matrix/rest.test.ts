/** Every operation, by every kind of credential, at every row: exactly what the rules say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fixture, withFixture } from '../conformance/oauth/server.ts'
import rich from '../models/rich.ts'
import { type Credential, keys, none } from './credentials.ts'
import { operations } from './operations.ts'
import { checkRest, type Send, Tally } from './rest.ts'
import { fill, model, oneSecret, openWorld } from './world.ts'

const settings = { autoMigrate: true, maxKeysPerUser: 1000 }

export function sender(url: string): Send {
  return async ({ method, path, body }, headers) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, json: text === '' ? {} : JSON.parse(text) }
  }
}

async function matrix(credentials: (fixture: Fixture) => Promise<readonly Credential[]>): Promise<Tally> {
  const tally = new Tally()
  await withFixture(
    settings,
    async fixture => {
      const world = openWorld(fixture.file)
      try {
        await fill(world, oneSecret)
        const bench = { world, send: sender(fixture.url), tally }
        for (const credential of await credentials(fixture)) await checkRest(bench, credential)
      } finally {
        await world.close()
      }
    },
    rich,
  )
  return tally
}

function assertManifold({ counts }: Tally): void {
  for (const outcome of ['read', 'refused', 'not found', 'written', 'write refused'])
    assert.ok((counts.get(outcome) ?? 0) > 30, `${outcome}: ${counts.get(outcome)}`)
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

test('without a credential, and by keys of every user with every set of scopes', async t => {
  const tally = await matrix(async fixture => [none(), ...(await keys(fixture))])
  t.diagnostic(JSON.stringify([...tally.counts]))
  assertManifold(tally)
})
