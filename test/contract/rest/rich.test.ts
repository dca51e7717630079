import { openSqliteStore } from './open-sqlite.ts'
import { richContract } from './rich.ts'

richContract(openSqliteStore)
