/** Plans, the guard, cursors. */
import { type Mutant, mutantsOf } from './mutant.ts'

const guard = [
  'engine/plan/guard',
  'engine/plan/guard-composite',
  'engine/plan/guard.property',
  'engine/plan/interference.property',
  'engine/plan/store.property',
]

export const plan: readonly Mutant[] = [
  ...mutantsOf(
    'engine/plan/decide',
    ['engine/plan/decide', ...guard],
    [
      [
        'a field hidden in some rows is decided by its value',
        "if (condition.field.when.kind !== 'always') return undefined",
        '',
      ],
      ['a conditional assignment counts as unconditional', ' || assignment.when !== undefined', ''],
      [
        'null differs from a value',
        'if (value === null || other === null) return false',
        'if (value === null && other === null) return false',
      ],
      [
        'a default time or UUID counts as null',
        "value.default.kind === 'currentUser' ? userId : undefined",
        "value.default.kind === 'currentUser' ? userId : null",
      ],
      ['`gte` becomes `gt`', 'return value >= other', 'return value > other'],
      [
        'an undecided part of a conjunction counts as true',
        'if (decision === undefined) result = undefined',
        'if (decision === undefined) result = true',
      ],
    ],
  ),
  ...mutantsOf('engine/plan/guard/static-checks', guard, [
    [
      'updating a missing item is FORBIDDEN',
      "decision === false && shape.kind === 'create' && isCheck",
      'decision === false && isCheck',
    ],
    [
      'every reference to the user’s id counts as a reference to the new item itself',
      "if (self !== 'userId' || value.kind !== 'param') return []",
      "if (value.kind !== 'param') return []",
    ],
    ['two sets of decided checks share a shape', 'decided |= 1 << i', 'decided += i'],
    [
      'one decided check removes all reference checks',
      'references: shape.references.filter(check => !decided.has(check))',
      'references: []',
    ],
  ]),
  ...mutantsOf(
    'engine/plan/condition',
    ['engine/plan/condition', ...guard],
    [
      [
        'a list of one value has the key of its text',
        'return JSON.stringify(operand.value)',
        'return String(operand.value)',
      ],
      [
        'each part of a known disjunction counts as known',
        "parts(assumption, 'and').map(conditionKey)",
        "[...parts(assumption, 'and'), ...parts(assumption, 'or')].map(conditionKey)",
      ],
      [
        'a rule on the caller’s own rows is not personal',
        "if (operand.kind === 'userId') dependencies.userId = true",
        '',
      ],
      ['a rule along a relation is not personal', 'dependencies.userId ||= others.userId', ''],
      ['the dependencies of join rows are ignored', '    addCondition(path.joinRows, related)\n', ''],
      ['a join collection is not a dependency', '    related.collections.add(path.through.name)\n', ''],
      [
        'two relations to one collection count as one condition',
        '${relation.kind}:${relation.name}(${columnsOf(path)})>',
        '${relation.kind}>',
      ],
    ],
  ),
  ...mutantsOf(
    'engine/plan/guard/logged',
    ['api/events/history'],
    [
      ['only today counts', "(['commit', 'now'] as const)", "(['now'] as const)"],
      ['only the commit counts', "(['commit', 'now'] as const)", "(['commit'] as const)"],
      ['a missing row is an answer', 'return certain ? stored : or(stored, isGone)', 'return stored'],
      [
        'memberships are judged by the time of today alone',
        "half === 'commit' ? atTime(condition, event.at) : condition)",
        'condition)',
      ],
      [
        'a block that went with its item is forgotten',
        'and(deleted(reading), mayHaveHad(condition, reading))',
        'never',
      ],
      ['a missing fact is an answer', 'not({ ...known, holds: false })', '{ ...known, holds: true }'],
    ],
  ),
  ...mutantsOf('engine/plan/guard/read', guard, [
    ['a nested list includes rows whose link is hidden', '    within?.reached.rows ?? always,\n', ''],
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
      "and(when, { kind: 'related', path, rows: relatedRows })",
      "and({ kind: 'related', path, rows: relatedRows })",
    ],
    [
      'a list sorted by a hidden field is not personal',
      '  for (const { field } of sort) addField(field, dependencies)\n',
      '',
    ],
    [
      'a nested list does not depend on its parent',
      '  if (within) addWithin(within.guarded, dependencies)\n',
      '',
    ],
    [
      'the rule of related rows is ignored',
      'addPath(path, [rows], dependencies)',
      'addPath(path, [], dependencies)',
    ],
    ['a related list includes unreadable rows', 'rows: and(rows, list.rows), when', 'rows: list.rows, when'],
    ['the dependencies of the fields of related rows are ignored', '  addSelect(select, related)\n', ''],
  ]),
  ...mutantsOf(
    'engine/plan/guard/aggregate',
    ['engine/plan/aggregate.property', 'api/rest/aggregates'],
    [
      ['a related item that is hidden is told', '...reached, value', '...reached, rows: always, value'],
      ['a link that is hidden is followed', '...reached, value', '...reached, when: always, value'],
      ['a date depends on the time zone', 'type.dateGroups === timeGroups', 'type.dateGroups !== undefined'],
    ],
  ),
  ...mutantsOf(
    'model/fields/date-parts',
    ['engine/plan/aggregate.property'],
    [
      [
        'a change of the clocks is a moment late',
        '(times[middle] ?? 0) <= time',
        '(times[middle] ?? 0) < time',
      ],
      ['a week belongs to the year of its Monday', '(3 - weekday) * dayMs', '(0 - weekday) * dayMs'],
      ['an hour begins where its item is', '/ hourMs) * hourMs - offset', '/ hourMs) * hourMs'],
    ],
  ),
  ...mutantsOf('engine/plan/guard/composite', guard, [
    ['a root list includes unreadable rows', 'rows: and(readable, rows), list', 'rows, list'],
    [
      'a root sorted by a hidden field is not personal',
      "    if (root.kind === 'list') for (const { field } of root.list.sort) addField(field, dependencies)\n",
      '',
    ],
    ['the rule of a root is ignored', '    addCondition(root.rows, dependencies)\n', ''],
  ]),
  ...mutantsOf('engine/plan/guard/write', guard, [
    [
      'a rule on reset fields is not checked after the update',
      'dependsOn(allowed, set) ?',
      'dependsOn(allowed, callerSet) ?',
    ],
    [
      'the rule of a field is not checked in an update',
      'field: undefined }, ...writeRules(callerSet',
      'field: undefined }, ...writeRules([]',
    ],
    [
      'a client can set computed values',
      '...callerSet.filter(({ field }) => !computedFields.has(field)), ...computed',
      '...callerSet, ...computed',
    ],
    [
      'a replacement resets immutable fields',
      'field.readOnly || field.internal || field.immutable)',
      'field.readOnly || field.internal)',
    ],
    [
      'a replacement requires fields that the caller cannot write in every row',
      "requireValues(omitted.filter((_, index) => rules[index]?.kind === 'always'))",
      'requireValues(omitted)',
    ],
    [
      'the user’s own id is accepted for every collection',
      "if (name === 'users') return access.signedIn ? 'userId' : undefined",
      "if (access.signedIn) return 'userId'",
    ],
    ['an app cannot name itself', "? 'appId' : undefined", '? undefined : undefined'],
    [
      'read-only and internal fields can be set',
      "(system ? name !== 'id' && !(logic && field.internal) : isWritable(field, mode))",
      "name !== 'id'",
    ],
    ['Portico itself can set the id', "system ? name !== 'id' && ", 'system ? '],
  ]),
  ...mutantsOf('engine/plan/guard/guard', guard, [
    ['the early check of a transport omits the scope', "  requireScope(view, 'write', collection)\n", ''],
    ['the last decision is reused for the next access class', '      cached.last = decision\n', ''],
  ]),
  ...mutantsOf(
    'engine/plan/guard/computed',
    ['system/matrix/published', 'engine/computed/computed.property'],
    [
      ['a published value counts only readable rows', 'if (expression.asSystem) return', 'if (false) return'],
      [
        'a published value needs the scopes of the rows that it counts',
        'view.collection, false)',
        'view.collection, true)',
      ],
      ['every aggregate is published', 'if (expression.asSystem) return', 'if (true) return'],
      [
        'a published value counts only readable rows of the join collection',
        "'joinRows' in visiblePath ? { ...visiblePath, joinRows: always } : visiblePath",
        'visiblePath',
      ],
      [
        'a published value is without hidden fields',
        ', path.target), when: always }',
        ', path.target), when: never }',
      ],
    ],
  ),
  ...mutantsOf('engine/plan/guard/refusals', guard, [
    [
      'an app without a user may do what needs a user',
      'if (!access.signedIn) {',
      'if (false) {',
      'the next line refuses it too, with another message',
    ],
  ]),
  ...mutantsOf('engine/plan/guard/model-view', guard, [
    [
      'a write-only field is returned',
      'if (field.internal || field.writeOnly) return never',
      'if (field.internal) return never',
    ],
    [
      'a reverse relation includes rows whose link is hidden',
      'rows: and(rows, shownIn(target, relation.field))',
      'rows',
    ],
    [
      'a join row is followed although its second link is hidden',
      'shownIn(through, relation.from), shownIn(through, relation.to))',
      'shownIn(through, relation.from))',
    ],
    ['join rows need not be readable', 'and(view.readable(through), shownIn(', 'and(shownIn('],
    [
      'a search covers fields that are hidden in some rows',
      "view.visibleIn(collection, field).kind === 'always'",
      "view.visibleIn(collection, field).kind !== 'never'",
    ],
    [
      'a many-to-many relation exists although its second link is hidden',
      'shows(through, relation.from) && shows(through, relation.to)',
      'shows(through, relation.from)',
    ],
  ]),
  ...mutantsOf('model/rule/caller-rules', guard, [
    ['an anonymous caller has every scope', '!isAnonymous(caller) && hasScope(', 'hasScope('],
  ]),
  ...mutantsOf(
    'engine/plan/cursor',
    ['engine/plan/cursor'],
    [
      [
        'a cursor is accepted for another collection',
        'JSON.stringify([collection.name, order])',
        'JSON.stringify([order])',
      ],
      [
        'a cursor is accepted for the other direction',
        'JSON.stringify([collection.name, order])',
        'JSON.stringify([collection.name, order.map(key => key.field)])',
      ],
      [
        'a cursor may have too many values',
        'values.length === fields.length && fields.every',
        'fields.every',
      ],
      [
        'the id in a cursor may be missing',
        "if (value === null) return field.optional || field.access.read.kind !== 'anyone'",
        'if (value === null) return true',
      ],
      ['the length of a cursor is not limited', 'text.length > MAX_CURSOR_LENGTH || !/', '!/'],
    ],
  ),
  ...mutantsOf(
    'model/fields/integer',
    ['engine/plan/cursor'],
    [
      [
        'an integer may exceed the exact range',
        'isSortKey: Number.isSafeInteger',
        'isSortKey: Number.isInteger',
      ],
    ],
  ),
  ...mutantsOf(
    'model/fields/textual',
    ['engine/plan/cursor'],
    [['a text may contain what PostgreSQL cannot store', ' && value.isWellFormed() && !value', ' && !value']],
  ),
]
