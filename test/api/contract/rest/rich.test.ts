import { suite } from 'node:test'
import { chosen } from '../../../chosen.ts'
import rich from '../../../models/rich.ts'
import { rowSecurityNodes } from '../../../setups/postgres.ts'
import { databaseKinds, openStore, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'
import { nodesHarness } from './nodes-harness.ts'
import { richContract } from './rich.ts'

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  suite(`REST on ${kind.name}`, () =>
    richContract(model => openHarness(model, model => openStore(kind, model))))
}
for (const { name } of chosen([sqlite]))
  suite(`over HTTP on ${name}`, () => richContract(model => openHttpHarness(model, sqlite)))
for (const setup of chosen([rowSecurityNodes]))
  suite(`over HTTP, ${setup.name}`, () => richContract(nodesHarness(setup, rich)))
