import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { kinds, openStore, postgres, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { meaningContract } from './meaning.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    meaningContract(model => openBench(model, each => openStore(kind, each))))
}
suite('over HTTP', () => meaningContract(model => openHttpBench(model, sqlite)))
suite('over HTTP, three nodes on PostgreSQL and Redis', () =>
  meaningContract(model => openHttpBench(model, postgres, 3)))
