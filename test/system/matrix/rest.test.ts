/** Every operation with every kind of credential on every row does exactly what the rules say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../cases.ts'
import { model } from './context.ts'
import { operations } from './operations.ts'
import { checkRest } from './rest.ts'
import { restRows } from './rows.ts'
import { matrix } from './service.ts'

const userOutcomes = ['read', 'exported', 'refused', 'not found', 'written', 'write refused']
const appOutcomes = ['read', 'refused', 'not found', 'write refused']

/** Operations that no caller may use. */
const unwritten: ReadonlySet<string> = new Set(['create webhook_deliveries', 'delete webhook_deliveries'])

test('the document lists every operation of a collection', () => {
  const documented = new Set(
    operations().map(({ kind, collection, relation }) => `${kind} ${collection.name} ${relation ?? ''}`),
  )
  for (const { name, relations } of model.collections.values()) {
    for (const kind of ['list', 'item', 'create', 'delete'])
      assert.equal(documented.has(`${kind} ${name} `), !unwritten.has(`${kind} ${name}`), `${kind} ${name}`)
    for (const relation of relations.values())
      assert.equal(
        documented.has(`related ${name} ${relation.name}`),
        relation.kind !== 'one',
        `${name} ${relation.name}`,
      )
  }
  for (const { kind, collection, relation = '', scopes } of operations()) {
    const action = ['list', 'item', 'related', 'me'].includes(kind) ? 'read' : 'write'
    const listed = model.collections.get(collection.relations.get(relation)?.target ?? '') ?? collection
    assert.ok(
      scopes.includes(`${action}:${listed.singular}`),
      `${kind} ${collection.name} ${relation}: ${scopes}`,
    )
  }
})

for (const { name, setup, credentials, isOfUsers } of restRows()) {
  test(`REST enforces the rules for ${name}, for each user and set of scopes (${setup.name})`, async t => {
    const { counts } = await matrix(credentials, checkRest, setup)
    t.diagnostic(JSON.stringify([...counts]))
    // The matrix proves something only if each outcome occurs, often if all requests are sent.
    for (const outcome of isOfUsers ? userOutcomes : appOutcomes)
      assert.ok(
        (counts.get(outcome) ?? 0) > caseCount(isOfUsers ? 30 : 10, 0),
        `${outcome}: ${counts.get(outcome)}`,
      )
  })
}
