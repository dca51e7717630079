/** The contract on SQLite: with answers remembered, without, and in memory. */
import { openSqlite } from '../../src/store/sqlite.ts'
import { blog, withFile } from './blog.ts'
import { storeContract } from './contract.ts'

for (const cacheBytes of [0, 1_000_000]) {
  storeContract(`SQLite, ${cacheBytes} bytes remembered`, use =>
    withFile(async file => {
      const store = openSqlite(blog, { file, cacheBytes })
      try {
        await use(store)
      } finally {
        await store.close()
      }
    }),
  )
}

storeContract('SQLite in memory', async use => {
  const store = openSqlite(blog, { file: ':memory:' })
  try {
    await use(store)
  } finally {
    await store.close()
  }
})
