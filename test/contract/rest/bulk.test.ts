import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { bulkContract } from './bulk.ts'
import { kinds, lockedPostgres, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`bulk creates on ${kind.name}`, () =>
    bulkContract(model => openBench(model, model => openStore(kind, model))))
}
suite('bulk creates over HTTP', () => bulkContract(model => openHttpBench(model, sqlite)))
