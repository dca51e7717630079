import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { blogContract } from './blog.ts'
import { kinds, lockedPostgres, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`REST on ${kind.name}`, () =>
    blogContract(model => openBench(model, model => openStore(kind, model))))
}
suite('over HTTP', () => blogContract(model => openHttpBench(model, sqlite)))
