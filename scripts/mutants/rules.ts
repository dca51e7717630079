/** Rules with the time, other fields, the caller's own and claims. */
import { type Mutant, mutantsOf } from './mutant.ts'

const random = ['plan/guard.property', 'plan/store.property#SQLite']
const volatile = ['store/read/volatile#SQLite']

export const rules: readonly Mutant[] = [
  ...mutantsOf('plan/condition', random, [
    [
      'an answer that depends on the time is remembered',
      "if (operand.kind === 'now' || operand.kind === 'claim') found.volatile = true",
      "if (operand.kind === 'claim') found.volatile = true",
    ],
    [
      "an answer that depends on the caller's row does not depend on `users`",
      '  found.collections.add(operand.users.name)\n',
      '',
    ],
    ['what related rows depend on is forgotten', '  found.volatile ||= beyond.volatile\n', ''],
  ]),
  ...mutantsOf('plan/guard/model-view', random, [
    [
      'a comparison with a claim is open where nobody is signed in',
      '  if (!view.access.signedIn) return undefined\n',
      '',
    ],
  ]),
  ...mutantsOf(
    'plan/guard/model-view',
    ['contract/rules#SQLite'],
    [
      [
        'an address counts that nobody has confirmed',
        "isConfirmed: operand.field === 'email'",
        'isConfirmed: false',
      ],
    ],
  ),
  ...mutantsOf(
    'store/read/reader',
    [...volatile, 'contract/rules#SQLite'],
    [['every answer is remembered', 'isVolatile: shape.volatile', 'isVolatile: false']],
  ),
  ...mutantsOf('store/read/known-lists', volatile, [
    [
      'totals that turn with the time are remembered',
      'return shape.volatile ? new UnknownLists',
      'return shape.volatile === undefined ? new UnknownLists',
    ],
  ]),
  ...mutantsOf(
    'store/values',
    [...random, ...volatile],
    [
      [
        'the time is not shifted',
        'momentOf(inputs.now + bind.shiftMs, bind.as)',
        'momentOf(inputs.now, bind.as)',
      ],
      ['a claim of another type is compared', ' || typeof claim !== claimTypeOf(as)', ''],
    ],
  ),
  ...mutantsOf('store/sql/condition', random, [
    [
      'below a negation an unknown pair of fields is not false',
      '${fieldSql(right, row)}`\n  return exact ? sql`(${test}) IS TRUE` : test',
      '${fieldSql(right, row)}`\n  return test',
    ],
  ]),
  ...mutantsOf(
    'store/postgres/row-security/rule-sql',
    ['store/postgres/row-security/row-security'],
    [
      [
        'a comparison with the time never holds whatever the row is',
        "comparison === 'in' ? 'TRUE' : 'FALSE'",
        "comparison === 'in' ? 'FALSE' : 'TRUE'",
      ],
      ['a claim of any type is compared', 'CASE WHEN ${is} THEN', 'CASE WHEN TRUE THEN'],
    ],
  ),
  ...mutantsOf(
    'model/check/narrowed-fields',
    ['model/check-rules'],
    [
      [
        'a rule of the model takes the place of the built-in one',
        'return builtin.and(added)',
        'return added',
      ],
    ],
  ),
]
