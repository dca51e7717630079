/** What writes ask of the database, and when; and what their events tell. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, model, owner, relation, role, string } from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import { always, and, not } from '../../src/plan/condition.ts'
import { createGuard } from '../../src/plan/guard.ts'
import type {
  Condition,
  GuardedCreate,
  GuardedSelected,
  GuardedUpdate,
  Path,
} from '../../src/plan/guarded.ts'
import { type Principal, system, user } from '../../src/principal.ts'
import { publicFields } from '../../src/store/sql/write.ts'
import { requireValues } from '../../src/store/write/assign.ts'
import { isToldAtOnce, placesOf, TEXT } from '../../src/store/write/create.ts'
import { eventOf } from '../../src/store/write/update.ts'
import { fields } from './blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const teams = checkModel(
  model({
    teams: collection({ access, fields: { name: string() } }),
    players: collection({
      access,
      fields: {
        name: string({ searchable: true }),
        team_id: relation('teams', { optional: true }),
        user_id: relation('users', { optional: true }),
        secret: string({ optional: true, writeOnly: true }),
        salary: string({ optional: true, access: { read: role('admin').or(owner('user_id')) } }),
      },
    }),
  }),
)
const players = teams.collections.get('players') ?? assert.fail()
const name = players.fields.get('name') ?? assert.fail()
const toTeam = players.relations.get('team') ?? assert.fail()

const named = (when: Condition = always): Condition => ({
  kind: 'compare',
  field: { field: name, when },
  operator: 'eq',
  operand: { kind: 'literal', value: 'Ann' },
})
const path = { relation: toTeam, target: teams.collections.get('teams') } as Path
const inTeam: Condition = { kind: 'related', path, rows: always }
const found: Condition = { kind: 'search', fields: [name], param: 0 }

const conditions: readonly (readonly [what: string, condition: Condition, isOfTheRow: boolean])[] = [
  ['a field', named(), true],
  ['a field that may be missing', { kind: 'isNull', field: { field: name, when: always } }, true],
  ['fields together', and(named(), not({ kind: 'isNull', field: { field: name, when: always } })), true],
  ['a related row', inTeam, false],
  ['its search words', found, false],
  ['no related row', not(inTeam), false],
  ['a field and a related row', and(named(), inTeam), false],
  ['a field that a related row hides', named(inTeam), false],
]

const create = (of: Partial<GuardedCreate>) =>
  ({ select: [], rows: always, after: [], ...of }) as unknown as GuardedCreate

for (const [what, condition, isOfTheRow] of conditions) {
  test(`what depends on ${what} is asked ${isOfTheRow ? 'in the INSERT' : 'when the row is there'}`, () => {
    const selected: GuardedSelected = { kind: 'field', key: 'name', field: { field: name, when: condition } }
    const shapes = [
      create({ after: [{ condition, field: undefined }] }),
      create({
        after: [
          { condition: named(), field: name },
          { condition, field: undefined },
        ],
      }),
      create({ rows: condition }),
      create({ select: [selected] }),
    ]
    assert.deepEqual(
      shapes.map(isToldAtOnce),
      shapes.map(() => isOfTheRow),
    )
  })
}

test('an answer with related rows is made when the row is there', () => {
  const related = {
    kind: 'relation',
    key: 'team',
    path,
    rows: always,
    when: always,
    select: [],
    list: undefined,
  }
  assert.equal(isToldAtOnce(create({ select: [related as GuardedSelected] })), false)
})

const guard = createGuard(teams)

function created(names: readonly string[], as: Principal, key = (field: string) => field): GuardedCreate {
  const select = fields(...names).map(each => ({ ...each, key: key(each.key) }))
  const set = [{ field: 'name', param: 0 }]
  return guard(
    { shape: { kind: 'create', collection: 'players', set, computed: [], select }, args: ['Ann'] },
    as,
  ).shape
}

test('the answer is the event’s very text where it holds all that the event does, and only there', () => {
  const all = [...players.fields.keys()].filter(field => field !== 'secret')
  const admin = user(1, 'admin', 'all')
  const isEvent = (shape: GuardedCreate) => placesOf(shape).event === TEXT
  assert.equal(isEvent(created(all, admin)), true)
  assert.equal(isEvent(created(all.slice(0, -1), admin)), false, 'a field is left out')
  assert.equal(isEvent(created(all.toReversed(), admin)), false, 'in another order')
  assert.equal(isEvent(created(all, admin, field => `my_${field}`)), false, 'by other names')
  assert.equal(isEvent(created([...all, 'secret'], system)), false, 'a field more')
  assert.equal(isEvent(created(all, user(2, 'user', 'all'))), false, 'one is hidden in some rows')
})

test('an event names what changed, but for what nobody may read, and there is none where all of it is internal', () => {
  const accounts = checkModel(model({})).collections.get('users') ?? assert.fail()
  const changed = (of: typeof players, ...names: string[]) => {
    const set = names.map(field => ({
      field: of.fields.get(field) ?? assert.fail(field),
      value: { kind: 'literal', value: null } as const,
    }))
    return eventOf({ collection: of } as GuardedUpdate, 1, set, ['answer', 'event'])
  }
  assert.deepEqual(changed(players, 'name', 'secret', 'team_id')?.changed, ['name', 'team_id'])
  assert.deepEqual(changed(players, 'secret')?.changed, [])
  assert.deepEqual(changed(accounts, 'password_hash', 'name')?.changed, ['name'])
  assert.equal(changed(accounts, 'password_hash'), undefined)
  assert.equal(changed(players, 'name')?.data, 'event')
})

test('events keep every field that may ever be shown, and no other', () => {
  const accounts = checkModel(model({})).collections.get('users') ?? assert.fail()
  const kept = (of: typeof players) => publicFields(of).map(each => each.name)
  assert.ok(kept(players).includes('salary'), 'some may see it')
  assert.ok(!kept(players).includes('secret'), 'it is write-only')
  assert.ok(!kept(accounts).includes('password_hash'), 'it is internal')
})

test('a required field must have a value, where it is assigned at all', () => {
  const set = ['name', 'team_id'].map(each => ({
    field: players.fields.get(each) ?? assert.fail(each),
    value: { kind: 'literal', value: null } as const,
  }))
  requireValues(set, ['Ann', null])
  requireValues(set, [null, null], [false, true])
  for (const changes of [undefined, [true, false]]) {
    assert.throws(() => requireValues(set, [null, null], changes), {
      code: 'VALIDATION_FAILED',
      details: [{ field: 'name', code: 'required', message: 'This field must have a value.' }],
    })
  }
})
