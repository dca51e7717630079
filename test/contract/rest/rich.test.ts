import { suite } from 'node:test'
import rich from '../../models/rich.ts'
import { lockedNodes } from '../../setups/postgres.ts'
import { openBench } from './bench.ts'
import { kinds, lockedPostgres, openStore, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'
import { nodesBench } from './nodes-bench.ts'
import { richContract } from './rich.ts'

for (const kind of [...kinds, lockedPostgres]) {
  suite(`REST on ${kind.name}`, () =>
    richContract(model => openBench(model, model => openStore(kind, model))))
}
suite('over HTTP', () => richContract(model => openHttpBench(model, sqlite)))
suite(`over HTTP, ${lockedNodes.name}`, () => richContract(nodesBench(lockedNodes, rich)))
