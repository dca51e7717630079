/** The builders of rules return plain data, and chaining returns new rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  currentUser,
  field,
  firstParty,
  nobody,
  not,
  owner,
  related,
  role,
  scope,
  signedIn,
} from '../../src/index.ts'
import type { AccessRule } from '../../src/model/access.ts'
import { dependsOnRow } from '../../src/model/check/check.ts'
import { markerOf } from '../../src/model/fields/marker.ts'
import type { Rule } from '../../src/model/rule/rule.ts'

const literal = (value: string | number | boolean | null | readonly number[]) =>
  ({ kind: 'literal', value }) as const

const userId = { kind: 'userId' } as const

const cases: readonly (readonly [AccessRule, Rule])[] = [
  [anyone, { kind: 'anyone' }],
  [nobody, { kind: 'nobody' }],
  [signedIn, { kind: 'signedIn' }],
  [firstParty, { kind: 'firstParty' }],
  [role('admin', 'staff'), { kind: 'role', roles: ['admin', 'staff'] }],
  [scope('read:post'), { kind: 'scope', scope: 'read:post' }],
  [owner('author_id'), { kind: 'compare', field: 'author_id', comparison: 'eq', operand: userId }],
  [field('a').ne(currentUser), { kind: 'compare', field: 'a', comparison: 'ne', operand: userId }],
  [field('a').eq('x'), { kind: 'compare', field: 'a', comparison: 'eq', operand: literal('x') }],
  [field('a').eq(null), { kind: 'compare', field: 'a', comparison: 'eq', operand: literal(null) }],
  [field('a').gt(1), { kind: 'compare', field: 'a', comparison: 'gt', operand: literal(1) }],
  [field('a').gte(1), { kind: 'compare', field: 'a', comparison: 'gte', operand: literal(1) }],
  [field('a').lt(1), { kind: 'compare', field: 'a', comparison: 'lt', operand: literal(1) }],
  [field('a').lte(1), { kind: 'compare', field: 'a', comparison: 'lte', operand: literal(1) }],
  [field('a').in([1, 2]), { kind: 'compare', field: 'a', comparison: 'in', operand: literal([1, 2]) }],
  [related('author', signedIn), { kind: 'related', relation: 'author', rule: { kind: 'signedIn' } }],
  [not(anyone), { kind: 'not', part: { kind: 'anyone' } }],
  [anyone.and(nobody), { kind: 'and', parts: [{ kind: 'anyone' }, { kind: 'nobody' }] }],
  [
    signedIn.or(anyone, nobody),
    { kind: 'or', parts: [{ kind: 'signedIn' }, { kind: 'anyone' }, { kind: 'nobody' }] },
  ],
]

for (const [rule, data] of cases) {
  test(`the rule ${JSON.stringify(data)} is built`, () => assert.deepEqual(rule.rule, data))
}

test('chaining does not change the original rule', () => {
  const before = structuredClone(signedIn.rule)
  const both = signedIn.and(role('admin')).or(nobody)
  assert.deepEqual(signedIn.rule, before)
  assert.deepEqual(both.rule, {
    kind: 'or',
    parts: [
      { kind: 'and', parts: [{ kind: 'signedIn' }, { kind: 'role', roles: ['admin'] }] },
      { kind: 'nobody' },
    ],
  })
  assert.ok(Object.isFrozen(both) && Object.isFrozen(both.rule))
})

test('a rule depends on the row if a part of it does', () => {
  for (const rule of [
    anyone,
    nobody,
    role('a'),
    scope('b'),
    not(signedIn),
    signedIn.or(role('a').and(anyone)),
  ]) {
    assert.equal(dependsOnRow(rule.rule), false, JSON.stringify(rule.rule))
  }
  const dependent = [
    owner('a'),
    related('a', anyone),
    not(owner('a')),
    role('a').or(signedIn.and(owner('a'))),
  ]
  for (const rule of dependent) assert.equal(dependsOnRow(rule.rule), true, JSON.stringify(rule.rule))
})

test('a marker is recognized by identity, not by structure', () => {
  assert.equal(markerOf(currentUser), 'currentUser')
  for (const value of [{ kind: 'currentUser' }, 'currentUser', null, undefined, 3, []]) {
    assert.equal(markerOf(value), undefined)
  }
})
