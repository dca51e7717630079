/** The store contract on SQLite in memory. */
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { blog } from './blog.ts'
import { storeContract } from './contract.ts'

storeContract('SQLite in memory', async use => {
  const store = openSqlite(blog, { file: ':memory:' })
  try {
    await use(store)
  } finally {
    await store.close()
  }
})
