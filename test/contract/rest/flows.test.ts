import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { kinds, openStore, postgres } from './databases.ts'
import { flowContract } from './flows.ts'
import { openHttpBench } from './http-bench.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    flowContract(model => openBench(model, each => openStore(kind, each))))
  suite(`over HTTP on ${kind.name}`, () => flowContract(model => openHttpBench(model, kind)))
}
suite('over HTTP, three nodes on PostgreSQL and Redis', () =>
  flowContract(model => openHttpBench(model, postgres, 3)))
