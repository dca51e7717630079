import { flowContract } from './flows.ts'
import { openSqliteStore } from './open-sqlite.ts'

flowContract(openSqliteStore)
