import { suite } from 'node:test'
import drafts from '../../models/drafts.ts'
import { lockedNodes, postgresNodes } from '../../setups/postgres.ts'
import { openBench } from './bench.ts'
import { kinds, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { meaningContract } from './meaning.ts'
import { nodesBench } from './nodes-bench.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    meaningContract(model => openBench(model, each => openStore(kind, each))))
}
suite('over HTTP', () => meaningContract(model => openHttpBench(model, sqlite)))
for (const setup of [postgresNodes, lockedNodes]) {
  suite(`over HTTP, ${setup.name}`, () => meaningContract(nodesBench(setup, drafts)))
}
