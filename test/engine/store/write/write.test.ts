/** The statements of writes, and the contents of their events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entityTag } from '../../../../src/base/conditional.ts'
import { type Principal, system, user } from '../../../../src/base/principal.ts'
import { always, and, not } from '../../../../src/engine/plan/condition.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type {
  GuardedCreate,
  GuardedPlan,
  GuardedSelected,
  GuardedUpdate,
} from '../../../../src/engine/plan/guarded.ts'
import type { Condition, RelationPath } from '../../../../src/engine/plan/guarded-conditions.ts'
import { publicFields } from '../../../../src/engine/store/sql/write.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { requireValues } from '../../../../src/engine/store/write/assign.ts'
import { requireChecks, requireMatch } from '../../../../src/engine/store/write/checks.ts'
import { isReturnable, outputPositions, TEXT } from '../../../../src/engine/store/write/create.ts'
import { mergedDocuments } from '../../../../src/engine/store/write/documents.ts'
import { updateEventOf } from '../../../../src/engine/store/write/update.ts'
import { anyone, collection, json, model, owner, relation, role, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { Client, fields } from '../blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const teams = checkModel(
  model({
    teams: collection({ access, fields: { name: string() } }),
    players: collection({
      access,
      fields: {
        name: string({ searchable: true }),
        team_id: relation('teams', { optional: true, onDelete: 'clear' }),
        notes: json({ optional: true }),
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
const path = { relation: toTeam, target: teams.collections.get('teams') } as RelationPath
const inTeam: Condition = { kind: 'related', path, rows: always }
const found: Condition = { kind: 'search', fields: [name], param: 0, isWhole: true }

const conditions: readonly (readonly [name: string, condition: Condition, isOwn: boolean])[] = [
  ['a field', named(), true],
  ['a nullable field', { kind: 'isNull', field: { field: name, when: always } }, true],
  ['several fields', and(named(), not({ kind: 'isNull', field: { field: name, when: always } })), true],
  ['a related row', inTeam, false],
  ['its search terms', found, false],
  ['no related row', not(inTeam), false],
  ['a field and a related row', and(named(), inTeam), false],
  ['a field hidden by a related row', named(inTeam), false],
]

const create = (of: Partial<GuardedCreate>) =>
  ({ select: [], rows: always, after: [], ...of }) as unknown as GuardedCreate

for (const [what, condition, isOwn] of conditions) {
  test(`a condition on ${what} is evaluated ${isOwn ? 'by the INSERT itself' : 'after the INSERT'}`, () => {
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
      shapes.map(isReturnable),
      shapes.map(() => isOwn),
    )
  })
}

test('an answer with related rows is read after the INSERT', () => {
  const related = {
    kind: 'relation',
    key: 'team',
    path,
    rows: always,
    when: always,
    select: [],
    list: undefined,
  }
  assert.equal(isReturnable(create({ select: [related as GuardedSelected] })), false)
})

const guard = createGuard(teams)

function created(names: readonly string[], as: Principal, key = (field: string) => field): GuardedCreate {
  const select = fields(...names).map(selection => ({ ...selection, key: key(selection.key) }))
  const set = [{ field: 'name', param: 0 }]
  return guard(
    { shape: { kind: 'create', collection: 'players', set, computed: [], select }, args: ['Ann'] },
    as,
  ).shape
}

test('the answer reuses the text of the event only if both contain the same fields in the same order', () => {
  const all = [...players.fields.keys()].filter(field => field !== 'secret')
  const admin = user(1, 'admin', 'all')
  const isEvent = (shape: GuardedCreate) => outputPositions(shape).event === TEXT
  assert.equal(isEvent(created(all, admin)), true)
  assert.equal(isEvent(created(all.slice(0, -1), admin)), false, 'a field is missing')
  assert.equal(isEvent(created(all.toReversed(), admin)), false, 'in another order')
  assert.equal(isEvent(created(all, admin, field => `my_${field}`)), false, 'with other keys')
  assert.equal(isEvent(created([...all, 'secret'], system)), false, 'an additional field')
  assert.equal(isEvent(created(all, user(2, 'user', 'all'))), false, 'a field is hidden in some rows')
})

test('an event names the changed fields except unreadable ones, and a change of internal fields alone is not logged', () => {
  const accounts = checkModel(model({})).collections.get('users') ?? assert.fail()
  const changed = (collection: typeof players, ...names: string[]) => {
    const set = names.map(field => ({
      field: collection.fields.get(field) ?? assert.fail(field),
      value: { kind: 'literal', value: null } as const,
    }))
    const states = { before: { data: 'before', facts: '-a' }, after: { data: 'event', facts: '+a' } }
    return updateEventOf({ collection } as GuardedUpdate, system, 1, set, states)
  }
  assert.deepEqual(changed(players, 'name', 'secret', 'team_id')?.changed, ['name', 'team_id'])
  assert.deepEqual(changed(players, 'secret')?.changed, [])
  assert.deepEqual(changed(accounts, 'password_hash', 'name')?.changed, ['name'])
  assert.equal(changed(accounts, 'password_hash'), undefined)
  assert.equal(changed(players, 'name')?.data, 'event')
  assert.equal(changed(players, 'name')?.before, 'before')
  assert.equal(changed(players, 'name')?.facts, '+a')
  assert.equal(changed(players, 'name')?.factsBefore, '-a')
})

test('events contain every field that some caller may read, and no other', () => {
  const accounts = checkModel(model({})).collections.get('users') ?? assert.fail()
  const loggedFields = (collection: typeof players) => publicFields(collection).map(field => field.name)
  assert.ok(loggedFields(players).includes('salary'), 'some callers can read it')
  assert.ok(!loggedFields(players).includes('secret'), 'it is write-only')
  assert.ok(!loggedFields(accounts).includes('password_hash'), 'it is internal')
})

test('a required field must have a value if it is assigned', () => {
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

test('a missing value whose default is the signed-in user is reported with the reason', () => {
  const field = players.fields.get('team_id') ?? assert.fail('team_id')
  const set = [
    { field: { ...field, optional: false }, value: { kind: 'default', default: { kind: 'currentUser' } } },
  ] as const
  assert.throws(() => requireValues(set, [null]), {
    details: [
      {
        field: 'team_id',
        code: 'required',
        message: 'This field must have a value: its default is the signed-in user, and nobody is signed in.',
      },
    ],
  })
})

test('a check whose result is unknown fails', () => {
  const check = { condition: always, field: undefined }
  const written = { kind: 'update', collection: players } as const
  requireChecks([check], ['text', 1], 1, written)
  for (const found of [0, null])
    assert.throws(() => requireChecks([check], ['text', found], 1, written), { code: 'FORBIDDEN' })
  const ofField = { condition: always, field: name }
  assert.throws(() => requireChecks([ofField], [null], 0, written), /"name" of this item/)
  requireChecks([ofField], [null], 0, written, new Set([name]))
})

test('an entity tag is compared as a whole', () => {
  const tag = entityTag('{"id":1}')
  requireMatch('*', '{"id":1}')
  requireMatch(['"other"', tag], '{"id":1}')
  for (const wanted of [[`W/${tag}`], [`"x", ${tag}`], [], ['*'], undefined]) {
    assert.throws(() => requireMatch(wanted, '{"id":1}'), { code: 'PRECONDITION_FAILED' })
  }
})

test('a patch without effect counts as a change if the document is hidden', () => {
  const notes = players.fields.get('notes') ?? assert.fail()
  const set = [{ field: notes, value: { kind: 'param', param: 0 }, merges: true } as const]
  const changed = (hidden: number, patch: JsonValue) =>
    mergedDocuments(set, { args: [patch] } as unknown as GuardedPlan, ['{"a":1}', hidden], 0).map(
      document => document.changed,
    )
  assert.deepEqual(
    [changed(0, { a: 1 }), changed(0, { a: 2 }), changed(1, { a: 1 })],
    [[false], [true], [true]],
  )
})

test('a cached item is invalidated when a deletion clears its reference', async () => {
  const store = openSqlite(teams, { file: ':memory:' })
  const client = new Client(store, teams)
  const { id: team_id } = await client.create('teams', { name: 'red' })
  const { id } = await client.create('players', { name: 'Ann', team_id })
  const team = async () => ((await client.item('players', id)) as { readonly team_id: unknown }).team_id
  assert.deepEqual([await team(), await team()], [team_id, team_id])
  await client.remove('teams', team_id)
  assert.equal(await team(), null)
  await store.close()
})

test('deleting a user deletes the records of that user and no others', async () => {
  const store = openSqlite(teams, { file: ':memory:' })
  const client = new Client(store, teams)
  const ids: number[] = []
  for (const name of ['ann', 'ben']) {
    const { id } = await client.create('users', { name, email: `${name}@example.com` })
    await store.records.put({ kind: 'Grant', id: name, payload: '{}', expiresAt: null, owner: String(id) })
    ids.push(id)
  }
  const version = store.records.version('Grant')
  await client.remove('users', ids[0] ?? 0)
  assert.equal(store.records.get('Grant', 'ann'), undefined)
  assert.ok(store.records.get('Grant', 'ben'))
  assert.ok(store.records.version('Grant') > version)
  await store.close()
})
