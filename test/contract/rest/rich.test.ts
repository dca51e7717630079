import { suite } from 'node:test'
import { chosen } from '../../chosen.ts'
import rich from '../../models/rich.ts'
import { rowSecurityNodes } from '../../setups/postgres.ts'
import { databaseKinds, openStore, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'
import { nodesHarness } from './nodes-harness.ts'
import { richContract } from './rich.ts'

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  suite(`REST on ${kind.name}`, () =>
    richContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('over HTTP', () => richContract(model => openHttpHarness(model, sqlite)))
suite(`over HTTP, ${rowSecurityNodes.name}`, () => richContract(nodesHarness(rowSecurityNodes, rich)))
