/** Rules that compare with the time, other fields, fields of the caller, the caller's app, and claims. */
import { type Mutant, mutantsOf } from './mutant.ts'

const random = ['engine/plan/guard.property', 'engine/plan/store.property#SQLite']
const volatile = ['engine/store/read/volatile#SQLite']

export const rules: readonly Mutant[] = [
  ...mutantsOf('engine/plan/condition', random, [
    [
      'an answer that depends on the time is cached',
      "if (isNow || operand.kind === 'claim' ||",
      "if (operand.kind === 'claim' ||",
    ],
    [
      "an answer that depends on the caller's app is cached",
      " || operand.kind === 'appId') dependencies",
      ') dependencies',
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
    [
      'an app without a user is none',
      "if (operand.kind === 'appId') return isAnonymous(view.access) ? undefined : operand",
      "if (operand.kind === 'appId') return view.access.signedIn ? operand : undefined",
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
    'model/rule/rule',
    ['system/matrix/apps#SQLite'],
    [["a rule about the caller's app is a fact of the log", "kind === 'appId' || ", '']],
  ),
  ...mutantsOf(
    'engine/plan/guard/facts',
    ['system/matrix/apps#SQLite'],
    [['the log lacks what only an app without a user asks', ', userlessApp]', ']']],
  ),
  ...mutantsOf(
    'api/events/groups',
    ['api/events/hub'],
    [['listeners of different apps share a group', "${app?.id ?? ''} ", '']],
  ),
  ...mutantsOf(
    'engine/store/postgres/row-security/security',
    ['system/matrix/apps'],
    [['row security knows no app', 'idText(app?.id)]', "'']"]],
  ),
  ...mutantsOf(
    'identity/keys/api-key',
    ['system/matrix/apps#SQLite', 'identity/keys/api-key'],
    [['a key forgets the app that made it', 'const { app = null, budget', 'const app = null, { budget']],
  ),
  ...mutantsOf(
    'base/principal',
    ['delivery/logic/calling-apps#SQLite'],
    [['what an action writes as the service has no actor', '...(isActor && {', '...(!isActor && {']],
  ),
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
