/** More generated SQL per database: positions among nulls, many-to-many relations and writes; and SQLite's use of indexes. */

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { system, user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { totalOrder } from '../../../../src/engine/plan/order.ts'
import type { ItemShape, ListShape, Sort, UpdateShape } from '../../../../src/engine/plan/plan.ts'
import { postgres } from '../../../../src/engine/store/sql/postgres.ts'
import { countSql, itemSql, listSql, type Slice, walkSql } from '../../../../src/engine/store/sql/read.ts'
import { RowAlias } from '../../../../src/engine/store/sql/row-alias.ts'
import { sqlite } from '../../../../src/engine/store/sql/sqlite.ts'
import {
  changesSql,
  checksSql,
  deleteSql,
  referencesSql,
  referringSql,
  rowSql,
  updateSql,
} from '../../../../src/engine/store/sql/write.ts'
import { arg, compile, type Sql, slot, sql } from '../../../../src/engine/store/sql/writer.ts'
import { schemaSql } from '../../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  collection,
  index,
  integer,
  manyToMany,
  model,
  owner,
  relation,
  string,
  text,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { testOfOthers } from '../../../chosen.ts'
import { Client, fields, listOfPosts } from '../blog.ts'
import { databaseKinds } from '../databases.ts'
import { prepareAll } from './prepared.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

const notes = checkModel(
  model({
    notes: collection({
      fields: {
        title: string(),
        hint: text({ optional: true }),
        rank: integer(),
        owner_id: relation('users', { inverse: 'notes' }),
        folder_id: relation('folders', { optional: true, inverse: 'notes' }),
        secret: string({ optional: true, access: { write: owner('owner_id') } }),
      },
      relations: { tags: manyToMany('tags', { through: 'note_tags', from: 'note_id', to: 'tag_id' }) },
      indexes: [index('title'), index('folder_id', 'rank')],
      access: { ...access, update: owner('owner_id') },
    }),
    folders: collection({ access, fields: { name: string() } }),
    tags: collection({ access, fields: { name: string() } }),
    note_tags: collection({
      access,
      fields: {
        note_id: relation('notes', { inverse: 'note_tags', onDelete: 'cascade' }),
        tag_id: relation('tags', { onDelete: 'cascade' }),
      },
    }),
  }),
)
const guard = createGuard(notes)
const ann = user(1, 'user', 'all')

/** The expected statements of PostgreSQL. */
const expected = new Set<string>()

function both(make: (dialect: typeof sqlite) => Sql, inSqlite: string, inPostgres: string): void {
  assert.equal(compile(make(sqlite), '?').text, inSqlite)
  assert.equal(compile(make(postgres), '$').text, inPostgres)
  if (/^(SELECT|INSERT|UPDATE|DELETE) /.test(inPostgres)) expected.add(inPostgres)
}

const list: ListShape = { ...listOfPosts, collection: 'notes', select: fields('id') }

function guardListOf(shape: Partial<ListShape>) {
  return guard({ shape: { ...list, ...shape }, args: [0, 1, 2, 3, 4] }, system).shape
}

/** The list after a position with a value for each sort key. */
function afterPosition(sort: readonly Sort[]): [ReturnType<typeof guardListOf>, Slice] {
  const shape = guardListOf({ sort: totalOrder(sort) })
  const after = shape.sort.map((_, index) => slot(index))
  return [shape, { after, limit: ['9'], offset: undefined, keys: false }]
}

const up = (field: string): Sort => ({ field, descending: false })
const down = (field: string): Sort => ({ field, descending: true })

test('a position whose keys share a direction and are never null is one row comparison on PostgreSQL and ranges on SQLite', () => {
  both(
    dialect => listSql(...afterPosition([down('rank'), down('title')]), dialect),
    `SELECT json_object('id', "t0"."id") FROM (SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" < ?1 UNION ALL SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" = ?1 AND "t0"."title" < ?2 UNION ALL SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" = ?1 AND "t0"."title" = ?2 AND "t0"."id" < ?3 ORDER BY 2 DESC, 3 DESC, 1 DESC LIMIT 9) AS "t0"`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text FROM (SELECT "t0"."id" FROM "notes" AS "t0" WHERE ("t0"."rank", "t0"."title", "t0"."id") < ($1, $2, $3) ORDER BY "t0"."rank" DESC, "t0"."title" DESC, "t0"."id" DESC LIMIT 9) AS "t0"`,
  )
})

test('a position whose keys have different directions is a union of ranges', () => {
  both(
    dialect => listSql(...afterPosition([down('rank'), up('title')]), dialect),
    `SELECT json_object('id', "t0"."id") FROM (SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" < ?1 UNION ALL SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" = ?1 AND "t0"."title" > ?2 UNION ALL SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" = ?1 AND "t0"."title" = ?2 AND "t0"."id" > ?3 ORDER BY 2 DESC, 3, 1 LIMIT 9) AS "t0"`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text FROM ((SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" < $1 ORDER BY "t0"."rank" DESC, "t0"."title", "t0"."id" LIMIT 9) UNION ALL (SELECT "t0"."id", "t0"."rank", "t0"."title" FROM "notes" AS "t0" WHERE "t0"."rank" = $1 AND ("t0"."title", "t0"."id") > ($2, $3) ORDER BY "t0"."rank" DESC, "t0"."title", "t0"."id" LIMIT 9) ORDER BY 2 DESC, 3, 1 LIMIT 9) AS "t0"`,
  )
})

test('a position on an unindexed key treats null as the smallest value and as equal to null', () => {
  both(
    dialect => listSql(...afterPosition([up('hint')]), dialect),
    `SELECT json_object('id', "t0"."id") FROM (SELECT "t0"."id" FROM "notes" AS "t0" WHERE ((("t0"."hint" > ?1 OR ("t0"."hint" IS NOT NULL AND ?1 IS NULL))) OR ("t0"."hint" IS ?1 AND "t0"."id" > ?2)) ORDER BY "t0"."hint", "t0"."id" LIMIT 9) AS "t0"`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text FROM (SELECT "t0"."id" FROM "notes" AS "t0" WHERE ((("t0"."hint" > $1 OR ("t0"."hint" IS NOT NULL AND $1 IS NULL))) OR ("t0"."hint" IS NOT DISTINCT FROM $1 AND "t0"."id" > $2)) ORDER BY "t0"."hint" NULLS FIRST, "t0"."id" LIMIT 9) AS "t0"`,
  )
  both(
    dialect => listSql(...afterPosition([down('hint')]), dialect),
    `SELECT json_object('id', "t0"."id") FROM (SELECT "t0"."id" FROM "notes" AS "t0" WHERE ((("t0"."hint" < ?1 OR ("t0"."hint" IS NULL AND ?1 IS NOT NULL))) OR ("t0"."hint" IS ?1 AND "t0"."id" < ?2)) ORDER BY "t0"."hint" DESC, "t0"."id" DESC LIMIT 9) AS "t0"`,
    `SELECT (concat('{"id":', coalesce(("t0"."id")::text, 'null'), '}'))::text FROM (SELECT "t0"."id" FROM "notes" AS "t0" WHERE ((("t0"."hint" < $1 OR ("t0"."hint" IS NULL AND $1 IS NOT NULL))) OR ("t0"."hint" IS NOT DISTINCT FROM $1 AND "t0"."id" < $2)) ORDER BY "t0"."hint" DESC NULLS LAST, "t0"."id" DESC LIMIT 9) AS "t0"`,
  )
})

test('a many-to-many list, nested list and filter each use the join collection', () => {
  const tags = guardListOf({ collection: 'tags', within: { collection: 'notes', relation: 'tags', id: 2 } })
  both(
    dialect => countSql(tags, dialect),
    `SELECT count(*) FROM "tags" AS "t0" WHERE "t0"."id" IN (SELECT "t1"."tag_id" FROM "note_tags" AS "t1" WHERE "t1"."note_id" = ?1)`,
    `SELECT count(*) FROM "tags" AS "t0" WHERE "t0"."id" IN (SELECT "t1"."tag_id" FROM "note_tags" AS "t1" WHERE "t1"."note_id" = $1)`,
  )
  const nested = { filter: undefined, sort: totalOrder([down('name')]), limit: 1 }
  const shape: ItemShape = {
    kind: 'item',
    collection: 'notes',
    id: 0,
    select: [{ kind: 'relation', key: 'tags', relation: 'tags', select: fields('name'), list: nested }],
  }
  both(
    dialect => itemSql(guard({ shape, args: [1, 5] }, system).shape, dialect),
    `SELECT json_object('tags', (SELECT CASE WHEN _within_answer(count(*) * 11 + total(coalesce(octet_length("t1"."name"), 0))) THEN json_group_array(json_object('name', "t1"."name")) END FROM (SELECT "t1"."name" FROM "tags" AS "t1" WHERE "t1"."id" IN (SELECT "t2"."tag_id" FROM "note_tags" AS "t2" WHERE "t2"."note_id" = "t0"."id") ORDER BY "t1"."name" DESC, "t1"."id" DESC LIMIT ?1 + 0) AS "t1")) FROM "notes" AS "t0" WHERE "t0"."id" = ?2`,
    `SELECT (concat('{"tags":', coalesce(((SELECT concat('[', string_agg(concat('{"name":', coalesce((to_json("t1"."name"))::text, 'null'), '}'), ','), ']') FROM (SELECT "t1"."name" FROM "tags" AS "t1" WHERE "t1"."id" IN (SELECT "t2"."tag_id" FROM "note_tags" AS "t2" WHERE "t2"."note_id" = "t0"."id") ORDER BY "t1"."name" DESC, "t1"."id" DESC LIMIT $1) AS "t1"))::text, 'null'), '}'))::text FROM "notes" AS "t0" WHERE "t0"."id" = $2`,
  )
  const byName = { kind: 'compare', field: 'name', operator: 'in', param: 2 } as const
  const tagged = guardListOf({ filter: { kind: 'related', relation: 'tags', filter: byName } })
  both(
    dialect => countSql(tagged, dialect),
    `SELECT count(*) FROM "notes" AS "t0" WHERE EXISTS (SELECT 1 FROM "note_tags" AS "t2" JOIN "tags" AS "t1" ON "t1"."id" = "t2"."tag_id" WHERE "t2"."note_id" = "t0"."id" AND "t1"."name" IN (SELECT value FROM json_each(?1)))`,
    `SELECT count(*) FROM "notes" AS "t0" WHERE EXISTS (SELECT 1 FROM "note_tags" AS "t2" JOIN "tags" AS "t1" ON "t1"."id" = "t2"."tag_id" WHERE "t2"."note_id" = "t0"."id" AND "t1"."name" = ANY ($1))`,
  )
})

test('SQLite checks related rows by sets of ids, except under NOT, or row by row along the first rows of a list', () => {
  const byName = { kind: 'compare', field: 'name', operator: 'eq', param: 2 } as const
  const folder = { kind: 'related', relation: 'folder', filter: byName } as const
  const tags = { kind: 'related', relation: 'tags', filter: byName } as const
  const ofFolder = `"t0"."folder_id" IN (SELECT "t1"."id" FROM "folders" AS "t1" WHERE "t1"."name" = ?1)`
  const set = (shape: Partial<ListShape>) => compile(countSql(guardListOf(shape), sqlite, 'set'), '?').text
  assert.equal(set({ filter: folder }), `SELECT count(*) FROM "notes" AS "t0" WHERE ${ofFolder}`)
  assert.equal(
    set({ filter: { kind: 'or', parts: [folder, tags] } }),
    `SELECT count(*) FROM "notes" AS "t0" WHERE (${ofFolder} OR "t0"."id" IN (SELECT "t3"."note_id" FROM "note_tags" AS "t3" WHERE "t3"."tag_id" IN (SELECT "t2"."id" FROM "tags" AS "t2" WHERE "t2"."name" = ?1)))`,
  )
  const notes = { kind: 'related', relation: 'notes', filter: { ...byName, field: 'title' } } as const
  assert.equal(
    set({ collection: 'folders', filter: notes, select: fields('id') }),
    'SELECT count(*) FROM "folders" AS "t0" WHERE "t0"."id" IN (SELECT "t1"."folder_id" FROM "notes" AS "t1" WHERE "t1"."title" = ?1)',
  )
  assert.equal(
    set({ filter: { kind: 'not', part: folder } }),
    `SELECT count(*) FROM "notes" AS "t0" WHERE NOT (EXISTS (SELECT 1 FROM "folders" AS "t1" WHERE "t1"."id" = "t0"."folder_id" AND "t1"."name" = ?1))`,
  )
  const list = guardListOf({ filter: folder, sort: totalOrder([down('created_at')]), select: fields('id') })
  const sqlFor = (sort: Sort) => {
    const shape = guardListOf({ filter: folder, sort: totalOrder([sort]), select: fields('id') })
    const limited = { after: undefined, limit: ['20'], offset: undefined, keys: false }
    return compile(listSql(shape, { ...limited, related: 'set' }, sqlite), '?').text
  }
  assert.ok(sqlFor(down('created_at')).includes(`WHERE ${ofFolder} AND "t0"."created_at" >= '' ORDER BY`))
  assert.ok(sqlFor(down('title')).includes(`WHERE ${ofFolder} ORDER BY`))
  const slice = { after: undefined, limit: ['20'], offset: undefined, keys: false }
  assert.equal(
    compile(walkSql(list, slice, 1000, sqlite), '?').text,
    `SELECT json_object('id', "t0"."id") FROM (SELECT "t0"."id", "t0"."folder_id" FROM "notes" AS "t0" ORDER BY "t0"."created_at" DESC, "t0"."id" DESC LIMIT 1000) AS "t0" WHERE EXISTS (SELECT 1 FROM "folders" AS "t1" WHERE "t1"."id" = "t0"."folder_id" AND "t1"."name" = ?1 LIMIT 1) LIMIT 20`,
  )
})

test('an update sets its fields, and its checks cover rules, changes and references', () => {
  const shape: UpdateShape = {
    kind: 'update',
    mode: 'merge',
    collection: 'notes',
    id: 0,
    set: [
      { field: 'title', param: 1 },
      { field: 'folder_id', param: 2 },
    ],
    ifMatch: undefined,
    select: fields('id'),
  }
  const { shape: update } = guard({ shape, args: [1, 'x', 2] }, ann)
  both(
    dialect => updateSql(update.collection, update.set, arg(0), [sql`1`], dialect),
    `UPDATE "notes" SET "title" = ?1, "folder_id" = ?2 WHERE "notes"."id" = ?3 RETURNING 1`,
    `UPDATE "notes" SET "title" = $1, "folder_id" = $2 WHERE "notes"."id" = $3 RETURNING 1`,
  )
  both(
    dialect => {
      const row = new RowAlias(dialect, 'notes')
      const changes = update.set.map((assignment, index) => changesSql(assignment, index, row))
      return rowSql(row, arg(0), [...checksSql(update.before, row), ...changes])
    },
    `SELECT ("t0"."owner_id" = ?1), NOT ("t0"."title" IS ?2), NOT ("t0"."folder_id" IS ?3) FROM "notes" AS "t0" WHERE "t0"."id" = ?4`,
    `SELECT ("t0"."owner_id" = $1), NOT ("t0"."title" IS NOT DISTINCT FROM $2), NOT ("t0"."folder_id" IS NOT DISTINCT FROM $3) FROM "notes" AS "t0" WHERE "t0"."id" = $4`,
  )
  both(
    dialect => referencesSql(update.references, dialect),
    `SELECT (EXISTS (SELECT 1 FROM "folders" AS "t0" WHERE "t0"."id" = ?1) OR ?1 IS NULL) AS "r0"`,
    `SELECT (EXISTS (SELECT 1 FROM "folders" AS "t0" WHERE "t0"."id" = $1) OR $1 IS NULL) AS "r0"`,
  )
})

test('a replacement keeps a field in the rows where the caller cannot write it', () => {
  const shape: UpdateShape = {
    kind: 'update',
    mode: 'replace',
    collection: 'notes',
    id: 0,
    set: ['title', 'rank', 'owner_id'].map((field, index) => ({ field, param: index + 1 })),
    ifMatch: undefined,
    select: fields('id'),
  }
  const { shape: update } = guard({ shape, args: [1, 'x', 2, 1] }, ann)
  const secret = update.set.filter(assignment => assignment.field.name === 'secret')
  both(
    dialect => updateSql(update.collection, secret, arg(0), [sql`1`], dialect),
    `UPDATE "notes" SET "secret" = CASE WHEN "notes"."owner_id" = ?1 THEN ?2 ELSE "notes"."secret" END WHERE "notes"."id" = ?3 RETURNING 1`,
    `UPDATE "notes" SET "secret" = CASE WHEN "notes"."owner_id" = $1 THEN $2 ELSE "notes"."secret" END WHERE "notes"."id" = $3 RETURNING 1`,
  )
})

test('a deletion and the search for referencing rows use the id', () => {
  both(
    () => deleteSql('notes', slot(0)),
    `DELETE FROM "notes" WHERE "id" = ?1`,
    `DELETE FROM "notes" WHERE "id" = $1`,
  )
  both(
    dialect => referringSql('note_tags', 'note_id', slot(0), dialect.limit(slot(1))),
    `SELECT "id" FROM "note_tags" WHERE "note_id" = ?1 ORDER BY "id" LIMIT ?2 + 0`,
    `SELECT "id" FROM "note_tags" WHERE "note_id" = $1 ORDER BY "id" LIMIT $2`,
  )
})

/** SQLite's query plan of a statement. */
function queryPlan(fragment: Sql): string {
  const database = new DatabaseSync(':memory:')
  try {
    database.exec(schemaSql(notes))
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${compile(fragment, '?').text}`).all()
    return rows.map(row => String(row.detail)).join('\n')
  } finally {
    database.close()
  }
}

test('an index on one field serves both directions of its order, ties by id included, from any position', () => {
  for (const direction of [up, down]) {
    const [shape, slice] = afterPosition([direction('title')])
    for (const after of [undefined, slice.after]) {
      const plan = queryPlan(listSql(shape, { ...slice, after }, sqlite))
      assert.match(plan, /USING (COVERING )?INDEX notes__title__index/)
      assert.doesNotMatch(plan, /TEMP B-TREE/)
      if (after !== undefined) assert.match(plan, /SEARCH t0/)
    }
  }
})

test('pages by id, items of a parent and referencing items are found by index', () => {
  const [byId, slice] = afterPosition([])
  assert.match(queryPlan(listSql(byId, slice, sqlite)), /SEARCH t0 USING INTEGER PRIMARY KEY/)
  const within = guardListOf({ within: { collection: 'users', relation: 'notes', id: 2 } })
  const first = { ...slice, after: undefined }
  const plan = queryPlan(listSql(within, first, sqlite))
  assert.match(plan, /SEARCH t0 USING (COVERING )?INDEX notes__owner_id__index/)
  assert.doesNotMatch(plan, /TEMP B-TREE/)
  const ranked = guardListOf({
    within: { collection: 'folders', relation: 'notes', id: 2 },
    sort: totalOrder([down('rank')]),
  })
  const byRank = queryPlan(listSql(ranked, first, sqlite))
  assert.match(byRank, /notes__folder_id__rank__index/)
  assert.doesNotMatch(byRank, /TEMP B-TREE/)
  const referring = queryPlan(referringSql('note_tags', 'tag_id', slot(0), sqlite.limit(slot(1))))
  assert.match(referring, /SEARCH note_tags USING COVERING INDEX/)
})

test('a reference has its own index even if another begins with it, so its items are in id order', () => {
  const [, slice] = afterPosition([])
  const within = guardListOf({ within: { collection: 'folders', relation: 'notes', id: 2 } })
  const plan = queryPlan(listSql(within, { ...slice, after: undefined }, sqlite))
  assert.match(plan, /SEARCH t0 USING (COVERING )?INDEX notes__folder_id__index/)
  assert.doesNotMatch(plan, /TEMP B-TREE/)
})

testOfOthers('PostgreSQL accepts every expected statement', async () => {
  assert.ok(expected.size > 8)
  await prepareAll(notes, expected)
})

for (const { name: kind, within } of databaseKinds) {
  test(`${kind}: a many-to-many list returns the related items`, () =>
    within(async ({ open }) => {
      const store = await open(notes)
      const client = new Client(store, notes)
      const { id: author } = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
      const note = await client.create('notes', { title: 'a', rank: 1, owner_id: author })
      const other = await client.create('notes', { title: 'b', rank: 1, owner_id: author })
      for (const name of ['red', 'green', 'blue']) {
        const { id: tag_id } = await client.create('tags', { name })
        if (name !== 'green') await client.create('note_tags', { note_id: note.id, tag_id })
        if (name === 'green') await client.create('note_tags', { note_id: other.id, tag_id })
      }
      const shape: ListShape = {
        ...list,
        collection: 'tags',
        within: { collection: 'notes', relation: 'tags', id: 2 },
        sort: totalOrder([up('name')]),
        select: fields('name'),
      }
      const { items, total } = await client.list(shape, [0, 9, note.id])
      assert.deepEqual([items, total], [[{ name: 'blue' }, { name: 'red' }], 2])
      await store.close()
    }))
}
