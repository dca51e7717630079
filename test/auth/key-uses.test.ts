/** The last use of API keys: one write an hour, whatever the number of requests and nodes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createKeyUses, lastUses } from '../../src/auth/key-uses.ts'
import { checkModel } from '../../src/model/check.ts'
import type { Records } from '../../src/records.ts'
import blog from '../models/blog.ts'
import { databases } from '../store/databases.ts'

const model = checkModel(blog)
const hourMs = 60 * 60_000
const at = Date.parse('2026-01-01T00:00:00Z')
const [key, userId] = [3, 7]

/** Stores what a node has noted, and counts its writes. */
async function noted(records: Records, times: readonly number[], fault?: Error) {
  let writes = 0
  const counted = <A extends readonly unknown[]>(write: (...args: A) => Promise<boolean>) => {
    return async (...args: A) => {
      if (fault) throw fault
      const done = await write(...args)
      if (done) writes++
      return done
    }
  }
  const faults: unknown[] = []
  const uses = createKeyUses({
    records: {
      get: (kind, id) => records.get(kind, id),
      add: counted(record => records.add(record)),
      swap: counted((...change) => records.swap(...change)),
    },
    onFault: error => faults.push(error),
  })
  const next = times.map(time => uses.note(key, userId, time))
  await uses.close()
  return { writes, next, faults }
}

for (const database of databases) {
  describe(`the last use of keys on ${database.name}`, () => {
    it('is written once an hour by all nodes together, and belongs to the key’s user', async () => {
      await database.within(async place => {
        const stores = [await place.open(model), await place.open(model)]
        const [one, two] = stores.map(({ records }) => records) as [Records, Records]
        try {
          await place.run(`INSERT INTO "users" ("id", "name", "email", "role", "created_at")
            VALUES (7, 'Ann', 'ann@example.com', 'user', '2026-01-01T00:00:00.000Z')`)
          const first = await noted(one, [at, at + 1, at + hourMs - 1])
          assert.deepEqual(first, { writes: 1, next: [at, at, at].map(time => time + hourMs), faults: [] })
          assert.equal((await noted(two, [at + hourMs - 1])).writes, 0)
          const both = await Promise.all([one, two].map(records => noted(records, [at + hourMs])))
          assert.equal(
            both.reduce((sum, { writes }) => sum + writes, 0),
            1,
          )
          assert.deepEqual(await lastUses(two, userId), new Map([[key, at + hourMs]]))
          assert.deepEqual(await lastUses(two, 8), new Map())
          const failed = await noted(one, [at + 2 * hourMs], new Error('The disk is full.'))
          assert.equal(failed.faults.length, 1)
        } finally {
          for (const store of stores) await store.close()
        }
      })
    })
  })
}
