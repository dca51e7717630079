import { suite } from 'node:test'
import { chosen, inWhole } from '../../../chosen.ts'
import { openStore, postgres, rowSecurityPostgres, sqlite } from './databases.ts'
import { openHarness } from './harness.ts'
import { openHttpHarness } from './http-harness.ts'
import { writeSemanticsContract } from './write-semantics.ts'

for (const kind of chosen([sqlite, ...inWhole(postgres), rowSecurityPostgres])) {
  suite(`REST on ${kind.name}`, () =>
    writeSemanticsContract(model => openHarness(model, model => openStore(kind, model))))
}
suite('over HTTP', () => writeSemanticsContract(model => openHttpHarness(model, sqlite)))
