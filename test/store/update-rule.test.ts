/** An update must be allowed for the item before and after it, with all that it changes, wherever the rule is asked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, field, model, string } from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import { user } from '../../src/principal.ts'
import { Client } from './blog.ts'
import { databases } from './databases.ts'

const access = { read: anyone, create: anyone, delete: anyone }
const year = '2026-01-01T00:00:00.000Z'
const notes = checkModel(
  model({
    notes: collection({
      updatedAt: true,
      access: { ...access, update: field('updated_at').lt(year) },
      fields: { text: string() },
    }),
  }),
)

for (const { name, within } of databases) {
  test(`${name}: the time of the change counts too`, () =>
    within(async place => {
      const clock = { now: Date.parse('2025-06-01T00:00:00Z') }
      const store = await place.open(notes, { now: () => clock.now })
      try {
        const client = new Client(store, notes, user(1, 'user', 'all'))
        const { id } = await client.create('notes', { text: 'made' })
        await client.update('notes', id, { text: 'changed' })
        clock.now = Date.parse(year)
        await assert.rejects(client.update('notes', id, { text: 'late' }), { code: 'FORBIDDEN' })
        // What changes nothing sets no time.
        await client.update('notes', id, { text: 'changed' })
        const [row] = await place.rows('SELECT text, updated_at FROM notes')
        assert.deepEqual({ ...row }, { text: 'changed', updated_at: '2025-06-01T00:00:00.000Z' })
      } finally {
        await store.close()
      }
    }))
}
