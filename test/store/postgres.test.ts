/** The contract on PostgreSQL: with answers remembered and without. */
import { openPostgres } from '../../src/store/postgres.ts'
import { withPostgres } from '../databases/postgres.ts'
import { blog } from './blog.ts'
import { storeContract } from './contract.ts'

for (const cacheBytes of [0, 1_000_000]) {
  storeContract(`PostgreSQL, ${cacheBytes} bytes remembered`, use =>
    withPostgres(async url => {
      const store = await openPostgres(blog, { url, cacheBytes })
      try {
        await use(store)
      } finally {
        await store.close()
      }
    }),
  )
}
