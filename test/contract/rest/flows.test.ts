import { suite } from 'node:test'
import blog from '../../models/blog.ts'
import { lockedNodes, postgresNodes } from '../../setups/postgres.ts'
import { openBench } from './bench.ts'
import { kinds, openStore, sqlite } from './databases.ts'
import { flowContract } from './flows.ts'
import { openHttpBench } from './http-bench.ts'
import { nodesBench } from './nodes-bench.ts'

for (const kind of kinds) {
  suite(`REST on ${kind.name}`, () =>
    flowContract(model => openBench(model, model => openStore(kind, model))))
}
suite('over HTTP', () => flowContract(model => openHttpBench(model, sqlite)))
for (const setup of [postgresNodes, lockedNodes]) {
  suite(`over HTTP, ${setup.name}`, () => flowContract(nodesBench(setup, blog)))
}
