import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { flowContract } from './flows.ts'
import { openHttpBench } from './http-bench.ts'
import { openSqliteStore } from './open-sqlite.ts'

suite('the face', () => flowContract(model => openBench(model, openSqliteStore)))
suite('over HTTP', () => flowContract(openHttpBench))
