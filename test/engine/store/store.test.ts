/** The store contract on every database, with and without a cache. */
import { blog } from './blog.ts'
import { storeContract } from './contract.ts'
import { databaseKinds } from './databases.ts'

for (const { name, within } of databaseKinds) {
  for (const cacheBytes of [0, 1_000_000]) {
    storeContract(`${name}, cache of ${cacheBytes} bytes`, use =>
      within(async ({ open }) => {
        const store = await open(blog, { cacheBytes })
        try {
          await use(store)
        } finally {
          await store.close()
        }
      }),
    )
  }
}
