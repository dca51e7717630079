/** A signed-in caller can always reference their own account, readable or not, even if a write has to check many rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { CreateShape, UpdateShape } from '../../../../src/engine/plan/plan.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { seededStores } from '../../../setups/databases/seeded-store.ts'
import { equals, nobody, relatedTo, smallModel } from '../../plan/small-model.ts'

const guardedFields = ['title', 'note', 'rank', 'public', 'extra', 'pin']
const write = relatedTo('author', equals('level', 1))
const model = smallModel({
  access: { users: { read: nobody } },
  fields: Object.fromEntries(
    guardedFields.map(name => [`posts.${name}`, { access: { read: nobody, write } }]),
  ),
})
const created_at = '2026-01-01T00:00:00.000Z'
const person = (id: number) => ({ id, name: 'a', level: 1, boss_id: null, password_hash: '', created_at })

const set = [...guardedFields, 'author_id'].map((field, index) => ({ field, param: index + 1 }))
const values = ['a', 'b', 1, true, { a: 1 }, 'c']
const select = [{ kind: 'field', key: 'id', field: 'id' }] as const
const create: CreateShape = {
  kind: 'create',
  collection: 'posts',
  set,
  computed: [],
  limit: undefined,
  select,
}
const update: UpdateShape = {
  kind: 'update',
  mode: 'merge',
  collection: 'posts',
  id: 0,
  set,
  ifMatch: undefined,
  select,
}

for (const { name, within } of seededStores) {
  test(`${name}: a caller whose account is not readable can reference it, but no other account`, () =>
    within(model, { users: [person(1), person(2)] }, async ({ store, dump }) => {
      const run = createRun(createGuard(model), store)
      const ann = user(1, 'user', 'all')
      const toAnother = { code: 'VALIDATION_FAILED' }
      const { id } = await run.write({ shape: create, args: [null, ...values, 1] }, ann)
      await assert.rejects(run.write({ shape: create, args: [null, ...values, 2] }, ann), toAnother)
      const change = [id, 'A', 'B', 2, false, { a: 2 }, 'C']
      await assert.rejects(run.write({ shape: update, args: [...change, 2] }, ann), toAnother)
      await run.write({ shape: update, args: [...change, 1] }, ann)
      const { posts = [] } = await dump()
      assert.deepEqual(
        posts.map(({ title, author_id }) => [title, author_id]),
        [['A', 1]],
      )
    }))
}
