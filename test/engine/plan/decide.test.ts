/** Conditions on assigned values are decided as the database would decide them; undefined means undecided. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { always, and, never, not, or } from '../../../src/engine/plan/condition.ts'
import { decide } from '../../../src/engine/plan/decide.ts'
import type { GuardedAssignment } from '../../../src/engine/plan/guarded.ts'
import type {
  Condition,
  ConditionOperator,
  Operand,
  Value,
} from '../../../src/engine/plan/guarded-conditions.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { field, types } from './small-model.ts'

const kinds = { n: types.integer, t: types.text, at: types.datetime, doc: types.json } as const
type Name = keyof typeof kinds

const own: Value = { kind: 'userId' }
const literal = (value: JsonValue): Value => ({ kind: 'literal', value })
const visible = (name: Name, when: Condition = always) => ({ field: field(name, kinds[name]), when })
const is = (name: Name, operator: ConditionOperator, operand: Operand): Condition => ({
  kind: 'compare',
  field: visible(name),
  operator,
  operand,
})
const sets = (name: Name, value: GuardedAssignment['value']): GuardedAssignment => ({
  field: field(name, kinds[name]),
  value,
})
const withheld = { ...sets('n', { kind: 'param', param: 0 }), withheld: true as const }
const five = [sets('n', { kind: 'param', param: 0 })]
const row: readonly [string, Condition, readonly GuardedAssignment[], boolean | undefined][] = [
  ['always', always, [], true],
  ['never', never, [], false],
  ['eq with an equal argument', is('n', 'eq', literal(5)), five, true],
  ['ne with an equal argument', is('n', 'ne', literal(5)), five, false],
  ['a withheld value is undecided', is('n', 'eq', literal(5)), [withheld], undefined],
  ['gt', is('n', 'gt', literal(4)), five, true],
  ['gte', is('n', 'gte', literal(5)), five, true],
  ['lt', is('n', 'lt', literal(5)), five, false],
  ['lte', is('n', 'lte', literal(5)), five, true],
  ['in with a list that contains the value', is('n', 'in', literal([1, 5])), five, true],
  ['in with a list without the value', is('n', 'in', literal([1, 2])), five, false],
  ['eq with another parameter', is('n', 'eq', { kind: 'param', param: 1 }), five, false],
  ['the user id, given as an argument', is('n', 'eq', own), [sets('n', { kind: 'param', param: 2 })], true],
  ['another user id', is('n', 'eq', own), five, false],
  [
    'the user id by default',
    is('n', 'eq', own),
    [sets('n', { kind: 'default', default: { kind: 'currentUser' } })],
    true,
  ],
  [
    'a default value',
    is('n', 'eq', literal(3)),
    [sets('n', { kind: 'default', default: { kind: 'value', value: 3 } })],
    true,
  ],
  ['null is not less', is('n', 'lt', literal(9)), [sets('n', literal(null))], false],
  ['null fulfils no ne', is('n', 'ne', literal(9)), [sets('n', literal(null))], false],
  ['the negation of ne holds for null', not(is('n', 'ne', literal(9))), [sets('n', literal(null))], true],
  ['isNull with null', { kind: 'isNull', field: visible('n') }, [sets('n', literal(null))], true],
  ['isNull with a value', { kind: 'isNull', field: visible('n') }, five, false],
  ['a field that is not assigned is undecided', is('n', 'eq', literal(5)), [], undefined],
  [
    'a default time is undecided',
    is('at', 'gt', literal('2026')),
    [sets('at', { kind: 'default', default: { kind: 'now' } })],
    undefined,
  ],
  [
    'the order of texts is undecided, since it is that of the database',
    is('t', 'lt', literal('b')),
    [sets('t', literal('a'))],
    undefined,
  ],
  ['equal texts', is('t', 'eq', literal('a')), [sets('t', literal('a'))], true],
  ['different types are undecided', is('t', 'eq', literal(1)), [sets('t', literal('1'))], undefined],
  ['a document is undecided', is('doc', 'eq', literal('x')), [sets('doc', literal({ a: 1 }))], undefined],
  [
    'a field that may be hidden is undecided',
    { kind: 'isNull', field: visible('n', is('t', 'eq', literal('a'))) },
    five,
    undefined,
  ],
  [
    'a field that is assigned only in some rows is undecided',
    is('n', 'eq', literal(5)),
    [{ ...sets('n', literal(5)), when: is('t', 'eq', literal('a')) }],
    undefined,
  ],
  [
    'an and with a false part is false',
    and(is('t', 'eq', literal('a')), is('n', 'eq', literal(6))),
    five,
    false,
  ],
  [
    'an and with an undecided part and no false one is undecided',
    and(is('t', 'eq', literal('a')), is('n', 'eq', literal(5))),
    five,
    undefined,
  ],
  ['an or with a true part is true', or(is('t', 'eq', literal('a')), is('n', 'eq', literal(5))), five, true],
  [
    'an or with an undecided part and no true one is undecided',
    or(is('t', 'eq', literal('a')), is('n', 'eq', literal(6))),
    five,
    undefined,
  ],
  ['an or of false parts is false', or(is('n', 'eq', literal(7)), is('n', 'eq', literal(6))), five, false],
  ['the negation of an undecided condition is undecided', not(is('t', 'eq', literal('a'))), five, undefined],
]

for (const [name, condition, assignments, expected] of row) {
  test(name, () => assert.equal(decide(condition, assignments, [5, 6, 7], 7), expected))
}

test('an anonymous caller has no user id to compare with', () => {
  assert.equal(decide(is('n', 'eq', own), five, [5], null), false)
  assert.equal(decide(is('n', 'ne', own), five, [5], null), false)
})
