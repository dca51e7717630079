import { suite } from 'node:test'
import { chosen } from '../../../chosen.ts'
import { blogContract } from './blog.ts'
import { openStore, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'

// On PostgreSQL without row security, `npm test` runs it: test/system/smoke/postgres.test.ts.
for (const kind of chosen([sqlite, rowSecurityPostgres])) {
  suite(`REST on ${kind.name}`, () =>
    blogContract(model => openHarness(model, model => openStore(kind, model))))
}
for (const { name } of chosen([sqlite]))
  suite(`over HTTP on ${name}`, () => blogContract(model => openHttpHarness(model, sqlite)))
