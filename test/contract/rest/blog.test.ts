import { blogContract } from './blog.ts'
import { openSqliteStore } from './open-sqlite.ts'

blogContract(openSqliteStore)
