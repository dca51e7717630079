/** Short texts are counted by the list, or the large object, that has them: while SQLite makes the answer, not after it. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { type Principal, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../../src/engine/plan/order.ts'
import type { CompositeShape, Selected } from '../../../../src/engine/plan/plan.ts'
import { answerSizeFunction } from '../../../../src/engine/store/sql/answer-size-function.ts'
import { compositeSql } from '../../../../src/engine/store/sql/composite.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { compile } from '../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../src/engine/store/sqlite/read/answer-size.ts'
import { schemaSql } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { noSlots, parameterValue } from '../../../../src/engine/store/values.ts'
import {
  anyone,
  checkModel,
  collection,
  field,
  model,
  relation,
  role,
  string,
  text,
} from '../../../../src/index.ts'

const short = () => string({ optional: true })
const access = { read: anyone }
const declared = checkModel(
  model({
    teams: collection({
      fields: { name: string(), motto: short(), address: short(), country: short() },
      access,
    }),
    members: collection({
      fields: {
        name: string(),
        note: text({ optional: true }),
        pin: string({ optional: true, access: { read: field('name').eq('open').or(role('admin')) } }),
        team_id: relation('teams', { inverse: 'members' }),
      },
      access,
    }),
    badges: collection({
      fields: { name: string(), member_id: relation('members', { inverse: 'badges' }) },
      access,
    }),
  }),
)

const teams = 20
const membersOfTeam = 10
const badgesOfMember = 3

/** Teams with members with badges, all with this name. */
function databaseOf(name: string): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  database.exec(schemaSql(declared))
  const rows = (count: number) =>
    `WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ${count})`
  const at = `'2026-01-01T00:00:00.000Z'`
  const statements = [
    `${rows(teams)} INSERT INTO teams (id, name, created_at) SELECT k, ?1, ${at} FROM n`,
    `${rows(teams * membersOfTeam)} INSERT INTO members (id, name, team_id, created_at) SELECT k, ?1, 1 + k % ${teams}, ${at} FROM n`,
    `${rows(teams * membersOfTeam * badgesOfMember)} INSERT INTO badges (id, name, member_id, created_at) SELECT k, ?1, 1 + k % ${teams * membersOfTeam}, ${at} FROM n`,
  ]
  for (const statement of statements) database.prepare(statement).run(name)
  return database
}

const fields = (...names: string[]): Selected[] =>
  names.map(name => ({ kind: 'field', key: name, field: name }))
const list = { filter: undefined, sort: orderById, limit: 0 } as const
const related = (
  relation: string,
  select: readonly Selected[],
  of: typeof list | undefined = list,
): Selected => {
  return { kind: 'relation', key: relation, relation, select, list: of }
}
const listOf = (name: string, select: readonly Selected[]): CompositeShape => {
  return { kind: 'composite', roots: [{ kind: 'list', key: 'all', collection: name, list, select }] }
}

const nested = listOf('teams', [
  ...fields('id', 'name'),
  related('members', [...fields('id', 'name'), related('badges', fields('id', 'name'))]),
])

const ann = user(1, 'user', 'all')

/** Runs the shape's statement. */
function read(database: DatabaseSync, shape: CompositeShape, principal: Principal = ann): string {
  const args = [1000]
  const guarded = createGuard(declared)({ shape, args }, principal)
  const { text, binds } = compile(compositeSql(guarded.shape, sqlite), sqlite.sign)
  const { userId } = principal
  const values = binds.map(bind => parameterValue(bind, { args, userId, slots: noSlots, now: 0 }))
  const [answer] = Object.values(database.prepare(text).get(...values) ?? {})
  return String(answer)
}

/** The answer, and the numbers of bytes that its statement counted, in order. */
function counted(database: DatabaseSync, shape: CompositeShape, principal?: Principal) {
  const sizes: number[] = []
  database.function(answerSizeFunction, bytes => sizes.push(Number(bytes)))
  const bytes = Buffer.byteLength(read(database, shape, principal))
  return { bytes, sizes, sum: sizes.reduce((sum, size) => sum + size, 0) }
}

const names = { letters: 'a'.repeat(200), 'wide characters': '雪'.repeat(80), emoji: '🌲'.repeat(60) }

suite('short texts on SQLite', () => {
  for (const [kind, name] of Object.entries(names)) {
    test(`each list counts its own rows once, nearly as large as they are: ${kind}`, () => {
      const { sizes, sum, bytes } = counted(databaseOf(name), nested)
      assert.equal(sizes.length, 1 + teams + teams * membersOfTeam)
      assert.ok(sum <= bytes && sum > 0.95 * bytes, `${sum} of ${bytes}`)
    })
  }

  test('no more is counted than the answer has: of escapes, missing texts and empty lists', () => {
    const database = databaseOf('"'.repeat(200))
    database.exec('UPDATE members SET note = NULL; DELETE FROM badges')
    const shape = listOf('teams', [
      ...fields('name', 'motto'),
      related('members', [...fields('note'), related('badges', fields('name'))]),
    ])
    const { sum, bytes } = counted(database, shape)
    assert.ok(sum > 0 && sum <= bytes, `${sum} of ${bytes}`)
  })

  test('of a text of unbounded length, the list counts it if it is short, and it counts itself if it is long', () => {
    for (const length of [256, 257, 5000]) {
      const database = databaseOf('a')
      database.prepare('UPDATE members SET note = ?').run('n'.repeat(length))
      const { sizes, sum, bytes } = counted(database, listOf('members', fields('note')))
      assert.equal(sizes.length, length <= 256 ? 1 : 1 + teams * membersOfTeam, `${length}`)
      assert.ok(sum <= bytes && sum > 0.95 * bytes, `${length}: ${sum} of ${bytes}`)
    }
  })

  test('a text that a rule may hide does not count, so that no refusal tells how long it is', () => {
    const shape = listOf('members', fields('id', 'pin'))
    const sizesWith = (pin: string) => {
      const database = databaseOf('closed')
      database.prepare('UPDATE members SET pin = ?').run(pin)
      return counted(database, shape).sizes
    }
    assert.deepEqual(sizesWith('p'.repeat(250)), sizesWith(''))
  })

  test('a related item with many short texts counts itself, one with few does not', () => {
    const database = databaseOf('a'.repeat(200))
    database.prepare('UPDATE teams SET motto = ?1, address = ?1, country = ?1').run('a'.repeat(200))
    const few = counted(database, listOf('members', [related('team', fields('name'), undefined)]))
    assert.equal(few.sizes.length, 1)
    const many = related('team', fields('name', 'motto', 'address', 'country'), undefined)
    const { sizes, sum, bytes } = counted(database, listOf('members', [many]))
    assert.equal(sizes.length, 1 + teams * membersOfTeam)
    assert.ok(sum <= bytes && sum > 0.95 * bytes, `${sum} of ${bytes}`)
  })

  test('SQLite stops within the list that exceeds the bound, and can be used afterwards', () => {
    const database = databaseOf('a'.repeat(200))
    const whole = counted(database, nested)
    let calls = 0
    const counting = {
      function: (name: string, count: (bytes: unknown) => number) =>
        database.function(name, bytes => {
          calls++
          return count(bytes)
        }),
    }
    const size = new AnswerSize(counting as never)
    assert.equal(
      size.within(whole.bytes / 10, () => read(database, nested)),
      undefined,
    )
    assert.ok(calls < whole.sizes.length / 8, `${calls} of ${whole.sizes.length}`)
    calls = 0
    assert.equal(Buffer.byteLength(size.within(whole.bytes, () => read(database, nested)) ?? ''), whole.bytes)
    assert.equal(calls, whole.sizes.length)
  })
})
