import { suite } from 'node:test'
import { chosen, inWhole } from '../../../chosen.ts'
import { bulkContract } from './bulk.ts'
import { openStore, postgres, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'

for (const kind of chosen([sqlite, ...inWhole(postgres), rowSecurityPostgres])) {
  suite(`bulk creates on ${kind.name}`, () =>
    bulkContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('bulk creates over HTTP', () => bulkContract(model => openHttpHarness(model, sqlite)))
