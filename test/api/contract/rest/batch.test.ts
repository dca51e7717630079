import { suite } from 'node:test'
import { chosen, inWhole } from '../../../chosen.ts'
import { batchContract } from './batch.ts'
import { openStore, postgres, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'

for (const kind of chosen([sqlite, ...inWhole(postgres), rowSecurityPostgres])) {
  suite(`batches on ${kind.name}`, () =>
    batchContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('batches over HTTP', () => batchContract(model => openHttpHarness(model, sqlite)))
