/** The last use of keys, sessions and apps is written once an hour, whatever the number of requests and nodes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Records } from '../../src/base/records.ts'
import { LastUses, lastUsesOf, type Used } from '../../src/identity/last-use.ts'
import { checkModel } from '../../src/model/check/check.ts'
import { databaseKinds } from '../engine/store/databases.ts'
import blog from '../models/blog.ts'

const model = checkModel(blog)
const hourMs = 60 * 60_000
const start = Date.parse('2026-01-01T00:00:00Z')
const used: Used = { kind: 'KeyUse', id: '3', owner: '7', expiresAt: null }

/** How often a node writes if it notes a use at each of these times. */
async function writesOf(records: Records, times: readonly number[]): Promise<number> {
  let writes = 0
  const counted = <A extends readonly unknown[]>(write: (...args: A) => Promise<boolean>) => {
    return async (...args: A) => {
      const done = await write(...args)
      if (done) writes++
      return done
    }
  }
  let now = 0
  const uses = new LastUses(
    {
      get: (kind, id) => records.get(kind, id),
      delete: (kind, id) => records.delete(kind, id),
      add: counted(record => records.add(record)),
      swap: counted((...change) => records.swap(...change)),
    },
    () => now,
  )
  for (const time of times) {
    now = time
    void uses.note(used)
  }
  await uses.settled()
  return writes
}

for (const databaseKind of databaseKinds) {
  describe(`the last use on ${databaseKind.name}`, () => {
    it('is written once an hour across all nodes, and belongs to the user', async () => {
      await databaseKind.within(async database => {
        const stores = [await database.open(model), await database.open(model)]
        const [first, second] = stores.map(({ records }) => records) as [Records, Records]
        try {
          await database.run(`INSERT INTO "users" ("id", "name", "email", "role", "created_at")
            VALUES (7, 'Ann', 'ann@example.com', 'user', '2026-01-01T00:00:00.000Z')`)
          assert.equal(await writesOf(first, [start, start + 1, start + hourMs - 1]), 1)
          assert.equal(await writesOf(second, [start + hourMs - 1]), 0)
          const at = [start + hourMs]
          const [mine, others] = await Promise.all([writesOf(first, at), writesOf(second, at)])
          assert.equal(mine + others, 1)
          const known = await lastUsesOf(second, 'KeyUse', 7)
          assert.deepEqual(
            [...known].map(([id, { at }]) => [id, at]),
            [['3', start + hourMs]],
          )
          assert.equal((await lastUsesOf(second, 'KeyUse', 8)).size, 0)
        } finally {
          for (const store of stores) await store.close()
        }
      })
    })
  })
}
