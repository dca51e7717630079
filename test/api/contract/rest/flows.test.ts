import { suite } from 'node:test'
import { chosen } from '../../../chosen.ts'
import blog from '../../../models/blog.ts'
import { postgresNodes, rowSecurityNodes } from '../../../setups/postgres.ts'
import { databaseKinds, openStore, sqlite } from './databases.ts'
import { flowContract } from './flows.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'
import { nodesHarness } from './nodes-harness.ts'

for (const kind of databaseKinds) {
  suite(`REST on ${kind.name}`, () =>
    flowContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('over HTTP', () => flowContract(model => openHttpHarness(model, sqlite)))
for (const setup of chosen([postgresNodes, rowSecurityNodes])) {
  suite(`over HTTP, ${setup.name}`, () => flowContract(nodesHarness(setup, blog)))
}
