/** How `checkModel` describes and checks comparisons with the time, other fields, fields of the caller and claims. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessRule,
  boolean,
  caller,
  checkModel,
  claim,
  collection,
  currentUser,
  date,
  datetime,
  field,
  integer,
  json,
  model,
  not,
  now,
  number,
  owner,
  related,
  relation,
  role,
  string,
  text,
  users,
} from '../../src/index.ts'
import { inWords } from '../../src/model/rule/rule-text.ts'
import { faultsIn, untyped } from './faults.ts'

/** A rule as a JavaScript file could write it despite the types. */
type Loose = (...names: readonly unknown[]) => {
  readonly [how in 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in']: (value: unknown) => AccessRule
}
const loose = field as unknown as Loose

function modelWithRule(read: AccessRule, more: object = {}) {
  return model(
    untyped({
      users: users(
        untyped({ fields: { team: text({ optional: true }), since: datetime({ optional: true }) } }),
      ),
      projects: collection({
        fields: { name: text(), owner_id: relation('users', { inverse: 'projects' }), open: boolean() },
      }),
      tasks: collection(
        untyped({
          fields: {
            title: string(),
            points: integer(),
            weight: number(),
            day: date(),
            due_at: datetime(),
            extra: json({ optional: true }),
            assignee_id: relation('users', { inverse: 'tasks' }),
            project_id: relation('projects', { inverse: 'tasks' }),
            parent_id: relation('tasks', { inverse: 'children', optional: true }),
            partner_id: relation('oauth_apps', { optional: true }),
          },
          access: { read },
        }),
      ),
      ...more,
    }),
  )
}

function faultsOf(read: AccessRule): readonly string[] {
  return faultsIn(() => checkModel(modelWithRule(read)))
}

const right: readonly (readonly [AccessRule, string])[] = [
  [loose('due_at').gte(now.minus({ minutes: 15 })), '`due_at` is at least now minus 15 minutes'],
  [loose('day').lt(now), '`day` is less than now'],
  [
    loose('due_at').lte(now.plus({ weeks: 1, hours: 2, seconds: 1 })),
    '`due_at` is at most now plus 7 days 2 hours 1 second',
  ],
  [loose('project.owner_id').eq(currentUser), '`project.owner_id` is the caller'],
  [loose('project.open').eq(true), '`project.open` is true'],
  [loose('project.name').eq(null), '`project.name` is null'],
  [loose('points').gt(field('weight')), '`points` is greater than `weight`'],
  [loose('title').ne(field('project.owner.name')), '`title` is not `project.owner.name`'],
  [loose('assignee_id').eq(field('project.owner_id')), '`assignee_id` is `project.owner_id`'],
  [loose('assignee.id').eq(field('project.owner.id')), '`assignee.id` is `project.owner.id`'],
  [loose('title').eq(caller('email')), "`title` is the caller's confirmed `email`"],
  [loose('title').ne(caller('team')), "`title` is not the caller's `team`"],
  [loose('partner_id').eq(caller('app.id')), "`partner_id` is the caller's app"],
  [loose('partner.id').ne(caller('app.id')), "`partner.id` is not the caller's app"],
  [loose('due_at').eq(caller('since')), "`due_at` is the caller's `since`"],
  [loose('project.name').eq(claim('org')), "`project.name` is the claim `org` of the caller's token"],
  [loose('points').ne(claim('level')), "`points` is not the claim `level` of the caller's token"],
  [
    related('project', loose('owner.team').eq(caller('team'))),
    "a related `project` where `owner.team` is the caller's `team`",
  ],
]

for (const [rule, words] of right) {
  test(`a valid rule: ${words}`, () => {
    const { tasks } = Object.fromEntries(checkModel(modelWithRule(rule)).collections)
    assert.ok(tasks)
    assert.equal(inWords(tasks.access.read), words)
  })
}

const wrong: readonly (readonly [string, AccessRule, RegExp])[] = [
  [
    'a text compared with the time',
    loose('title').lte(now),
    /`title` is a string field, and `now` a time\. Compare a `datetime`/,
  ],
  [
    'a shift by an unknown unit',
    loose('due_at').lte(now.minus(untyped({ fortnights: 1 }))),
    /Write weeks, days, hours, minutes/,
  ],
  [
    'a shift without a duration',
    loose('due_at').lte(now.minus(untyped(undefined))),
    /shifted by an invalid duration/,
  ],
  ['a shift by centuries', loose('due_at').lte(now.minus({ weeks: 1e6 })), /more than a hundred years/],
  ['`in` with now', loose('due_at').in(now), /`in` takes a list/],
  ['`in` with another field', loose('points').in(field('weight')), /`in` takes a list/],
  [
    'a path along an unknown relation',
    loose('projekt.name').eq('a'),
    /`tasks` has no relation `projekt` to one item\. Did you mean `project`\?/,
  ],
  [
    'a path to an unknown field',
    loose('project.nam').eq('a'),
    /`projects` has no field `nam`\. Did you mean `name`\?/,
  ],
  [
    'an unknown field in the path of an operand',
    loose('title').eq(field('project.nam')),
    /`projects` has no field `nam`/,
  ],
  [
    'a path along a to-many relation',
    loose('children.title').eq('a'),
    /leads to several items.*Write `related\('children', …\)`/,
  ],
  [
    'a path that is too long',
    loose('parent.parent.parent.parent.parent.parent.title').eq('a'),
    /more than 5 relations/,
  ],
  [
    'a path that is too long within related rules',
    related('parent', related('parent', loose('title').eq(field('parent.parent.parent.parent.title')))),
    /more than 5 relations/,
  ],
  [
    'fields of different types',
    loose('title').eq(field('points')),
    /`title` is a string field and `points` a integer field\. Compare fields of one type/,
  ],
  ['a datetime compared with a date', loose('due_at').gte(field('day')), /Compare fields of one type/],
  [
    'ids of different collections',
    loose('project_id').eq(field('assignee_id')),
    /`projects`, and `assignee_id` of `users`\. Compare ids of one collection/,
  ],
  ['a comparison of JSON fields', loose('extra').eq(field('extra')), /`eq` cannot compare it/],
  ['an order comparison with a field of the caller', loose('title').gt(caller('team')), /Write `eq` or `ne`/],
  [
    'an unknown field of the caller',
    loose('title').eq(caller('emial')),
    /`users` has no field `emial`.*Did you mean `email`\?/,
  ],
  [
    'a hidden field of the caller',
    loose('title').eq(caller('password_hash')),
    /never returned by the API.*Use another field/,
  ],
  [
    'a field of the caller with another type',
    loose('points').eq(caller('team')),
    /Compare fields of one type/,
  ],
  [
    'a user compared with the app of the caller',
    loose('assignee_id').eq(caller('app.id')),
    /`assignee_id` holds no app, .* Name a field that is `relation\('oauth_apps'\)`/,
  ],
  ['an order comparison with the app', loose('partner.id').lt(caller('app.id')), /Write `eq` or `ne`/],
  ['another field of the app', loose('title').eq(caller('app.name')), /`users` has no field `app.name`/],
  ['a claim without a name', loose('title').eq(claim('')), /A claim needs a name/],
  [
    'a claim compared with a datetime',
    loose('due_at').eq(claim('at')),
    /a claim is a text, a number, or true or false/,
  ],
  ['an order comparison with a claim', loose('points').lt(claim('level')), /Write `eq` or `ne`/],
  ['a comparison without a field', loose(undefined).eq('a'), /A comparison needs a field/],
]

for (const [name, rule, message] of wrong) {
  test(`an invalid rule: ${name}`, () => {
    const faults = faultsOf(not(rule))
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', /^tasks\.access\.read: /)
    assert.match(faults[0] ?? '', message)
  })
}

test('a model lists the claims that its rules use', () => {
  const rule = loose('title')
    .eq(claim('org'))
    .or(not(loose('points').ne(claim('level'))))
  assert.deepEqual(checkModel(modelWithRule(rule)).claims, ['level', 'org'])
})

function usersFaults(fields: object): readonly string[] {
  return faultsIn(() => checkModel(model(untyped({ users: users(untyped({ fields })) }))))
}

test('narrowing a built-in field of users adds rules to the built-in ones', () => {
  const access = { read: owner('id'), write: field('created_at').gte(now.minus({ days: 1 })) }
  const { users: collection } = Object.fromEntries(
    checkModel(
      model(
        untyped({
          users: users(
            untyped({
              fields: { role: { access, description: 'Rank.' }, email: { access: { read: owner('id') } } },
            }),
          ),
        }),
      ),
    ).collections,
  )
  const fields = collection?.fields
  assert.equal(fields?.get('role')?.description, 'Rank.')
  assert.equal(
    inWords(fields?.get('role')?.access.write ?? { kind: 'nobody' }),
    '(role admin, and not through a third-party app), and `created_at` is at least now minus 1 day',
  )
  assert.equal(inWords(fields?.get('role')?.access.read ?? { kind: 'nobody' }), '`id` is the caller')
  assert.equal(inWords(fields?.get('email')?.access.read ?? { kind: 'nobody' }), '`id` is the caller')
  assert.equal(fields?.get('email')?.unique, true)
  assert.deepEqual(
    [...(fields?.keys() ?? [])],
    ['id', 'name', 'email', 'role', 'disabled', 'password_hash', 'created_at'],
  )
})

const notNarrowed: readonly (readonly [string, object, RegExp])[] = [
  [
    'declaring it again',
    { email: text() },
    /^users\.fields\.email: .*cannot be declared again, but its rules can be narrowed/,
  ],
  [
    'another option',
    { email: { unique: false } },
    /^users\.fields\.email\.unique: .*only `access` and `description`/,
  ],
  [
    'another rule',
    { email: { access: { raed: role('admin') } } },
    /^users\.fields\.email\.access\.raed: .*Did you mean `read`\?/,
  ],
  [
    'no rule',
    { email: { access: { read: 'me' } } },
    /^users\.fields\.email\.access\.read: This is not a rule/,
  ],
  ['no rules', { email: { access: 'me' } }, /^users\.fields\.email\.access: These are not rules/],
  [
    'an internal field',
    { password_hash: { description: 'x' } },
    /^users\.fields\.password_hash: Clients can neither read nor write/,
  ],
  ['nothing', { email: null }, /^users\.fields\.email: .*narrowed/],
]

for (const [name, fields, message] of notNarrowed) {
  test(`narrowing a built-in field of users is refused: ${name}`, () => {
    const faults = usersFaults(fields)
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', message)
  })
}
