import { suite } from 'node:test'
import { blogContract } from './blog.ts'
import { databaseKinds, openStore, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'

for (const kind of [...databaseKinds, rowSecurityPostgres]) {
  suite(`REST on ${kind.name}`, () =>
    blogContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('over HTTP', () => blogContract(model => openHttpHarness(model, sqlite)))
