/** Conditions on related rows: a list has the same items, total and next page whichever way SQLite finds the rows. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { system, user } from '../../../../../src/base/principal.ts'
import type { ReadAnswer } from '../../../../../src/engine/plan/answer.ts'
import { createGuard } from '../../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList, GuardedRead } from '../../../../../src/engine/plan/guarded.ts'
import { totalOrder } from '../../../../../src/engine/plan/order.ts'
import type { Filter, ListShape, Sort, Window } from '../../../../../src/engine/plan/plan.ts'
import { sqlite } from '../../../../../src/engine/store/sql/sqlite.ts'
import { compile, type Sql } from '../../../../../src/engine/store/sql/writer.ts'
import type { Connection } from '../../../../../src/engine/store/sqlite/connection.ts'
import { AnswerSize } from '../../../../../src/engine/store/sqlite/read/answer-size.ts'
import { RelatedRows } from '../../../../../src/engine/store/sqlite/read/related-rows.ts'
import type { Totals } from '../../../../../src/engine/store/sqlite/read/totals.ts'
import { openSqlite, type SqliteStore } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  collection,
  currentUser,
  field,
  manyToMany,
  model,
  owner,
  related,
  relation,
  role,
  string,
} from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../../src/model/fields/type.ts'

const member = related('memberships', field('user_id').eq(currentUser))

const declared = checkModel(
  model({
    memberships: collection({
      fields: { team_id: relation('teams', { inverse: 'memberships' }), user_id: relation('users') },
      access: { read: anyone },
    }),
    teams: collection({ fields: { name: string(), kind: string() }, access: { read: anyone } }),
    labels: collection({ fields: { name: string() }, access: { read: anyone } }),
    task_labels: collection({
      fields: { task_id: relation('tasks'), label_id: relation('labels') },
      access: { read: anyone },
    }),
    tasks: collection({
      fields: {
        title: string(),
        team_id: relation('teams', { optional: true, inverse: 'tasks' }),
        owner_id: relation('users', { optional: true }),
      },
      relations: {
        labels: manyToMany('labels', { through: 'task_labels', from: 'task_id', to: 'label_id' }),
      },
      access: { read: owner('owner_id').or(related('team', member), role('admin')) },
    }),
  }),
)

/** One in 100 of 1,500 tasks is in a rare team, half are in common ones; the oldest tasks have a team of their own. */
const numbers = 'WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 1500)'
const time = (k: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + ${k}, 'unixepoch')`
const filling = [
  `${numbers} INSERT INTO users (id, name, email, role, created_at) SELECT k, 'u' || k, 'u' || k || '@example.com', 'user', ${time('k')} FROM n WHERE k <= 20`,
  `${numbers} INSERT INTO teams (id, name, kind, created_at) SELECT k, 't' || k, CASE WHEN k = 7 THEN 'rare' WHEN k = 8 THEN 'empty' WHEN k = 9 THEN 'old' WHEN k % 2 = 0 THEN 'half' ELSE 'other' END, ${time('k')} FROM n WHERE k <= 100`,
  `${numbers} INSERT INTO memberships (team_id, user_id, created_at) SELECT k, k % 19 + 1, ${time('k')} FROM n WHERE k <= 100`,
  `${numbers} INSERT INTO labels (id, name, created_at) SELECT k, CASE WHEN k = 3 THEN 'rare' WHEN k = 4 THEN 'empty' ELSE 'l' || k % 2 END, ${time('k')} FROM n WHERE k <= 50`,
  `${numbers} INSERT INTO tasks (id, title, team_id, owner_id, created_at)
   SELECT k, 'task ' || k % 17, CASE WHEN k <= 150 THEN 9 WHEN k % 11 = 0 THEN NULL WHEN k * 7 % 100 IN (8, 9) THEN 10 ELSE k * 7 % 100 + 1 END, CASE WHEN k % 5 = 0 THEN k % 20 + 1 END, ${time('k * 7919 % 1000')} FROM n`,
  `${numbers} INSERT INTO task_labels (task_id, label_id, created_at) SELECT k, CASE k * 31 % 50 + 1 WHEN 4 THEN 5 ELSE k * 31 % 50 + 1 END, ${time('k')} FROM n WHERE k % 3 > 0`,
]

const folder = mkdtempSync(join(tmpdir(), 'portico-related-'))
const file = join(folder, 'data.db')
/** The first store checks each row, the second walks 40 rows and then builds a set. */
const stores: SqliteStore[] = []

before(() => {
  for (const walkedRows of [1_000_000, 40])
    stores.push(openSqlite(declared, { file, walkedRows, cacheBytes: 0 }))
  const database = new DatabaseSync(file)
  // The statements count the bytes of their answers.
  new AnswerSize(database)
  for (const statement of filling) database.exec(statement)
  database.close()
  for (const store of stores) store.refresh()
})
after(async () => {
  for (const store of stores) await store.close()
  rmSync(folder, { recursive: true })
})

const is = (name: string): Filter => ({ kind: 'compare', field: name, operator: 'eq', param: 3 })
const along = (relation: string, filter: Filter): Filter => ({ kind: 'related', relation, filter })
const ofTeam = along('team', is('kind'))
const ofLabel = along('labels', is('name'))

const filters: readonly (readonly [name: string, filter: Filter, values: readonly string[]])[] = [
  ['a relation to one', ofTeam, ['rare', 'half', 'old', 'empty', 'nothing']],
  ['two relations', along('team', along('memberships', is('user_id'))), ['3', '19']],
  ['a relation many to many', ofLabel, ['rare', 'l0', 'empty']],
  ['a relation to many and back', along('team', along('tasks', is('title'))), ['task 3', 'nothing']],
  ['one condition or another', { kind: 'or', parts: [ofTeam, ofLabel] }, ['rare', 'half']],
  ['two conditions', { kind: 'and', parts: [ofTeam, ofLabel] }, ['rare']],
  ['not a condition', { kind: 'not', part: ofTeam }, ['half', 'nothing']],
  ['not two conditions', { kind: 'not', part: { kind: 'and', parts: [ofTeam, ofLabel] } }, ['rare']],
]

const sorts: readonly (readonly Sort[])[] = [
  [],
  [{ field: 'created_at', descending: true }],
  [{ field: 'team_id', descending: false }],
  [{ field: 'title', descending: true }],
]

/** The first two arguments are offset and limit, the third is the id of the parent. */
const page = (total: 'exact' | 'none'): Window => ({ kind: 'page', offset: 0, limit: 1, total })

function shapeOf(filter: Filter, sort: readonly Sort[], window: Window, within?: string): ListShape {
  return {
    kind: 'list',
    collection: 'tasks',
    within: within === undefined ? undefined : { collection: 'teams', relation: within, id: 2 },
    filter,
    search: undefined,
    sort: totalOrder(sort),
    window,
    select: ['id', 'team_id'].map(name => ({ kind: 'field', key: name, field: name })),
  }
}

const callers = [system, user(3, 'user', 'all')]
const pages: readonly (readonly [offset: number, limit: number])[] = [
  [3, 5],
  [190, 20],
  [230, 40],
]

for (const [name, filter, values] of filters) {
  test(`${name}: every order, page and caller gets the same rows from both stores`, async () => {
    const guard = createGuard(declared)
    for (const sort of sorts) {
      for (const [total, within] of [['exact'], ['none'], ['none', 'tasks']] as const) {
        const shape = shapeOf(filter, sort, page(total), within)
        for (const who of callers) {
          for (const value of values) {
            const text: JsonValue = name === 'two relations' ? Number(value) : value
            for (const [offset, limit] of pages) {
              const plan: GuardedRead = guard({ shape, args: [offset, limit, 10, text] }, who)
              const [expected, actual]: readonly ReadAnswer[] = await Promise.all(
                stores.map(store => store.read(plan)),
              )
              assert.deepEqual(actual, expected, `${value}, ${JSON.stringify(sort)}, from ${offset}`)
            }
          }
        }
      }
    }
  })
}

test('reading by cursor visits the same rows in both stores', async () => {
  const guard = createGuard(declared)
  for (const value of ['rare', 'half', 'old']) {
    const walks = stores.map(async store => {
      const seen: unknown[] = []
      let position: readonly JsonValue[] | undefined
      for (;;) {
        const keys = position === undefined ? undefined : [4, 5]
        const window: Window = { kind: 'cursor', after: keys, limit: 1 }
        const shape = shapeOf(ofTeam, [{ field: 'created_at', descending: true }], window)
        const answer = await store.read(
          guard({ shape, args: [0, 7, 10, value, ...(position ?? [])] }, system),
        )
        if (answer.kind !== 'list') throw new TypeError('not a list')
        seen.push(...JSON.parse(answer.text ?? 'null'))
        if (!answer.next) return seen
        position = answer.next
      }
    })
    const walked = await Promise.all(walks)
    assert.ok(Number(walked[0]?.length) > 10, value)
    assert.deepEqual(walked[1], walked[0], value)
  }
})

/** The ways in which 20 of 100,000 tasks are searched, if a walk finds `facts.found` of them. */
function waysOf(
  filter: Filter,
  facts: { total?: number; matchCount: number; users?: number; sorts?: boolean },
) {
  const ways: string[] = []
  const rows = (count: number) => Array.from({ length: count }, () => ['{}'])
  const connection = {
    explain: () => ({ text: '', rows: facts.sorts ? [[1, 0, 0, 'USE TEMP B-TREE FOR ORDER BY']] : [] }),
    prepare(fragment: Sql) {
      const { text } = compile(fragment, '?')
      const way = text.includes('LIMIT 1000)') ? 'walk' : text.includes('EXISTS (') ? 'look up' : 'set'
      return {
        all() {
          ways.push(way)
          return rows(way === 'walk' ? facts.matchCount : 20)
        },
      }
    },
  } as unknown as Connection
  const totals = { of: (name: string) => ({ tasks: 100_000, users: facts.users ?? 1000 })[name] ?? 500 }
  const context = { connection, totals: totals as unknown as Totals, walkedRows: 1000, dialect: sqlite }
  const shape = createGuard(declared)(
    { shape: shapeOf(filter, [], page('none')), args: [0, 20, 10, 'x'] },
    system,
  )
  const slice = { after: undefined, limit: ['20'], offset: undefined, keys: false }
  const size = { rows: () => 20, skipped: () => 0 }
  const lists = new RelatedRows(shape.shape as GuardedList, slice, size, context)
  lists.all({ args: shape.args, userId: null, slots: [] }, facts.total)
  return ways.join(', ')
}

test('a list is walked if enough rows are expected to match, and otherwise read from a set', () => {
  assert.equal(waysOf(ofTeam, { matchCount: 20 }), 'walk')
  assert.equal(waysOf(ofTeam, { matchCount: 19 }), 'walk, set')
  assert.equal(waysOf(ofTeam, { matchCount: 20, sorts: true }), 'set')
  assert.equal(waysOf(ofTeam, { total: 50_000, matchCount: 20 }), 'walk')
  // The matching rows are not among the first rows of the list.
  assert.equal(waysOf(ofTeam, { total: 50_000, matchCount: 3 }), 'walk, set')
  assert.equal(waysOf(ofTeam, { total: 1000, matchCount: 20 }), 'set')
  assert.equal(waysOf(ofTeam, { total: 0, matchCount: 0 }), 'set')
  const ofOwner = (name: string) => along('owner', is(name))
  assert.equal(waysOf(ofOwner('name'), { total: 1000, matchCount: 0, users: 100_000 }), 'set')
  // Building the set would take longer than checking each row, unless an index finds its ids.
  assert.equal(waysOf(ofOwner('name'), { total: 1000, matchCount: 0, users: 1_000_000 }), 'look up')
  assert.equal(waysOf(ofOwner('email'), { total: 1000, matchCount: 0, users: 1_000_000 }), 'set')
  // A set of ids does not help to find rows that do not match.
  assert.equal(waysOf({ kind: 'not', part: ofTeam }, { total: 1000, matchCount: 0 }), 'look up')
})
