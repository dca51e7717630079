import { suite } from 'node:test'
import { openBench } from './bench.ts'
import { openHttpBench } from './http-bench.ts'
import { meaningContract } from './meaning.ts'
import { openSqliteStore } from './open-sqlite.ts'

suite('the face', () => meaningContract(model => openBench(model, openSqliteStore)))
suite('over HTTP', () => meaningContract(openHttpBench))
