import { suite } from 'node:test'
import blog from '../../models/blog.ts'
import { lockedNodes, postgresNodes } from '../../setups/postgres.ts'
import { openBench } from './bench.ts'
import { blogContract } from './blog.ts'
import { kinds, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { nodesBench } from './nodes-bench.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    blogContract(model => openBench(model, each => openStore(kind, each))))
}
suite('over HTTP', () => blogContract(model => openHttpBench(model, sqlite)))
for (const setup of [postgresNodes, lockedNodes]) {
  suite(`over HTTP, ${setup.name}`, () => blogContract(nodesBench(setup, blog)))
}
