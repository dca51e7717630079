/** The types of computed fields, and the faults of invalid ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anyone,
  avg,
  caller,
  checkModel,
  choice,
  claim,
  coalesce,
  collection,
  computed,
  concat,
  count,
  datePart,
  datetime,
  dividedBy,
  field,
  first,
  firstParty,
  integer,
  json,
  ModelError,
  max,
  min,
  minus,
  model,
  not,
  now,
  number,
  owner,
  plus,
  related,
  relation,
  role,
  round,
  scope,
  signedIn,
  string,
  sum,
  text,
  times,
  when,
} from '../../../src/index.ts'
import type { AccessRule } from '../../../src/model/access.ts'
import type { ComputedDeclaration } from '../../../src/model/computed/computed.ts'

function modelWith(declared: Record<string, unknown>) {
  return model({
    projects: collection({
      fields: {
        name: string(),
        seats: integer(),
        budget: number({ optional: true }),
        started: datetime({ optional: true }),
        status: choice(['open', 'done']),
        settings: json({ optional: true }),
        secret: text({ optional: true, internal: true }),
        owner_id: relation('users', { inverse: 'projects' }),
      },
      computed: declared as Record<string, ComputedDeclaration>,
    }),
    tasks: collection({
      fields: {
        title: string(),
        points: integer(),
        hours: number({ optional: true }),
        code: text({ optional: true, writeOnly: true }),
        project_id: relation('projects', { inverse: 'tasks' }),
        user_id: relation('users', { optional: true }),
      },
    }),
  })
}

function typesOf(declared: Record<string, unknown>) {
  const fields = checkModel(modelWith(declared)).collections.get('projects')?.computed ?? new Map()
  return Object.fromEntries(
    [...fields].map(([name, { type, optional }]) => [name, `${type.name}${optional ? '?' : ''}`]),
  )
}

test('the type of an expression is derived from its parts', () => {
  const declared = {
    tasks_count: count('tasks'),
    points: sum('tasks', 'points'),
    mean: avg('tasks', 'points'),
    least: min('tasks', 'points'),
    last_title: max('tasks', 'title'),
    first_id: first('tasks', 'id'),
    whole: plus(field('seats'), 1),
    mixed: minus(field('seats'), field('budget')),
    product: times(field('seats'), count('tasks')),
    all_tasks: count('tasks', { where: field('title').ne('x'), asSystem: true }),
    recent: count('tasks', { where: field('created_at').gt(now).or(anyone), asSystem: true }),
    last_created: max('tasks', 'created_at', { asSystem: true }),
    ratio: dividedBy(field('seats'), 2),
    halves: round(dividedBy(field('seats'), 2)),
    label: concat(field('name'), 1),
    budget_or_0: coalesce(field('budget'), 0),
    state: coalesce(field('status'), 'none'),
    same_state: coalesce(field('status')),
    is_big: when(field('seats').gt(5), true, false),
    maybe: when(field('seats').gt(5), field('name')),
    began: coalesce(field('started'), '2026-01-01T00:00:00Z'),
    year: datePart('year', field('started')),
    day: datePart('date', field('created_at')),
    owner_name: computed(field('owner.name'), { description: 'Of the owner.' }),
  }
  assert.deepEqual(typesOf(declared), {
    tasks_count: 'integer',
    points: 'integer?',
    mean: 'number?',
    least: 'integer?',
    last_title: 'string?',
    first_id: 'integer?',
    whole: 'integer?',
    mixed: 'number?',
    product: 'integer?',
    all_tasks: 'integer',
    recent: 'integer',
    last_created: 'datetime?',
    ratio: 'number?',
    halves: 'integer?',
    label: 'text',
    budget_or_0: 'number',
    state: 'text',
    same_state: 'choice',
    is_big: 'boolean',
    maybe: 'string?',
    began: 'datetime',
    year: 'integer?',
    day: 'date',
    owner_name: 'string?',
  })
})

let deep: ComputedDeclaration<number | null> = plus(1, 1)
for (let depth = 0; depth < 12; depth++) deep = plus(deep, 1)

const faults: readonly (readonly [expression: unknown, message: RegExp])[] = [
  ["count('tasks')", /This is not a computed field\. Write an expression, e\.g\. `count\('tasks'\)`/],
  [count('task'), /`projects` has no relation to many items `task`\. Did you mean `tasks`\?/],
  [count('owner'), /`projects` has no relation to many items `owner`/],
  [count('tasks', field('titel').eq('x')), /`tasks` has no field `titel`\. Did you mean `title`\?/],
  [count('tasks', 'open' as never), /This is not a rule\. Write e\.g\./],
  [sum('tasks', 'title'), /`title` is a string field, but `sum` takes numbers/],
  [sum('tasks', 'id'), /`sum` takes numbers/],
  [avg('tasks', 'pints'), /`tasks` has no field `pints`\. Did you mean `points`\?/],
  [min('tasks', 'code'), /`tasks\.code` is never returned by the API/],
  [concat(field('secret')), /`projects\.secret` is never returned by the API/],
  [coalesce(field('settings')), /`projects\.settings` is a json field/],
  [first('tasks', 'title', { sort: '-nothing' }), /`tasks` has no field `nothing`/],
  [plus(field('name') as never, 1), /`\+` takes numbers, not a string/],
  [plus(null, 1), /`\+` takes numbers, not null/],
  [concat(field('budget')), /`concat` takes texts, whole numbers and dates, not a number/],
  [concat(), /`concat` takes at least one part/],
  [coalesce(field('name'), 1), /It is sometimes a string, sometimes a integer\. Write values of one type/],
  [coalesce(null), /It is always null/],
  ...[
    signedIn,
    firstParty,
    role('admin'),
    scope('read:task'),
    owner('user_id'),
    field('title').eq(caller('name')),
    field('title').eq(claim('team')),
    not(related('user', owner('id'))),
    field('points')
      .gt(1)
      .and(related('project', related('owner', role('admin')).or(anyone))),
  ].map(
    where =>
      [
        count('tasks', { where: where as AccessRule, asSystem: true }),
        /cannot depend on the caller\. Compare/,
      ] as const,
  ),
  [
    plus(1, sum('tasks', 'points', { where: owner('user_id'), asSystem: true })),
    /cannot depend on the caller/,
  ],
  [
    first('tasks', 'title', { asSystem: true } as never),
    /`first` selects an item.*Publish a number: `count`/,
  ],
  [
    max('tasks', 'title', { asSystem: true }),
    /`title` is a string field: `asSystem` publishes only numbers and t/,
  ],
  [min('tasks', 'id', { asSystem: true }), /publishes only numbers and times/],
  [sum('tasks', 'title', { asSystem: true }), /`title` is a string field, but `sum` takes numbers/],
  [max('tasks', 'code', { asSystem: true }), /`tasks\.code` is never returned by the API/],
  [count('tasks', { asSystem: 1 } as never), /`asSystem` and `stored` are true or false/],
  [
    count('tasks', { stored: true }),
    /cannot be stored\. It is the same for every caller: write `asSystem: true`/,
  ],
  [
    max('tasks', 'points', { asSystem: true, stored: true }),
    /cannot be stored\. Only `count` and `sum` can be/,
  ],
  [
    sum('tasks', 'points', { asSystem: true, stored: true }),
    /within ±2\^31\. Write e\.g\. `points: integer\(\{ min/,
  ],
  [sum('tasks', 'hours', { asSystem: true, stored: true }), /exact only of integers/],
  [
    plus(1, count('tasks', { asSystem: true, stored: true })),
    /a computed field of its own.*Leave `stored` out/,
  ],
  ...[
    related('project', field('seats').gt(1)),
    field('project.seats').gt(1),
    field('created_at').gt(now),
    field('points').eq(field('id')),
  ].map(
    where =>
      [
        count('tasks', { where: where as AccessRule, asSystem: true, stored: true }),
        /only the related item’s own fields, and only with constants/,
      ] as const,
  ),
  [count('tasks', { asSytem: true } as never), /This is not a rule/],
  [when(field('seats').gt(1), null), /It is always null/],
  [when(field('nothing').gt(1), 1), /`projects` has no field `nothing`/],
  [round(field('name') as never), /`round` takes a number, not a string/],
  [datePart('year', field('name') as never), /`datePart\('year', …\)` takes a date or time, not a string/],
  [datePart('week' as never, field('started')), /There is no part `week` of a date/],
  [computed(field('tasks.title'), {}), /`projects` has no relation to one item `tasks`/],
  [deep, /It is nested more than 10 deep/],
  [concat(...Array.from({ length: 60 }, () => 'x')), /It has more than 50 parts/],
  [concat(...Array.from({ length: 11 }, () => count('tasks'))), /It follows more than 10 relations/],
  [computed(count('tasks'), { access: { write: role('admin') } } as never), /Write `\{ read: … \}`/],
  [computed(count('tasks'), { descriptoin: 'x' } as never), /no option of this name.*`description`/],
]

test('an invalid expression is reported with its place and a remedy', () => {
  for (const [expression, message] of faults) {
    assert.throws(
      () => checkModel(modelWith({ wrong: expression })),
      error => {
        assert.ok(error instanceof ModelError)
        const [fault] = error.faults
        assert.match(fault?.place ?? '', /^projects\.computed\.wrong/)
        assert.match(fault?.message ?? '', message)
        return true
      },
    )
  }
})

test('the name of a computed field must be valid and unique within its collection', () => {
  const clashes = {
    name: /has a field of this name/,
    tasks: /has a relation of this name/,
    id: /every item has it/,
  }
  for (const [name, message] of Object.entries({
    ...clashes,
    openTasks: /snake_case/,
    cursor: /query parameter/,
  })) {
    assert.throws(
      () => checkModel(modelWith({ [name]: count('tasks') })),
      error => error instanceof ModelError && error.faults.some(fault => message.test(fault.message)),
      name,
    )
  }
})

test('an access rule cannot use a computed field', () => {
  const declared = modelWith({ open_tasks: count('tasks') })
  const { projects } = declared.collections
  const wrong = collection({ ...projects.options, access: { read: field('open_tasks').eq(1) } } as never)
  assert.throws(
    () => checkModel(model({ ...declared.collections, projects: wrong })),
    error =>
      error instanceof ModelError && error.faults.some(({ place }) => place === 'projects.access.read'),
  )
})
