import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { blogContract } from './blog.ts'
import { kinds, openStore, postgres, sqlite } from './databases.ts'
import { openHttpBench } from './http-bench.ts'

for (const kind of kinds) {
  suite(`the face on ${kind.name}`, () =>
    blogContract(model => openBench(model, each => openStore(kind, each))))
}
suite('over HTTP', () => blogContract(model => openHttpBench(model, sqlite)))
suite('over HTTP, three nodes on PostgreSQL and Redis', () =>
  blogContract(model => openHttpBench(model, postgres, 3)))
