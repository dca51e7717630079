import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { kinds, lockedPostgres, openStore, postgres, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { richContract } from './rich.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`the face on ${kind.name}`, () =>
    richContract(model => openBench(model, each => openStore(kind, each))))
}
suite('over HTTP', () => richContract(model => openHttpBench(model, sqlite)))
suite('over HTTP, three nodes on PostgreSQL and Redis', () =>
  richContract(model => openHttpBench(model, postgres, 3)))
