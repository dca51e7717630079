/** The contract on every database: with answers remembered and without. */
import { blog } from './blog.ts'
import { storeContract } from './contract.ts'
import { databases } from './databases.ts'

for (const { name, within } of databases) {
  for (const cacheBytes of [0, 1_000_000]) {
    storeContract(`${name}, ${cacheBytes} bytes remembered`, use =>
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
