/** The SQL of rules with times, other fields, fields of the caller and claims, and its use of indexes. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import pg from 'pg'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { GuardedList } from '../../../../src/engine/plan/guarded.ts'
import { conditionSql } from '../../../../src/engine/store/sql/condition.ts'
import type { Dialect } from '../../../../src/engine/store/sql/dialect.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { RowAlias } from '../../../../src/engine/store/sql/row-alias.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { compile, sql } from '../../../../src/engine/store/sql/writer.ts'
import { AnswerSize } from '../../../../src/engine/store/sqlite/read/answer-size.ts'
import { schemaSql } from '../../../../src/engine/store/sqlite/sqlite.ts'
import { noSlots, parameterValue } from '../../../../src/engine/store/values.ts'
import {
  caller,
  checkModel,
  claim,
  collection,
  datetime,
  field,
  index,
  model,
  not,
  now,
  relation,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'
import type { Rule } from '../../../../src/model/rule/rule.ts'
import { testOfOthers } from '../../../chosen.ts'
import { preparedDatabase } from '../../../setups/databases/prepared.ts'

const access = { read: signedIn, create: signedIn }

const declared = checkModel(
  model({
    users: users({ fields: { team: text({ optional: true }) } }),
    projects: collection({
      fields: { name: text(), owner_id: relation('users', { inverse: 'projects' }) },
      access,
    }),
    tasks: collection({
      fields: {
        title: text(),
        team: text({ optional: true }),
        due_at: datetime(),
        project_id: relation('projects', { inverse: 'tasks' }),
        assignee_id: relation('users', { inverse: 'tasks' }),
        partner_id: relation('oauth_apps', { optional: true }),
      },
      indexes: [index('due_at'), index('team')],
      access,
    }),
  }),
)

/** The list of tasks with this read rule, for a user. */
function listOf(read: Rule): GuardedList {
  const tasks = declared.collections.get('tasks')
  assert.ok(tasks)
  const changed = { ...tasks, access: { ...tasks.access, read } }
  const guard = createGuard({
    ...declared,
    collections: new Map([...declared.collections, ['tasks', changed]]),
  })
  return guard(
    {
      shape: {
        kind: 'list',
        collection: 'tasks',
        within: undefined,
        filter: undefined,
        search: undefined,
        sort: [{ field: 'id', descending: false }] as never,
        window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
        select: [],
      },
      args: [0, 10],
    },
    user(3, 'user', 'all'),
  ).shape
}

function statement(rule: Rule, dialect: Dialect) {
  const row = new RowAlias(dialect, 'tasks')
  return compile(
    sql`SELECT "t0"."id" FROM "tasks" AS "t0" WHERE ${conditionSql(listOf(rule).rows, row)}`,
    dialect.sign,
  )
}

const dayMs = 86_400_000
const inAWeek = `coalesce($1::text, to_char((transaction_timestamp() + interval '${7 * dayMs} milliseconds') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`
const confirmed = (verified: string, email: string, id: string) =>
  `(SELECT ${verified} AND ${email} = "t1"."email" FROM "_records" WHERE "_records"."kind" = 'AccountAddress' AND "_records"."id" = CAST(CAST(${id} AS BIGINT) AS TEXT))`

/** The title, the rule, its SQL on SQLite and on PostgreSQL, and the index that finds its rows. */
const cases: readonly (readonly [string, { readonly rule: Rule }, string, string, string?])[] = [
  [
    'the time is one parameter',
    field('due_at').lt(now.plus({ weeks: 1 })),
    `"t0"."due_at" < ?1`,
    `"t0"."due_at" < ${inAWeek}`,
    'tasks__due_at__index',
  ],
  [
    'a field of the caller is read once',
    field('team').eq(caller('team')),
    `"t0"."team" = (SELECT "t1"."team" FROM "users" AS "t1" WHERE "t1"."id" = ?1)`,
    `"t0"."team" = (SELECT "t1"."team" FROM "users" AS "t1" WHERE "t1"."id" = $1)`,
    'tasks__team__index',
  ],
  [
    'the email address of the caller is used only if it is confirmed',
    field('team').eq(caller('email')),
    `"t0"."team" = (SELECT "t1"."email" FROM "users" AS "t1" WHERE "t1"."id" = ?1 AND ${confirmed(`"_records"."payload" ->> '$.verified'`, `"_records"."payload" ->> '$.email'`, '?1')})`,
    `"t0"."team" = (SELECT "t1"."email" FROM "users" AS "t1" WHERE "t1"."id" = $1 AND ${confirmed(`("_records"."payload"::json ->> 'verified')::boolean`, `"_records"."payload"::json ->> 'email'`, '$1')})`,
    'tasks__team__index',
  ],
  [
    'a claim is a parameter',
    field('team').eq(claim('team')),
    `"t0"."team" = ?1`,
    `"t0"."team" = $1`,
    'tasks__team__index',
  ],
  [
    'the app of the caller is a parameter',
    field('partner_id').eq(caller('app.id')),
    `"t0"."partner_id" = ?1`,
    `"t0"."partner_id" = $1`,
  ],
  [
    'the operand of NOT is never unknown',
    not(field('team').eq(claim('team'))),
    `NOT (("t0"."team" = ?1) IS TRUE)`,
    `NOT (("t0"."team" = $1) IS TRUE)`,
  ],
  [
    'a field is compared with a field of a related row',
    field('assignee_id').eq(field('project.owner_id')),
    `"t0"."assignee_id" = (SELECT "t1"."owner_id" FROM "projects" AS "t1" WHERE "t1"."id" = "t0"."project_id")`,
    `"t0"."assignee_id" = (SELECT "t1"."owner_id" FROM "projects" AS "t1" WHERE "t1"."id" = "t0"."project_id")`,
  ],
  [
    'a path along several relations is joined, under NOT too',
    not(field('project.owner.team').eq(field('team'))),
    `NOT (((SELECT "t2"."team" FROM "projects" AS "t1" JOIN "users" AS "t2" ON "t2"."id" = "t1"."owner_id" WHERE "t1"."id" = "t0"."project_id") = "t0"."team") IS TRUE)`,
    `NOT (((SELECT "t2"."team" FROM "projects" AS "t1" JOIN "users" AS "t2" ON "t2"."id" = "t1"."owner_id" WHERE "t1"."id" = "t0"."project_id") = "t0"."team") IS TRUE)`,
  ],
  [
    'a field at the end of a path is compared with a value',
    field('project.name').ne('a'),
    `EXISTS (SELECT 1 FROM "projects" AS "t1" WHERE "t1"."id" = "t0"."project_id" AND "t1"."name" <> ?1)`,
    `EXISTS (SELECT 1 FROM "projects" AS "t1" WHERE "t1"."id" = "t0"."project_id" AND "t1"."name" <> $1)`,
  ],
]

for (const [name, { rule }, inSqlite, inPostgres] of cases) {
  test(name, () => {
    assert.equal(statement(rule, sqlite).text.split(' WHERE ').slice(1).join(' WHERE '), inSqlite)
    assert.equal(statement(rule, postgres).text.split(' WHERE ').slice(1).join(' WHERE '), inPostgres)
  })
}

const claims = { key: '', values: new Map([['team', 'red']]) }
const asked = { claims, app: { id: 7, name: 'Seven' } }
const inputs = { args: [], userId: 3, slots: noSlots, caller: asked, now: Date.parse('2026-01-01T12:00:00Z') }

test('SQLite finds the rows by the index on the compared field', () => {
  const database = new DatabaseSync(':memory:')
  // The statements count the bytes of their answers.
  new AnswerSize(database)
  database.exec(schemaSql(declared))
  for (const [name, { rule }, , , expected] of cases) {
    const { text } = statement(rule, sqlite)
    const plan = JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${text}`).all())
    if (expected !== undefined)
      assert.ok(plan.includes(`SEARCH t0 USING COVERING INDEX ${expected}`), `${name}: ${plan}`)
  }
  database.close()
})

testOfOthers(
  'PostgreSQL accepts the statements and finds the rows by the index on the compared field',
  async () => {
    const { url, drop } = await preparedDatabase(declared)
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query('SET enable_seqscan = off; SET enable_bitmapscan = off')
      for (const [name, { rule }, , , expected] of cases) {
        const { text, binds } = statement(rule, postgres)
        const values = binds.map(bind => parameterValue(bind, { ...inputs, now: undefined }))
        const { rows } = await client.query(`EXPLAIN ${text}`, values)
        const plan = JSON.stringify(rows)
        const leads = new RegExp(`Index (Only )?Scan using ${expected} on tasks t0 .*Index Cond`)
        if (expected !== undefined) assert.match(plan, leads, name)
      }
    } finally {
      await client.end()
      await drop()
    }
  },
)

test('a rule compares with the shifted time of the request, or with the clock of the database', () => {
  const [at] = statement(field('due_at').gte(now.minus({ minutes: 15 })).rule, sqlite).binds
  assert.ok(at)
  assert.equal(parameterValue(at, inputs), '2026-01-01T11:45:00.000Z')
  // Null: the statement uses the clock of the database.
  assert.equal(parameterValue(at, { ...inputs, now: undefined }), null)
})
