/** GraphQL enforces the same rules as REST; no field, filter, order or count reveals hidden data. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../cases.ts'
import { checkGraphql, schemaOf } from './graphql.ts'
import { graphqlRows } from './rows.ts'
import { matrix } from './service.ts'

const userOutcomes = ['read', 'refused', 'written', 'write refused']
const appOutcomes = ['read', 'refused', 'write refused']

for (const { name, setup, credentials, isOfUsers } of graphqlRows()) {
  test(`GraphQL enforces the rules for ${name}, for each user and set of scopes (${setup.name})`, async t => {
    const schema = schemaOf()
    const { counts } = await matrix(
      credentials,
      (harness, credential) => checkGraphql({ ...harness, schema }, credential),
      setup,
    )
    t.diagnostic(JSON.stringify([...counts]))
    for (const outcome of isOfUsers ? userOutcomes : appOutcomes)
      assert.ok(
        (counts.get(outcome) ?? 0) > caseCount(isOfUsers ? 30 : 10, 0),
        `${outcome}: ${counts.get(outcome)}`,
      )
  })
}
