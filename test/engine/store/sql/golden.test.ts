/** The SQL generated for reads and writes, per database. Other tests execute it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { orderById, totalOrder } from '../../../../src/engine/plan/order.ts'
import type { CreateShape, ItemShape, ListShape, UpdateShape } from '../../../../src/engine/plan/plan.ts'
import { searchedPageSql } from '../../../../src/engine/store/postgres/read/searched-pages.ts'
import { cursorSlice } from '../../../../src/engine/store/read/lists.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { countSql, itemSql, listSql, parentSql } from '../../../../src/engine/store/sql/read.ts'
import { RowAlias } from '../../../../src/engine/store/sql/row-alias.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { answerSql, changesSql, insertSql, updateSql } from '../../../../src/engine/store/sql/write.ts'
import { arg, compile, name, slot, sql, textLiteral } from '../../../../src/engine/store/sql/writer.ts'
import type { Model } from '../../../../src/model/model.ts'
import { testOfOthers } from '../../../chosen.ts'
import { owner as ownedBy, signedIn, smallModel } from '../../plan/small-model.ts'
import { blog, fields, listOfPosts } from '../blog.ts'
import { prepareAll } from './prepared.ts'

const guard = createGuard(blog)
const ownPost = ownedBy('author_id')

/** The expected statements of PostgreSQL, each with the model of its tables. */
const expected = new Map<string, Model>()

function both(
  make: (dialect: typeof sqlite) => ReturnType<typeof sql>,
  inSqlite: string,
  inPostgres: string,
  model: Model = blog,
): void {
  assert.equal(compile(make(sqlite), '?').text, inSqlite)
  assert.equal(compile(make(postgres), '$').text, inPostgres)
  if (/^(SELECT|INSERT|UPDATE|DELETE) /.test(inPostgres)) expected.set(inPostgres, model)
}

const page = (dialect: typeof sqlite) => ({
  after: undefined,
  limit: dialect.limit(arg(1)),
  offset: arg(0),
  keys: false,
})

test('an item is selected by its id', () => {
  const shape: ItemShape = { kind: 'item', collection: 'posts', id: 0, select: fields('id', 'title') }
  const { shape: item } = guard({ shape, args: [1] }, system)
  both(
    dialect => itemSql(item, dialect),
    `SELECT json_object('id', "t0"."id", 'title', "t0"."title") FROM "posts" AS "t0" WHERE "t0"."id" = ?1`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), ',"title":', coalesce((to_json("t0"."title"))::text, 'null'), '}'))::text FROM "posts" AS "t0" WHERE "t0"."id" = $1`,
  )
})

test('a page in id order needs no subquery on SQLite, and binds limit and offset', () => {
  const { shape: list } = guard({ shape: { ...listOfPosts, select: fields('id') }, args: [0, 1] }, system)
  both(
    dialect => listSql(list, page(dialect), dialect),
    `SELECT json_object('id', "t0"."id") FROM "posts" AS "t0" ORDER BY "t0"."id" LIMIT ?1 + 0 OFFSET ?2`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text FROM (SELECT "t0"."id" FROM "posts" AS "t0" ORDER BY "t0"."id" LIMIT $1 OFFSET $2) AS "t0"`,
  )
})

const byBody: ListShape = {
  ...listOfPosts,
  filter: { kind: 'not', part: { kind: 'compare', field: 'body', operator: 'contains', param: 2 } },
  sort: totalOrder([{ field: 'body', descending: true }]),
  select: fields('title'),
}

test('a sorted list sorts plain columns with null as the smallest value, and the operand of NOT is never unknown', () => {
  const { shape: list } = guard({ shape: byBody, args: [0, 1, 'x'] }, system)
  both(
    dialect => listSql(list, page(dialect), dialect),
    `SELECT json_object('title', "t0"."title") FROM (SELECT "t0"."title" FROM "posts" AS "t0" WHERE NOT ((instr("t0"."body", ?1) > 0) IS TRUE) ORDER BY "t0"."body" DESC, "t0"."id" DESC LIMIT ?2 + 0 OFFSET ?3) AS "t0"`,
    `SELECT (concat('{"title":', coalesce((to_json("t0"."title"))::text, 'null'), '}'))::text FROM (SELECT "t0"."title" FROM "posts" AS "t0" WHERE NOT ((strpos("t0"."body", $1) > 0) IS TRUE) ORDER BY "t0"."body" DESC NULLS LAST, "t0"."id" DESC LIMIT $2 OFFSET $3) AS "t0"`,
  )
  both(
    dialect => countSql(list, dialect),
    `SELECT count(*) FROM "posts" AS "t0" WHERE NOT ((instr("t0"."body", ?1) > 0) IS TRUE)`,
    `SELECT count(*) FROM "posts" AS "t0" WHERE NOT ((strpos("t0"."body", $1) > 0) IS TRUE)`,
  )
})

test('a cursor on the id is a single comparison', () => {
  const shape: ListShape = {
    ...listOfPosts,
    window: { kind: 'cursor', after: [1], limit: 0 },
    select: fields('id'),
  }
  const { shape: list } = guard({ shape, args: [2, 7] }, system)
  const { window } = list
  assert.ok(window.kind === 'cursor')
  both(
    dialect => listSql(list, cursorSlice(list, window, dialect), dialect),
    `SELECT json_object('id', "t0"."id"), "t0"."id" FROM "posts" AS "t0" WHERE "t0"."id" > ?1 ORDER BY "t0"."id" LIMIT ?2 + 0 + 1`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text, "t0"."id" FROM "posts" AS "t0" WHERE "t0"."id" > $1 ORDER BY "t0"."id" LIMIT $2 + 1`,
  )
})

test('a list within a parent filters by the foreign key and checks the parent in a separate query', () => {
  const shape: ListShape = {
    ...listOfPosts,
    within: { collection: 'users', relation: 'posts', id: 2 },
    search: 3,
    select: fields('id'),
  }
  const { shape: list } = guard({ shape, args: [0, 1, 5, 'x'] }, user(1, 'user', 'all'))
  const within = list.within
  assert.ok(within)
  both(
    dialect => countSql(list, dialect),
    `SELECT count(*) FROM "posts" AS "t0" WHERE "t0"."author_id" = ?1 AND "t0"."id" IN (SELECT rowid FROM "_search_posts" WHERE "_search_posts" MATCH ?2)`,
    `SELECT count(*) FROM "posts" AS "t0" WHERE "t0"."author_id" = $1 AND "t0"."id" IN (SELECT "id" FROM "_search_posts" WHERE "_all" @> $2)`,
  )
  both(
    dialect => parentSql(within, dialect),
    `SELECT 1 FROM "users" AS "t0" WHERE "t0"."id" = ?1`,
    `SELECT 1 FROM "users" AS "t0" WHERE "t0"."id" = $1`,
  )
})

test('a search sorted by id starts from the search index, and its count uses only that', () => {
  const shape: ListShape = {
    ...listOfPosts,
    search: 2,
    sort: totalOrder([{ field: 'id', descending: true }]),
    window: { kind: 'cursor', after: [3], limit: 1 },
    select: fields('title'),
  }
  const { shape: list } = guard({ shape, args: [0, 1, 'x', 9] }, system)
  assert.ok(list.window.kind === 'cursor')
  const { window } = list
  both(
    dialect => listSql(list, cursorSlice(list, window, dialect), dialect),
    `SELECT json_object('title', "t0"."title"), "t0_s"."rowid" FROM "_search_posts" AS "t0_s" CROSS JOIN "posts" AS "t0" ON "t0"."id" = "t0_s"."rowid" WHERE "t0_s"."_search_posts" MATCH ?1 AND "t0_s"."rowid" < ?2 ORDER BY "t0_s"."rowid" DESC LIMIT ?3 + 0 + 1`,
    `SELECT (concat('{"title":', coalesce((to_json("t0"."title"))::text, 'null'), '}'))::text, "t0_s"."id" FROM "_search_posts" AS "t0_s" JOIN "posts" AS "t0" ON "t0"."id" = "t0_s"."id" WHERE "t0_s"."_all" @> $1 AND "t0_s"."id" < $2 ORDER BY "t0_s"."id" DESC LIMIT $3 + 1`,
  )
  both(
    dialect => countSql(list, dialect),
    `SELECT count(*) FROM "_search_posts" AS "t0_s" WHERE "t0_s"."_search_posts" MATCH ?1`,
    `SELECT count(*) FROM "_search_posts" AS "t0_s" WHERE "t0_s"."_all" @> $1`,
  )
})

test('a page of a search on PostgreSQL walks past few rows, then uses the index; its values are hidden from the planner', () => {
  const filter = { kind: 'compare', field: 'body', operator: 'ne', param: 3 } as const
  const shape: ListShape = { ...listOfPosts, search: 2, filter, select: fields('title') }
  const { shape: list } = guard({ shape, args: [0, 1, 'x', 'y'] }, system)
  const slice = { after: [slot(1)], limit: ['20'], offset: slot(0), keys: true }
  const { text } = compile(searchedPageSql(list, slice, postgres), '$')
  const words = '(SELECT $3::text[])'
  const post = `CROSS JOIN LATERAL (SELECT * FROM "posts" AS "t0" WHERE "t0"."id" = "t0_s"."id" OFFSET 0) AS "t0"`
  const end = `ORDER BY "t0_s"."id" LIMIT 20 OFFSET (SELECT $5::bigint)`
  const count = `SELECT count(*) FROM "_search_posts" AS "t0_s" ${post} WHERE ("t0"."body" <> $2 AND "t0_s"."_all" @> ${words})`
  const next = `SELECT * FROM "_search_posts" AS "t0_s" WHERE "t0_s"."id" > (SELECT $4::bigint) ORDER BY "t0_s"."id" LIMIT 10000`
  const walk = `SELECT "t0_s"."id" FROM (SELECT * FROM (${next}) AS "t0_s" ORDER BY "t0_s"."id" LIMIT (SELECT "n" / 8 FROM _total)) AS "t0_s" ${post} WHERE ("t0"."body" <> $2 AND "t0_s"."_all" @> ${words}) ${end}`
  const matches = `SELECT "t0_s"."id" FROM "_search_posts" AS "t0_s" WHERE "t0_s"."_all" @> ${words} AND (SELECT count(*) FROM _walk) < 20 OFFSET 0`
  const sorted = `SELECT "t0_s"."id" FROM (${matches}) AS "t0_s" ${post} WHERE ("t0"."body" <> $2 AND TRUE) AND "t0_s"."id" > (SELECT $4::bigint) ${end}`
  const ids = `SELECT "id" FROM _walk WHERE (SELECT count(*) FROM _walk) = 20 UNION ALL (${sorted})`
  const page = `SELECT (concat('{"title":', coalesce((to_json("t0"."title"))::text, 'null'), '}'))::text AS "text", "t0_s"."id" FROM (${ids}) AS "t0_s" ${post}`
  assert.equal(
    text,
    `SELECT _rows."text", _rows."id", _rows."n" FROM (WITH _total AS MATERIALIZED (SELECT coalesce((SELECT $1::bigint), (${count})) AS "n"), _walk AS MATERIALIZED (${walk}) SELECT _page.*, _total."n" FROM _total LEFT JOIN (${page}) AS _page ON TRUE) AS _rows ORDER BY _rows."id"`,
  )
  expected.set(text, blog)
  // The limit is a parameter if there are many different ones.
  for (const limit of [sql`${arg(1)}`, sql`${arg(1)} + 1`])
    expected.set(compile(searchedPageSql(list, { ...slice, limit }, postgres), '$').text, blog)
})

test('related rows are subqueries of one statement, each with its own order and limit', () => {
  const posts = { filter: undefined, sort: orderById, limit: 1 }
  const shape: ItemShape = {
    kind: 'item',
    collection: 'users',
    id: 0,
    select: [{ kind: 'relation', key: 'posts', relation: 'posts', select: fields('title'), list: posts }],
  }
  const { shape: item } = guard({ shape, args: [1, 9] }, user(1, 'user', 'all'))
  both(
    dialect => itemSql(item, dialect),
    `SELECT json_object('posts', (SELECT CASE WHEN _within_answer(count(*) * 12 + total(coalesce(octet_length("t1"."title"), 0))) THEN json_group_array(json_object('title', "t1"."title")) END FROM (SELECT "t1"."title" FROM "posts" AS "t1" WHERE "t1"."author_id" = "t0"."id" ORDER BY "t1"."id" LIMIT ?1 + 0) AS "t1")) FROM "users" AS "t0" WHERE "t0"."id" = ?2`,
    `SELECT (concat('{"posts":', coalesce(((SELECT concat('[', string_agg(concat('{"title":', coalesce((to_json("t1"."title"))::text, 'null'), '}'), ','), ']') FROM (SELECT "t1"."title" FROM "posts" AS "t1" WHERE "t1"."author_id" = "t0"."id" ORDER BY "t1"."id" LIMIT $1) AS "t1"))::text, 'null'), '}'))::text FROM "users" AS "t0" WHERE "t0"."id" = $2`,
  )
})

test('an insert returns the selected fields', () => {
  const shape: CreateShape = {
    kind: 'create',
    collection: 'posts',
    set: [{ field: 'title', param: 0 }],
    computed: [],
    select: fields('id'),
  }
  const { shape: create } = guard({ shape, args: ['x'] }, user(1, 'user', 'all'))
  const set = create.set.slice(0, 1).map(assignment => assignment.field)
  both(
    dialect =>
      insertSql(create.collection, set, [
        answerSql(create.select, create.rows, new RowAlias(dialect, 'posts', 'posts')),
      ]),
    `INSERT INTO "posts" ("title") VALUES (?1) RETURNING json_object('id', "posts"."id")`,
    `INSERT INTO "posts" ("title") VALUES ($1) RETURNING (concat('{"id":', coalesce(("posts"."id")::text, 'null'), '}'))::text`,
  )
})

test('names and literals are quoted, and equal binds share a placeholder', () => {
  const text = compile(sql`${name('a"b')} = ${slot(0)} OR ${textLiteral("it's")} = ${slot(0)}`, '?')
  assert.equal(text.text, `"a""b" = ?1 OR 'it''s' = ?1`)
  assert.deepEqual(text.binds, [{ from: 'slot', slot: 0 }])
})

const update: UpdateShape = {
  kind: 'update',
  mode: 'replace',
  collection: 'posts',
  id: 0,
  set: [{ field: 'title', param: 1 }],
  ifMatch: undefined,
  select: fields('id'),
}

test('a field keeps its value in the rows where the caller cannot write it', () => {
  const model = smallModel({ fields: { 'posts.note': { access: { read: signedIn, write: ownPost } } } })
  const { set } = createGuard(model)({ shape: update, args: [1, 'a'] }, user(1, 'user', 'all')).shape
  const posts = model.collections.get('posts')
  assert.ok(posts)
  const assignments = set.filter(({ field }) => field.name === 'title' || field.name === 'note')
  both(
    dialect => updateSql(posts, assignments, arg(0), [sql`1`], dialect),
    `UPDATE "posts" SET "title" = ?1, "note" = CASE WHEN "posts"."author_id" = ?2 THEN ?3 ELSE "posts"."note" END WHERE "posts"."id" = ?4 RETURNING 1`,
    `UPDATE "posts" SET "title" = $1, "note" = CASE WHEN "posts"."author_id" = $2 THEN $3 ELSE "posts"."note" END WHERE "posts"."id" = $4 RETURNING 1`,
    model,
  )
})

test('setting a field that the caller cannot read counts as a change, whatever its value', () => {
  const model = smallModel({ fields: { 'posts.note': { access: { read: ownPost, write: signedIn } } } })
  const { set } = createGuard(model)({ shape: update, args: [1, 'a'] }, user(1, 'user', 'all')).shape
  const assignmentTo = (name: string) => set.find(({ field }) => field.name === name) ?? assert.fail(name)
  both(
    dialect => changesSql(assignmentTo('title'), 0, new RowAlias(dialect, 'posts')),
    `NOT ("t0"."title" IS ?1)`,
    `NOT ("t0"."title" IS NOT DISTINCT FROM $1)`,
  )
  both(
    dialect => changesSql(assignmentTo('note'), 1, new RowAlias(dialect, 'posts')),
    `NOT ("t0"."note" IS ?1 AND ("t0"."author_id" = ?2) IS TRUE)`,
    `NOT ("t0"."note" IS NOT DISTINCT FROM $1 AND ("t0"."author_id" = $2) IS TRUE)`,
  )
  both(
    dialect => changesSql(assignmentTo('pin'), 2, new RowAlias(dialect, 'posts')),
    `NOT ("t0"."pin" IS ?1 AND FALSE)`,
    `NOT ("t0"."pin" IS NOT DISTINCT FROM $1 AND FALSE)`,
  )
})

testOfOthers('PostgreSQL accepts every expected statement', async () => {
  assert.ok(expected.size > 8)
  for (const model of new Set(expected.values())) {
    await prepareAll(
      model,
      [...expected].filter(([, owner]) => owner === model).map(([text]) => text),
    )
  }
})
