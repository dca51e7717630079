import { suite } from 'node:test'
import { batchContract } from './batch.ts'
import { openBench } from './bench.ts'
import { kinds, lockedPostgres, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`batches on ${kind.name}`, () =>
    batchContract(model => openBench(model, model => openStore(kind, model))))
}
suite('batches over HTTP', () => batchContract(model => openHttpBench(model, sqlite)))
