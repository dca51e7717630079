/** Composite reads: the single statement per database, and what the guard omits. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous, system, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { orderById, totalOrder } from '../../../../src/engine/plan/order.ts'
import type { CompositeShape, Root, Selected } from '../../../../src/engine/plan/plan.ts'
import { compositeSql } from '../../../../src/engine/store/sql/composite.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import { compile } from '../../../../src/engine/store/sql/writer.ts'
import { admin, either, owner, signedIn, smallModel } from '../../plan/small-model.ts'

const open = createGuard(smallModel())
const ann = user(1, 'user', 'all')
const nobody = anonymous('192.0.2.1')

const field = (key: string): Selected => ({ kind: 'field', key, field: key })
const id: Selected = { kind: 'field', key: 'id', field: 'id', as: 'string' }
const composite = (...roots: Root[]): CompositeShape => ({ kind: 'composite', roots })

function texts(shape: CompositeShape, args: readonly number[], guard = open, who = system) {
  const guarded = guard({ shape, args }, who)
  return {
    sqlite: compile(compositeSql(guarded.shape, sqlite), '?').text,
    postgres: compile(compositeSql(guarded.shape, postgres), '$').text,
  }
}

/** SQLite's expression for a value of any length, and for a list of rows with so many bytes: see `Dialect.counted`. */
const counted = (column: string, json = column) =>
  `CASE WHEN ${column} IS NULL OR octet_length(${column}) <= 256 OR _within_answer(octet_length(${column})) THEN ${json} END`
const countedRows = (bytes: string, array: string) => `CASE WHEN _within_answer(${bytes}) THEN ${array} END`

const everyPost = { filter: undefined, sort: orderById, limit: 1 } as const

test('several roots are one statement with one subquery each', () => {
  const shape = composite(
    { kind: 'item', key: 'user', collection: 'users', id: 0, select: [id, field('name')] },
    { kind: 'list', key: 'posts', collection: 'posts', list: everyPost, select: [field('title')] },
  )
  assert.deepEqual(texts(shape, [1, 10]), {
    sqlite: `SELECT json_object('user', (SELECT json_object('id', CAST("t1"."id" AS TEXT), 'name', ${counted('"t1"."name"')}) FROM "users" AS "t1" WHERE "t1"."id" = ?1), 'posts', (SELECT ${countedRows(`count(*) * 12 + total(coalesce(iif(octet_length("t2"."title") <= 256, octet_length("t2"."title"), 0), 0))`, `json_group_array(json_object('title', ${counted('"t2"."title"')}))`)} FROM (SELECT "t2"."title" FROM "posts" AS "t2" ORDER BY "t2"."id" LIMIT ?2 + 0) AS "t2"))`,
    postgres: `SELECT (concat('{"user":', coalesce(((SELECT concat('{"id":', coalesce((to_json(CAST("t1"."id" AS TEXT)))::text, 'null'), ',"name":', coalesce((to_json("t1"."name"))::text, 'null'), '}') FROM "users" AS "t1" WHERE "t1"."id" = $1))::text, 'null'), ',"posts":', coalesce(((SELECT concat('[', string_agg(concat('{"title":', coalesce((to_json("t2"."title"))::text, 'null'), '}'), ','), ']') FROM (SELECT "t2"."title" FROM "posts" AS "t2" ORDER BY "t2"."id" LIMIT $2) AS "t2"))::text, 'null'), '}'))::text`,
  })
})

test('a related item is looked up, unless only its id is selected', () => {
  const author = (select: readonly Selected[]): Root => ({
    kind: 'item',
    key: 'post',
    collection: 'posts',
    id: 0,
    select: [{ kind: 'relation', key: 'author', relation: 'author', select, list: undefined }],
  })
  assert.equal(
    texts(composite(author([id, field('name')])), [1]).sqlite,
    `SELECT json_object('post', (SELECT json_object('author', (SELECT json_object('id', CAST("t2"."id" AS TEXT), 'name', ${counted('"t2"."name"')}) FROM "users" AS "t2" WHERE "t2"."id" = "t1"."author_id")) FROM "posts" AS "t1" WHERE "t1"."id" = ?1))`,
  )
  assert.equal(
    texts(composite(author([id])), [1]).sqlite,
    `SELECT json_object('post', (SELECT json_object('author', CASE WHEN "t1"."author_id" IS NOT NULL THEN json_object('id', CAST("t1"."author_id" AS TEXT)) END) FROM "posts" AS "t1" WHERE "t1"."id" = ?1))`,
  )
  // The item that an event references may have been deleted.
  assert.match(
    texts(composite({ ...author([id]), event: { row: 1, facts: 2, at: 3 } } as Root), [1, 0]).sqlite,
    /FROM "users" AS "t\d" WHERE/,
  )
  // If only some rows are readable, the row has to be looked up.
  const guard = createGuard(smallModel({ access: { users: { read: owner('id') } } }))
  assert.match(texts(composite(author([id])), [1], guard, ann).sqlite, /FROM "users" AS "t2" WHERE/)
})

test('the prefix of an id is quoted as a literal', () => {
  const prefixed: Selected = { kind: 'field', key: 'n', field: 'id', as: { prefix: "it's:" } }
  const author = {
    kind: 'relation',
    key: 'a',
    relation: 'author',
    select: [prefixed],
    list: undefined,
  } as const
  const shape = composite({ kind: 'item', key: 'p', collection: 'posts', id: 0, select: [prefixed, author] })
  assert.deepEqual(texts(shape, [1]), {
    sqlite: `SELECT json_object('p', (SELECT json_object('n', 'it''s:' || CAST("t1"."id" AS TEXT), 'a', CASE WHEN "t1"."author_id" IS NOT NULL THEN json_object('n', 'it''s:' || CAST("t1"."author_id" AS TEXT)) END) FROM "posts" AS "t1" WHERE "t1"."id" = ?1))`,
    postgres: `SELECT (concat('{"p":', coalesce(((SELECT concat('{"n":', coalesce((to_json('it''s:' || CAST("t1"."id" AS TEXT)))::text, 'null'), ',"a":', coalesce((CASE WHEN "t1"."author_id" IS NOT NULL THEN concat('{"n":', coalesce((to_json('it''s:' || CAST("t1"."author_id" AS TEXT)))::text, 'null'), '}') END)::text, 'null'), '}') FROM "posts" AS "t1" WHERE "t1"."id" = $1))::text, 'null'), '}'))::text`,
  })
})

test('a connection returns the sort keys of its rows and the total', () => {
  const list = {
    filter: { kind: 'compare', field: 'rank', operator: 'gt', param: 2 },
    sort: totalOrder([{ field: 'title', descending: false }]),
    after: [3, 4],
    limit: 1,
    connection: { total: true },
  } as const
  const shape = composite({ kind: 'list', key: 'c', collection: 'posts', list, select: [id] })
  const { sqlite: text } = texts(shape, [0, 11, 5, 0, 7])
  assert.equal(
    text,
    `SELECT json_object('c', json_object('rows', (SELECT ${countedRows('count(*) * 9', `json_group_array(json_object('node', json_object('id', CAST("t1"."id" AS TEXT)), 'keys', json_array(${counted('"t1"."title"')}, "t1"."id")))`)} FROM (SELECT "t1"."id", "t1"."title" FROM "posts" AS "t1" WHERE "t1"."rank" > ?1 AND ("t1"."title", "t1"."id") > (?2, ?3) ORDER BY "t1"."title", "t1"."id" LIMIT ?4 + 0) AS "t1"), 'total', (SELECT count(*) FROM "posts" AS "t2" WHERE "t2"."rank" > ?1)))`,
  )
})

test('the fields of an event replace those of the stored row, except for fields that events omit', () => {
  const guard = createGuard(smallModel({ access: { posts: { read: owner('pin') } } }))
  const shape = composite({
    kind: 'item',
    key: 'p',
    collection: 'posts',
    id: 0,
    event: { row: 1, facts: 2, at: 3 },
    select: [field('title'), field('extra')],
  })
  assert.equal(
    texts(shape, [1, 0], guard, ann).sqlite,
    `SELECT json_object('p', (SELECT json_object('title', ${counted('"t1"."title"')}, 'extra', ${counted('"t1"."extra"', 'json("t1"."extra")')}) FROM (SELECT ?1 ->> '$.title' AS "title", ?1 -> '$.extra' AS "extra", ?1 ->> '$.id' AS "id", (SELECT "pin" FROM "posts" WHERE "id" = ?2) AS "pin") AS "t1" WHERE "t1"."id" = ?2 AND "t1"."pin" = ?3))`,
  )
})

test('a refused field, relation or root is omitted and reported with its path', () => {
  const guard = createGuard(
    smallModel({
      access: { users: { read: signedIn }, tags: { read: admin } },
      fields: { 'posts.note': { access: { read: admin, write: admin } } },
    }),
  )
  const shape = composite(
    { kind: 'item', key: 'me', collection: 'users', id: 0, select: [id] },
    {
      kind: 'list',
      key: 'posts',
      collection: 'posts',
      list: everyPost,
      select: [
        field('note'),
        field('title'),
        { kind: 'relation', key: 'by', relation: 'author', select: [id], list: undefined },
      ],
    },
    { kind: 'list', key: 'tags', collection: 'tags', list: everyPost, select: [id] },
  )
  const refusalsOf = (who: typeof ann) =>
    guard({ shape, args: [1, 1] }, who).shape.refusals.map(({ keys, error }) => [keys.join('.'), error.code])
  assert.deepEqual(refusalsOf(nobody), [
    ['me', 'UNAUTHORIZED'],
    ['posts.note', 'UNAUTHORIZED'],
    ['posts.by', 'UNAUTHORIZED'],
    ['tags', 'UNAUTHORIZED'],
  ])
  assert.deepEqual(refusalsOf(ann), [
    ['posts.note', 'FORBIDDEN'],
    ['tags', 'FORBIDDEN'],
  ])
  assert.deepEqual(refusalsOf(user(2, 'admin', 'all')), [])
  const { roots, reads } = guard({ shape, args: [1, 1] }, nobody).shape
  assert.deepEqual(
    roots.map(root => [root.key, 'select' in root && root.select.map(selection => selection.key)]),
    [['posts', ['title']]],
  )
  assert.deepEqual(reads, ['posts'])
})

test('an answer is personal only if a rule compares with the user', () => {
  const mine = createGuard(smallModel({ access: { posts: { read: either(admin, owner('author_id')) } } }))
  const shape = composite({ kind: 'list', key: 'posts', collection: 'posts', list: everyPost, select: [id] })
  const personal = (guard: typeof mine, who: typeof ann) => guard({ shape, args: [0, 1] }, who).shape.personal
  assert.equal(personal(mine, ann), true)
  assert.equal(personal(mine, user(2, 'admin', 'all')), false)
  assert.equal(personal(open, ann), false)
})
