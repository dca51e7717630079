import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { blogContract } from './blog.ts'
import { openHttpBench } from './http-bench.ts'
import { openSqliteStore } from './open-sqlite.ts'

suite('the face', () => blogContract(model => openBench(model, openSqliteStore)))
suite('over HTTP', () => blogContract(openHttpBench))
