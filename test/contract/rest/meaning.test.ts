import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { kinds, lockedPostgres, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { meaningContract } from './meaning.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`REST on ${kind.name}`, () =>
    meaningContract(model => openBench(model, model => openStore(kind, model))))
}
suite('over HTTP', () => meaningContract(model => openHttpBench(model, sqlite)))
