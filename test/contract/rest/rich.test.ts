import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { kinds, openStore } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { richContract } from './rich.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    richContract(model => openBench(model, each => openStore(kind, each))))
  suite(`over HTTP on ${kind.name}`, () => richContract(model => openHttpBench(model, kind)))
}
