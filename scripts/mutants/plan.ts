/** Plans, the guard, cursors. */
import { type Mutant, mutantsOf } from './mutant.ts'

const guard = [
  'plan/guard',
  'plan/guard-composite',
  'plan/guard.property',
  'plan/interference.property',
  'plan/store.property',
]

export const plan: readonly Mutant[] = [
  ...mutantsOf(
    'plan/decide',
    ['plan/decide', ...guard],
    [
      [
        'a field that may be hidden is decided by its value',
        "if (condition.field.when.kind !== 'always') return undefined",
        '',
      ],
      ['an assignment of some rows counts for all', ' || assignment.when !== undefined', ''],
      [
        'null differs from a value',
        'if (value === null || other === null) return false',
        'if (value === null && other === null) return false',
      ],
      [
        'a time or UUID by default counts as null',
        "value.default.kind === 'currentUser' ? userId : undefined",
        "value.default.kind === 'currentUser' ? userId : null",
      ],
      ['`gte` is `gt`', 'return value >= other', 'return value > other'],
      [
        'an open part of a conjunction counts as true',
        'if (decision === undefined) result = undefined',
        'if (decision === undefined) result = true',
      ],
    ],
  ),
  ...mutantsOf('plan/guard/settle', guard, [
    [
      'an update of what is not there is FORBIDDEN',
      "decision === false && shape.kind === 'create' && isCheck",
      'decision === false && isCheck',
    ],
    [
      'the own id is a reference to whatever has it',
      "if (!self || value.kind !== 'param') return []",
      "if (value.kind !== 'param') return []",
    ],
    ['two sets of settled checks share a shape', 'settled |= 1 << i', 'settled += i'],
    [
      'with one check settled, all references are',
      'references: shape.references.filter(check => !settled.has(check))',
      'references: []',
    ],
  ]),
  ...mutantsOf(
    'plan/condition',
    ['plan/condition', ...guard],
    [
      [
        'a list of one value equals the text of it',
        'return JSON.stringify(operand.value)',
        'return String(operand.value)',
      ],
      [
        'of known alternatives each is certain',
        "parts(known, 'and').map(conditionKey)",
        "[...parts(known, 'and'), ...parts(known, 'or')].map(conditionKey)",
      ],
      [
        'a rule of the caller’s own rows is not personal',
        "if (operand.kind === 'userId') found.userId = true",
        '',
      ],
      ['a rule beyond a relation is not personal', 'found.userId ||= beyond.userId', ''],
      ['what a join row depends on is not looked at', '    addCondition(path.joinRows, beyond)\n', ''],
      ['a join collection is not depended on', '    beyond.collections.add(path.through.name)\n', ''],
      [
        'two relations to one collection are one condition',
        '${path.relation.kind}:${path.relation.name}>',
        '${path.relation.kind}>',
      ],
    ],
  ),
  ...mutantsOf('plan/guard/read', guard, [
    ['a nested list has rows whose link is hidden', '    within?.reached.rows ?? always,\n', ''],
    [
      'a nested list needs no scope for its parent',
      'const rows = requireReadable(view, parent)',
      'const rows = view.readable(parent)',
    ],
    [
      'a join collection needs no scope',
      "  if ('through' in reached.path) requireReadable(view, reached.path.through)\n",
      '',
    ],
    ['a related collection needs no scope', '  requireReadable(view, reached.path.target)\n', ''],
    [
      'a filter follows hidden links',
      "and(when, { kind: 'related', path, rows: wanted })",
      "and({ kind: 'related', path, rows: wanted })",
    ],
    [
      'a list sorted by a hidden field is not personal',
      '  for (const { field } of sort) addField(field, found)\n',
      '',
    ],
    ['a nested list does not depend on its parent', '  if (within) addWithin(within.guarded, found)\n', ''],
    ['the rule of related rows is not looked at', 'addPath(path, [rows], found)', 'addPath(path, [], found)'],
    [
      'a related list shows rows that may not be read',
      'rows: and(rows, list.rows), when',
      'rows: list.rows, when',
    ],
    ['what a related row selects is not depended on', '  addSelect(select, beyond)\n', ''],
  ]),
  ...mutantsOf('plan/guard/composite', guard, [
    ['a root list shows rows that may not be read', 'rows: and(readable, rows), list', 'rows, list'],
    [
      'a root sorted by a hidden field is not personal',
      "    if (root.kind === 'list') for (const { field } of root.list.sort) addField(field, found)\n",
      '',
    ],
    ['the rule of a root is not looked at', '    addCondition(root.rows, found)\n', ''],
  ]),
  ...mutantsOf('plan/guard/write', guard, [
    [
      'a rule over reset fields is not asked afterwards',
      'dependsOn(allowed, set) ?',
      'dependsOn(allowed, chosen) ?',
    ],
    [
      'a field’s rule is not asked in an update',
      'field: undefined }, ...writeRules(chosen',
      'field: undefined }, ...writeRules([]',
    ],
    [
      'a client sets what is computed',
      '...chosen.filter(one => !own.has(one.field)), ...computed',
      '...chosen, ...computed',
    ],
    [
      'a replacement resets what is immutable',
      'field.readOnly || field.internal || field.immutable)',
      'field.readOnly || field.internal)',
    ],
    [
      'a replacement requires fields that may not be set in every row',
      "requireValues(open.filter((_, index) => rules[index]?.kind === 'always'))",
      'requireValues(open)',
    ],
    [
      'the own id is accepted for every collection',
      "const self = view.access.signedIn && target.name === 'users'",
      'const self = view.access.signedIn',
    ],
    [
      'fields that are read-only or internal can be set',
      "(system ? name !== 'id' && !(logic && field.internal) : isWritable(field, mode))",
      "name !== 'id'",
    ],
    ['Portico itself can set the id', "system ? name !== 'id' && ", 'system ? '],
  ]),
  ...mutantsOf('plan/guard', guard, [
    ['a transport’s early check leaves out the scope', "  requireScope(view, 'write', collection)\n", ''],
    ['the last decision is given to the next class of callers', '      remembered.last = last\n', ''],
  ]),
  ...mutantsOf('plan/guard/refusals', guard, [
    [
      'an app alone may do what takes a user',
      "  if (!view.access.signedIn)\n    throw new ApiError('FORBIDDEN', `An app may not ${action} by itself: it needs a user.`, { refused })\n",
      '',
      'the next line refuses it too, in other words',
    ],
  ]),
  ...mutantsOf('plan/guard/model-view', guard, [
    [
      'a write-only field is shown',
      'if (field.internal || field.writeOnly) return never',
      'if (field.internal) return never',
    ],
    [
      'a relation back shows rows whose link is hidden',
      'rows: and(rows, shownIn(target, relation.field))',
      'rows',
    ],
    [
      'a join row is followed where its second link is hidden',
      'shownIn(through, relation.from), shownIn(through, relation.to))',
      'shownIn(through, relation.from))',
    ],
    ['join rows need not be readable', 'and(view.readable(through), shownIn(', 'and(shownIn('],
    [
      'a search looks into fields that some rows hide',
      "view.shownIn(collection, field).kind === 'always'",
      "view.shownIn(collection, field).kind !== 'never'",
    ],
    [
      'a relation between many is there where its second link is hidden',
      'shows(through, relation.from) && shows(through, relation.to)',
      'shows(through, relation.from)',
    ],
    ['nobody signed in has every scope', '!isAnonymous(access) && hasScope(', 'hasScope('],
  ]),
  ...mutantsOf(
    'plan/cursor',
    ['plan/cursor'],
    [
      [
        'a cursor fits other collections',
        'JSON.stringify([collection.name, order])',
        'JSON.stringify([order])',
      ],
      [
        'a cursor fits the other direction',
        'JSON.stringify([collection.name, order])',
        'JSON.stringify([collection.name, order.map(key => key.field)])',
      ],
      [
        'a cursor may have too many values',
        'values.length === fields.length && fields.every',
        'fields.every',
      ],
      [
        'the id may be missing',
        "if (value === null) return field.name !== 'id'",
        'if (value === null) return true',
      ],
      ['a cursor of any length is read', 'text.length > MAX_CURSOR_LENGTH || !/', '!/'],
    ],
  ),
  ...mutantsOf(
    'model/fields/integer',
    ['plan/cursor'],
    [
      [
        'a whole number may be too large to be exact',
        'isSortKey: Number.isSafeInteger',
        'isSortKey: Number.isInteger',
      ],
    ],
  ),
  ...mutantsOf(
    'model/fields/textual',
    ['plan/cursor'],
    [['a text may hold what PostgreSQL cannot', ' && value.isWellFormed() && !value', ' && !value']],
  ),
]
