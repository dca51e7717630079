/** An update rule must hold for the item before and after the update, including fields that are set automatically. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { UpdateShape } from '../../../../src/engine/plan/plan.ts'
import { anyone, collection, field, model, role, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { Client } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

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

for (const { name, within } of databaseKinds) {
  test(`${name}: an update rule also applies to the new updated_at`, () =>
    within(async database => {
      const clock = { now: Date.parse('2025-06-01T00:00:00Z') }
      const store = await database.open(notes, { now: () => clock.now })
      try {
        const client = new Client(store, notes, user(1, 'user', 'all'))
        const { id } = await client.create('notes', { text: 'made' })
        await client.update('notes', id, { text: 'changed' })
        clock.now = Date.parse(year)
        await assert.rejects(client.update('notes', id, { text: 'late' }), { code: 'FORBIDDEN' })
        // An update without changes does not set updated_at.
        await client.update('notes', id, { text: 'changed' })
        const [row] = await database.rows('SELECT text, updated_at FROM notes')
        assert.deepEqual({ ...row }, { text: 'changed', updated_at: '2025-06-01T00:00:00.000Z' })
      } finally {
        await store.close()
      }
    }))
}

const guarded = checkModel(
  model({
    notes: collection({
      updatedAt: true,
      access: { ...access, update: anyone },
      fields: { text: string(), mark: string({ access: { write: role('admin') }, default: 'none' }) },
    }),
  }),
)

const withheld: UpdateShape = {
  kind: 'update',
  mode: 'merge',
  collection: 'notes',
  id: 0,
  set: [
    { field: 'text', param: 1 },
    { field: 'mark', param: 2 },
  ],
  withheld: ['mark'],
  ifMatch: undefined,
  select: ['text', 'mark'].map(name => ({ kind: 'field', key: name, field: name })),
}

for (const { name, within } of databaseKinds) {
  test(`${name}: a withheld assignment is checked like any other, but not stored`, () =>
    within(async database => {
      const clock = { now: Date.parse(year) }
      const store = await database.open(guarded, { now: () => clock.now })
      try {
        const run = createRun(createGuard(guarded), store)
        const { id } = await new Client(store, guarded, user(1, 'user', 'all')).create('notes', {
          text: 'made',
        })
        const update = (who: string, text: string, mark: string) =>
          run.write({ shape: withheld, args: [id, text, mark] }, user(1, who, 'all'))
        await assert.rejects(update('user', 'changed', 'other'), { code: 'FORBIDDEN' })
        clock.now += 1000
        const alone = await update('admin', 'made', 'other')
        assert.deepEqual(JSON.parse(alone.text ?? ''), { text: 'made', mark: 'none' })
        const rows = () => database.rows('SELECT text, mark, updated_at FROM notes')
        assert.deepEqual({ ...(await rows())[0] }, { text: 'made', mark: 'none', updated_at: year })
        const both = await update('admin', 'changed', 'other')
        assert.deepEqual(JSON.parse(both.text ?? ''), { text: 'changed', mark: 'none' })
        const updated_at = '2026-01-01T00:00:01.000Z'
        assert.deepEqual({ ...(await rows())[0] }, { text: 'changed', mark: 'none', updated_at })
      } finally {
        await store.close()
      }
    }))
}
