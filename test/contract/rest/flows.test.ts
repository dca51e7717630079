import { suite } from 'node:test'
import blog from '../../models/blog.ts'
import { lockedNodes, postgresNodes } from '../../setups/postgres.ts'
import { openBench } from './bench.ts'
import { kinds, openStore } from './databases.ts'
import { flowContract } from './flows.ts'
import { openHttpBench } from './http-bench.ts'
import { nodesBench } from './nodes-bench.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    flowContract(model => openBench(model, each => openStore(kind, each))))
  suite(`over HTTP on ${kind.name}`, () => flowContract(model => openHttpBench(model, kind)))
}
for (const setup of [postgresNodes, lockedNodes]) {
  suite(`over HTTP, ${setup.name}`, () => flowContract(nodesBench(setup, blog)))
}
