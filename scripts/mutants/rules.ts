/** Rules that compare with the time, other fields, fields of the caller, and claims. */
import { type Mutant, mutantsOf } from './mutant.ts'

const random = ['engine/plan/guard.property', 'engine/plan/store.property#SQLite']
const volatile = ['engine/store/read/volatile#SQLite']

export const rules: readonly Mutant[] = [
  ...mutantsOf('engine/plan/condition', random, [
    [
      'an answer that depends on the time is cached',
      "if (isNow || operand.kind === 'claim') dependencies.volatile = true",
      "if (operand.kind === 'claim') dependencies.volatile = true",
    ],
    [
      "an answer that depends on the caller's row does not depend on `users`",
      '  dependencies.collections.add(operand.users.name)\n',
      '',
    ],
    ['the dependencies of related rows are lost', '  dependencies.volatile ||= others.volatile\n', ''],
  ]),
  ...mutantsOf('engine/plan/guard/model-view', random, [
    [
      'a comparison with a claim is undecided for anonymous callers',
      '  if (!view.access.signedIn) return undefined\n',
      '',
    ],
  ]),
  ...mutantsOf(
    'engine/plan/guard/model-view',
    ['api/contract/rules#SQLite'],
    [['an unconfirmed address counts', "isConfirmed: operand.field === 'email'", 'isConfirmed: false']],
  ),
  ...mutantsOf(
    'engine/store/read/reader',
    [...volatile, 'api/contract/rules#SQLite'],
    [['every answer is cached', 'isVolatile: shape.volatile', 'isVolatile: false']],
  ),
  ...mutantsOf('engine/store/read/list-cache', volatile, [
    [
      'totals that depend on the time are cached',
      'return shape.volatile ? new NoListCache',
      'return shape.volatile === undefined ? new NoListCache',
    ],
  ]),
  ...mutantsOf(
    'engine/store/values',
    [...random, ...volatile],
    [
      [
        'the time is not shifted',
        'encodedTime(inputs.now + bind.shiftMs, bind.as)',
        'encodedTime(inputs.now, bind.as)',
      ],
      ['a claim of another type is compared', ' || typeof claim !== claimTypeOf(encoding)', ''],
    ],
  ),
  ...mutantsOf('engine/store/sql/condition', random, [
    [
      'under a negation a comparison of two unknown fields is not false',
      '${fieldSql(right, row)}`\n  return exact ? sql`(${test}) IS TRUE` : test',
      '${fieldSql(right, row)}`\n  return test',
    ],
  ]),
  ...mutantsOf(
    'engine/store/postgres/row-security/rule-sql',
    ['engine/store/postgres/row-security/row-security'],
    [
      [
        'a comparison with the time never holds, whatever the row',
        "comparison === 'in' ? 'TRUE' : 'FALSE'",
        "comparison === 'in' ? 'FALSE' : 'TRUE'",
      ],
      ['a claim of any type is compared', 'CASE WHEN ${hasType} THEN', 'CASE WHEN TRUE THEN'],
    ],
  ),
  ...mutantsOf(
    'model/check/narrowed-fields',
    ['model/check-rules'],
    [['a rule of the model replaces the built-in one', 'return builtin.and(added)', 'return added']],
  ),
]
