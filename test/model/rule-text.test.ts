import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rule } from '../../src/model/rule/rule.ts'
import { inWords } from '../../src/model/rule/rule-text.ts'

const mine: Rule = { kind: 'compare', field: 'author_id', comparison: 'eq', operand: { kind: 'userId' } }
const literal = (value: string | readonly string[]): Rule => ({
  kind: 'compare',
  field: 'state',
  comparison: typeof value === 'string' ? 'ne' : 'in',
  operand: { kind: 'literal', value },
})

const rows: readonly (readonly [Rule, string])[] = [
  [{ kind: 'anyone' }, 'anyone'],
  [{ kind: 'nobody' }, 'nobody'],
  [{ kind: 'signedIn' }, 'anyone signed in'],
  [{ kind: 'firstParty' }, 'not through a third-party app'],
  [{ kind: 'role', roles: ['admin', 'staff'] }, 'role admin or staff'],
  [{ kind: 'scope', scope: 'write:label' }, 'scope write:label'],
  [mine, '`author_id` is the caller'],
  [literal('done'), '`state` is not "done"'],
  [literal(['open', 'done']), '`state` is one of "open", "done"'],
  [
    { kind: 'related', relation: 'project', rule: mine },
    'a related `project` where `author_id` is the caller',
  ],
  [
    { kind: 'or', parts: [mine, { kind: 'role', roles: ['admin'] }] },
    '`author_id` is the caller, or role admin',
  ],
  [
    { kind: 'and', parts: [{ kind: 'or', parts: [mine, { kind: 'nobody' }] }, { kind: 'signedIn' }] },
    '(`author_id` is the caller, or nobody), and anyone signed in',
  ],
  [{ kind: 'not', part: mine }, 'not (`author_id` is the caller)'],
]

for (const [rule, words] of rows) test(words, () => assert.equal(inWords(rule), words))
