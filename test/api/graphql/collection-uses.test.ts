/** The collections that a mutation declares for its transaction, so that PostgreSQL locks no more tables than needed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usesOf } from '../../../src/api/graphql/execute/collection-uses.ts'
import type { Selected } from '../../../src/engine/plan/plan.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import blog from '../../models/blog.ts'

test('a mutation writes or deletes in the collections of its fields, and reads what they select', () => {
  const model = checkModel(blog)
  const step = (kind: 'create' | 'update' | 'delete', name: string, select: readonly Selected[] = []) => {
    return { kind, collection: model.collections.get(name) ?? assert.fail(), select }
  }
  const id: Selected = { kind: 'field', key: 'id', field: 'id' }
  const author: Selected = {
    kind: 'relation',
    key: 'author',
    relation: 'author',
    select: [id],
    list: undefined,
  }
  assert.deepEqual(usesOf(model, [step('create', 'posts', [author]), step('delete', 'posts', [id])]), {
    reads: ['users'],
    writes: ['posts'],
    deletes: ['posts'],
  })
  assert.deepEqual(usesOf(model, [step('update', 'users', [id])]), {
    reads: [],
    writes: ['users'],
    deletes: [],
  })
})
