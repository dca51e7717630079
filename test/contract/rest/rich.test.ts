import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { openHttpBench } from './http-bench.ts'
import { openSqliteStore } from './open-sqlite.ts'
import { richContract } from './rich.ts'

suite('the face', () => richContract(model => openBench(model, openSqliteStore)))
suite('over HTTP', () => richContract(openHttpBench))
