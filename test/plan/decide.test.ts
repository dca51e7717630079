/** What is decided without a database is what the database would find; what is unknown stays open. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../src/model/fields/type.ts'
import { always, and, never, not, or } from '../../src/plan/condition.ts'
import { decide } from '../../src/plan/decide.ts'
import type {
  Condition,
  ConditionOperator,
  GuardedAssignment,
  Operand,
  Value,
} from '../../src/plan/guarded.ts'
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
  ['a given value equals', is('n', 'eq', literal(5)), five, true],
  ['a given value differs', is('n', 'ne', literal(5)), five, false],
  ['a withheld value', is('n', 'eq', literal(5)), [withheld], undefined],
  ['greater', is('n', 'gt', literal(4)), five, true],
  ['greater or equal', is('n', 'gte', literal(5)), five, true],
  ['less', is('n', 'lt', literal(5)), five, false],
  ['less or equal', is('n', 'lte', literal(5)), five, true],
  ['among', is('n', 'in', literal([1, 5])), five, true],
  ['not among', is('n', 'in', literal([1, 2])), five, false],
  ['another param', is('n', 'eq', { kind: 'param', param: 1 }), five, false],
  ['the own id', is('n', 'eq', own), [sets('n', { kind: 'param', param: 2 })], true],
  ['not the own id', is('n', 'eq', own), five, false],
  [
    'the own id by default',
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
  ['nothing is not less', is('n', 'lt', literal(9)), [sets('n', literal(null))], false],
  ['nothing does not differ', is('n', 'ne', literal(9)), [sets('n', literal(null))], false],
  ['and not that is true', not(is('n', 'ne', literal(9))), [sets('n', literal(null))], true],
  ['is missing', { kind: 'isNull', field: visible('n') }, [sets('n', literal(null))], true],
  ['is not missing', { kind: 'isNull', field: visible('n') }, five, false],
  ['a field that is not set', is('n', 'eq', literal(5)), [], undefined],
  [
    'a time that is not known yet',
    is('at', 'gt', literal('2026')),
    [sets('at', { kind: 'default', default: { kind: 'now' } })],
    undefined,
  ],
  ['text in order is the database’s', is('t', 'lt', literal('b')), [sets('t', literal('a'))], undefined],
  ['text that is equal', is('t', 'eq', literal('a')), [sets('t', literal('a'))], true],
  ['types that differ', is('t', 'eq', literal(1)), [sets('t', literal('1'))], undefined],
  ['a document', is('doc', 'eq', literal('x')), [sets('doc', literal({ a: 1 }))], undefined],
  [
    'a field that may be hidden',
    { kind: 'isNull', field: visible('n', is('t', 'eq', literal('a'))) },
    five,
    undefined,
  ],
  [
    'a field that is set in some rows only',
    is('n', 'eq', literal(5)),
    [{ ...sets('n', literal(5)), when: is('t', 'eq', literal('a')) }],
    undefined,
  ],
  ['and: one false settles it', and(is('t', 'eq', literal('a')), is('n', 'eq', literal(6))), five, false],
  [
    'and: one open leaves it open',
    and(is('t', 'eq', literal('a')), is('n', 'eq', literal(5))),
    five,
    undefined,
  ],
  ['or: one true settles it', or(is('t', 'eq', literal('a')), is('n', 'eq', literal(5))), five, true],
  [
    'or: one open leaves it open',
    or(is('t', 'eq', literal('a')), is('n', 'eq', literal(6))),
    five,
    undefined,
  ],
  ['or: all false', or(is('n', 'eq', literal(7)), is('n', 'eq', literal(6))), five, false],
  ['not: open stays open', not(is('t', 'eq', literal('a'))), five, undefined],
]

for (const [name, condition, assignments, expected] of row) {
  test(name, () => assert.equal(decide(condition, assignments, [5, 6, 7], 7), expected))
}

test('nobody has no id', () => {
  assert.equal(decide(is('n', 'eq', own), five, [5], null), false)
  assert.equal(decide(is('n', 'ne', own), five, [5], null), false)
})
