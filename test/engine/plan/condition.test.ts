import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  addCondition,
  always,
  and,
  assuming,
  conditionKey,
  never,
  noDependencies,
  not,
  or,
} from '../../../src/engine/plan/condition.ts'
import type { Condition } from '../../../src/engine/plan/guarded-conditions.ts'
import { field, smallModel, types } from './small-model.ts'

const is = (value: number): Condition => ({
  kind: 'compare',
  field: { field: field('n', types.integer), when: always },
  operator: 'eq',
  operand: { kind: 'literal', value },
})
const [a, b, c] = [is(1), is(2), is(3)]
const all = (...conditions: Condition[]): Condition => ({ kind: 'and', parts: conditions })
const any = (...conditions: Condition[]): Condition => ({ kind: 'or', parts: conditions })

describe('conditions are simplified while they are built', () => {
  const table: readonly [string, Condition, Condition][] = [
    ['an empty and is always', and(), always],
    ['an empty or is never', or(), never],
    ['an and with one part is that part', and(a), a],
    ['always is dropped from and', and(always, a), a],
    ['never is dropped from or', or(never, a), a],
    ['an and with never is never', and(a, never, b), never],
    ['an or with always is always', or(a, always, b), always],
    ['a nested and is flattened', and(a, and(b, c)), all(a, b, c)],
    ['a nested or is flattened', or(or(a, b), c), any(a, b, c)],
    ['an or in an and is kept', and(a, or(b, c)), all(a, any(b, c))],
    ['a duplicate is dropped', and(a, b, is(1)), all(a, b)],
    ['a and (a or b) is a', and(a, or(a, b)), a],
    ['a or (b and a) is a', or(a, and(b, a)), a],
    ['not always is never', not(always), never],
    ['not never is always', not(never), always],
    ['a double negation is dropped', not(not(a)), a],
    ['the order of the parts is kept', or(c, a, b), any(c, a, b)],
  ]
  for (const [name, condition, expected] of table) test(name, () => assert.deepEqual(condition, expected))
})

describe('conditions known to hold are dropped', () => {
  const table: readonly [string, Condition, Condition][] = [
    ['the condition itself', assuming(a, a), always],
    ['a part of a known and', assuming(and(a, b), b), always],
    ['an or with a known part', assuming(and(a, b), or(b, c)), always],
    ['an and with a known part keeps the rest', assuming(a, and(a, c)), c],
    ['a known or does not imply its parts', assuming(or(a, b), a), a],
    ['a known or', assuming(or(a, b), or(a, b)), always],
    ['no known condition changes nothing', assuming(always, a), a],
    ['never stays never', assuming(a, never), never],
  ]
  for (const [name, condition, expected] of table) test(name, () => assert.deepEqual(condition, expected))
})

test('conditions with different meanings have different keys', () => {
  const posts = smallModel().collections.get('posts')
  const users = smallModel().collections.get('users')
  const author = posts?.relations.get('author')
  const boss = users?.relations.get('boss')
  assert.ok(posts && users && author?.kind === 'one' && boss?.kind === 'one')
  const n = { field: field('n', types.integer), when: always }
  const compare = { kind: 'compare', field: n, operator: 'eq', operand: { kind: 'param', param: 1 } } as const
  const different: Condition[] = [
    a,
    b,
    not(a),
    compare,
    { ...compare, operator: 'ne' },
    { ...compare, operand: { kind: 'literal', value: '1' } },
    { ...compare, operand: { kind: 'userId' } },
    { ...compare, field: { ...n, when: b } },
    { kind: 'isNull', field: n },
    { kind: 'nullness', field: n, param: 1 },
    { kind: 'nullness', field: n, param: 2 },
    { kind: 'search', fields: [n.field], param: 1, isWhole: true },
    { kind: 'related', path: { relation: author, target: users }, rows: always },
    { kind: 'related', path: { relation: boss, target: users }, rows: always },
    { kind: 'related', path: { relation: author, target: users }, rows: a },
    all(a, b),
    any(a, b),
    any(b, a),
  ]
  assert.equal(new Set(different.map(conditionKey)).size, different.length)
})

test('the dependencies of a condition are its fields, other collections and the user', () => {
  const { collections } = smallModel()
  const [tags, posts, through] = [
    collections.get('tags'),
    collections.get('posts'),
    collections.get('post_tags'),
  ]
  const relation = tags?.relations.get('posts')
  assert.ok(tags && posts && through && relation?.kind === 'manyToMany')
  const mine: Condition = {
    kind: 'compare',
    field: { field: field('author_id', types.integer), when: always },
    operator: 'eq',
    operand: { kind: 'userId' },
  }
  const path = { relation, target: posts, through, joinRows: always }
  const dependencies = addCondition(and(a, { kind: 'related', path, rows: mine }), noDependencies())
  assert.deepEqual([...dependencies.fields], ['n'])
  assert.deepEqual([...dependencies.collections].sort(), ['post_tags', 'posts'])
  assert.equal(dependencies.userId, true)
  assert.equal(addCondition(a, noDependencies()).userId, false)
})
