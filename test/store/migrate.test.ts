/** From one model to another: what applies by itself, what takes a command, what takes a flag, and what stays. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import {
  anyone,
  choice,
  collection,
  index,
  integer,
  model,
  number,
  relation,
  string,
  text,
  unique,
} from '../../src/index.ts'
import { checkModel } from '../../src/model/check.ts'
import type { CollectionOptions } from '../../src/model/declaration.ts'
import type { Model } from '../../src/model/model.ts'
import {
  applyMigration,
  MigrationError,
  openSqlite,
  planMigration,
  schemaSql,
} from '../../src/store/sqlite.ts'
import { blog, Client, fields, listOfPosts, withFile } from './blog.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

function books(options: Partial<CollectionOptions> & Pick<CollectionOptions, 'fields'>): Model {
  return checkModel(model({ books: collection({ access, ...options }) }))
}

const title = string({ max: 100 })
const plain = books({
  fields: { title, year: integer({ optional: true }), genre: choice(['novel', 'essay'], { optional: true }) },
})

/** A database of the plain model with three books, of which the last was deleted. */
async function withBooks(use: (file: string) => Promise<void> | void): Promise<void> {
  await withFile(async file => {
    const store = openSqlite(plain, { file })
    const client = new Client(store, plain)
    await client.create('books', { title: 'Emma', year: 1815, genre: 'novel' })
    await client.create('books', { title: 'Walden' })
    const { id } = await client.create('books', { title: 'Gone' })
    await client.remove('books', id)
    await store.close()
    await use(file)
  })
}

function rows(file: string, query: string): unknown[] {
  const database = new DatabaseSync(file)
  try {
    return database
      .prepare(query)
      .all()
      .map(row => Object.values(row))
  } finally {
    database.close()
  }
}

/** The whole file, as text. */
function dump(file: string): string {
  const tables = rows(file, `SELECT name, sql FROM sqlite_schema ORDER BY name`)
  return JSON.stringify([tables, rows(file, 'SELECT * FROM books'), rows(file, 'SELECT * FROM _portico')])
}

const keep = {
  title,
  year: integer({ optional: true }),
  genre: choice(['novel', 'essay'], { optional: true }),
}

interface Case {
  readonly name: string
  readonly to: Model
  readonly sentence: RegExp
  readonly kind: 'additive' | 'manual' | 'destructive'
  readonly query?: string
  readonly rows?: unknown[]
}

const cases: readonly Case[] = [
  {
    name: 'an optional field',
    to: books({ fields: { ...keep, note: text({ optional: true }) } }),
    sentence: /^Add the field books\.note\.$/,
    kind: 'additive',
    query: 'SELECT title, note FROM books',
    rows: [
      ['Emma', null],
      ['Walden', null],
    ],
  },
  {
    name: 'a required field with a default',
    to: books({ fields: { ...keep, stock: integer({ default: 7 }) } }),
    sentence: /^Add the field books\.stock\.$/,
    kind: 'additive',
    query: 'SELECT id, stock FROM books',
    rows: [
      [1, 7],
      [2, 7],
    ],
  },
  {
    name: 'an index',
    to: books({ fields: keep, indexes: [index('year')] }),
    sentence: /^Add the index of books on year\.$/,
    kind: 'additive',
    query: `SELECT name FROM sqlite_schema WHERE name = 'books__year__index'`,
    rows: [['books__year__index']],
  },
  {
    name: 'search over what is there',
    to: books({ fields: { ...keep, title: string({ max: 100, searchable: true }) } }),
    sentence: /^Make the search of books anew\.$/,
    kind: 'additive',
    query: `SELECT rowid FROM _search_books WHERE _search_books MATCH 'walden'`,
    rows: [[2]],
  },
  {
    name: 'a wider choice',
    to: books({ fields: { ...keep, genre: choice(['novel', 'essay', 'poem'], { optional: true }) } }),
    sentence: /^Allow more values in books\.genre\.$/,
    kind: 'additive',
  },
  {
    name: 'a renamed field',
    to: books({
      fields: { title, published: integer({ optional: true, renamedFrom: 'year' }), genre: keep.genre },
    }),
    sentence: /^Rename the field books\.year to published\.$/,
    kind: 'manual',
    query: 'SELECT title, published FROM books',
    rows: [
      ['Emma', 1815],
      ['Walden', null],
    ],
  },
  {
    name: 'a renamed collection',
    to: checkModel(model({ works: collection({ fields: keep, access, renamedFrom: 'books' }) })),
    sentence: /^Rename the collection books to works\.$/,
    kind: 'manual',
    query: `SELECT title, (SELECT n FROM _totals WHERE collection = 'works') FROM works`,
    rows: [
      ['Emma', 2],
      ['Walden', 2],
    ],
  },
  {
    name: 'a wider type',
    to: books({ fields: { ...keep, year: number({ optional: true }) } }),
    sentence: /^Turn books\.year from integer into number\.$/,
    kind: 'manual',
    query: 'SELECT typeof(year) FROM books',
    rows: [['real'], ['null']],
  },
  {
    name: 'a unique index',
    to: books({ fields: keep, indexes: [unique('title')] }),
    sentence: /^Add the unique index of books on title\.$/,
    kind: 'manual',
    query: `SELECT "unique" FROM pragma_index_list('books')`,
    rows: [[1]],
  },
  {
    name: 'a field dropped',
    to: books({ fields: { title, genre: keep.genre } }),
    sentence: /^Drop the field books\.year with its values\.$/,
    kind: 'destructive',
    query: "SELECT * FROM pragma_table_info('books') WHERE name = 'year'",
    rows: [],
  },
  {
    name: 'a collection dropped',
    to: checkModel(model({})),
    sentence: /^Drop the collection books with all its items\.$/,
    kind: 'destructive',
    query: `SELECT name FROM sqlite_schema WHERE name LIKE '%books%'`,
    rows: [],
  },
  {
    name: 'fewer choices',
    to: books({ fields: { ...keep, genre: choice(['novel'], { optional: true }) } }),
    sentence: /^Allow fewer values in books\.genre\.$/,
    kind: 'destructive',
  },
]

for (const { name, to, sentence, kind, query, rows: expected } of cases) {
  test(`a migration: ${name} is ${kind}`, () =>
    withBooks(file => {
      const before = dump(file)
      const steps = planMigration(file, to)
      assert.match(steps.map(step => step.sentence).join(' '), sentence)
      assert.equal(dump(file), before)
      assert.equal(
        steps.some(step => step.destructive),
        kind === 'destructive',
      )
      assert.equal(
        steps.every(step => step.additive),
        kind === 'additive',
      )
      if (kind === 'destructive') {
        assert.throws(() => applyMigration(file, to, { allowDestructive: false }), /--allow-destructive/)
        assert.equal(dump(file), before)
      }
      applyMigration(file, to, { allowDestructive: kind === 'destructive' })
      if (query) assert.deepEqual(rows(file, query), expected)
      assert.deepEqual(planMigration(file, to), [])
      assert.deepEqual(rows(file, 'PRAGMA integrity_check'), [['ok']])
    }))

  test(`a start: ${name} ${kind === 'additive' ? 'applies by itself' : 'takes the command'}`, () =>
    withBooks(async file => {
      if (kind === 'additive') {
        await openSqlite(to, { file }).close()
        assert.deepEqual(planMigration(file, to), [])
        return
      }
      const before = dump(file)
      assert.throws(() => openSqlite(to, { file }), /portico migrate/)
      assert.equal(dump(file), before)
    }))
}

test('without autoMigrate a start refuses what only adds, too', () =>
  withBooks(file => {
    const to = books({ fields: { ...keep, note: text({ optional: true }) } })
    assert.throws(() => openSqlite(to, { file, autoMigrate: false }), MigrationError)
  }))

test('a step that fails undoes all of them', () =>
  withBooks(async file => {
    const store = openSqlite(plain, { file })
    await new Client(store, plain).create('books', { title: 'Emma' })
    await store.close()
    const before = dump(file)
    const to = books({ fields: { ...keep, note: text({ default: 'x' }) }, indexes: [unique('title')] })
    assert.throws(() => applyMigration(file, to, { allowDestructive: true }), /Nothing was changed.*UNIQUE/s)
    assert.equal(dump(file), before)
  }))

test('a field that every item must have is refused while there are items without it', () =>
  withBooks(file => {
    const to = books({ fields: { ...keep, code: string() } })
    assert.match(planMigration(file, to)[0]?.sentence ?? '', /the collection must be empty/)
    const before = dump(file)
    assert.throws(() => applyMigration(file, to, { allowDestructive: true }), /Nothing was changed/)
    assert.equal(dump(file), before)
  }))

test('a rebuilt table keeps its ids, its references, and never gives out an old id', () =>
  withFile(async file => {
    const withReviews = (fieldsOfBooks: CollectionOptions['fields']) =>
      checkModel(
        model({
          books: collection({ access, fields: fieldsOfBooks }),
          reviews: collection({ access, fields: { book_id: relation('books', { inverse: 'reviews' }) } }),
        }),
      )
    const from = withReviews({ title })
    const first = openSqlite(from, { file })
    const writer = new Client(first, from)
    const { id } = await writer.create('books', { title: 'Emma' })
    await writer.create('reviews', { book_id: id })
    const gone = await writer.create('books', { title: 'Gone' })
    await writer.remove('books', gone.id)
    await first.close()
    const to = withReviews({ title, stock: integer({ default: 1 }) })
    const store = openSqlite(to, { file })
    const client = new Client(store, to)
    assert.equal((await client.create('books', { title: 'Next' })).id, gone.id + 1)
    await assert.rejects(client.remove('books', id), { code: 'CONFLICT' })
    const page = await client.list(
      { ...listOfPosts, collection: 'books', select: fields('title', 'stock') },
      [0, 9],
    )
    assert.deepEqual(page, {
      items: [
        { title: 'Emma', stock: 1 },
        { title: 'Next', stock: 1 },
      ],
      total: 2,
      next: undefined,
    })
    await store.close()
  }))

test('a collection that refers to itself is renamed and rebuilt at once; those that refer to it follow', () =>
  withFile(async file => {
    const from = checkModel(
      model({
        branches: collection({
          access,
          fields: {
            label: string(),
            parent_id: relation('branches', { optional: true, onDelete: 'cascade' }),
          },
        }),
        leaves: collection({ access, fields: { branch_id: relation('branches', { onDelete: 'cascade' }) } }),
      }),
    )
    const first = openSqlite(from, { file })
    const writer = new Client(first, from)
    const root = await writer.create('branches', { label: 'root' })
    const child = await writer.create('branches', { label: 'child', parent_id: root.id })
    await writer.update('branches', root.id, { parent_id: root.id })
    await writer.create('leaves', { branch_id: child.id })
    await first.close()
    const to = checkModel(
      model({
        places: collection({
          access,
          renamedFrom: 'branches',
          fields: {
            name: string({ renamedFrom: 'label', searchable: true }),
            within_id: relation('places', { optional: true, onDelete: 'cascade', renamedFrom: 'parent_id' }),
            rank: integer({ default: 3 }),
          },
        }),
        leaves: collection({ access, fields: { branch_id: relation('places', { onDelete: 'cascade' }) } }),
      }),
    )
    const steps = applyMigration(file, to, { allowDestructive: false })
    assert.match(steps.map(step => step.sentence).join(' '), /Rename the collection branches to places\./)
    assert.deepEqual(planMigration(file, to), [])
    const store = openSqlite(to, { file })
    const client = new Client(store, to)
    const shape = { ...listOfPosts, collection: 'places', select: fields('id', 'name', 'within_id', 'rank') }
    assert.deepEqual((await client.list(shape, [0, 9])).items, [
      { id: root.id, name: 'root', within_id: root.id, rank: 3 },
      { id: child.id, name: 'child', within_id: root.id, rank: 3 },
    ])
    await assert.rejects(client.create('leaves', { branch_id: 99 }), { code: 'VALIDATION_FAILED' })
    await client.remove('places', root.id)
    assert.deepEqual(rows(file, 'SELECT count(*) FROM leaves'), [[0]])
    const foreign = `SELECT "table" FROM pragma_foreign_key_list('places') UNION ALL SELECT "table" FROM pragma_foreign_key_list('leaves')`
    assert.deepEqual(rows(file, foreign), [['places'], ['places']])
    assert.deepEqual(rows(file, 'PRAGMA foreign_key_check'), [])
    await store.close()
  }))

test('a table that something else changed is named', () =>
  withBooks(file => {
    const database = new DatabaseSync(file)
    database.exec('ALTER TABLE books DROP COLUMN year')
    database.close()
    assert.throws(() => openSqlite(plain, { file }), /lacks books\.year/)
  }))

test('planning makes no file, and the printed SQL makes the database', () =>
  withFile(file => {
    assert.ok(planMigration(file, blog).length > 0)
    assert.equal(existsSync(file), false)
    const database = new DatabaseSync(':memory:')
    database.exec(schemaSql(blog))
    database.close()
  }))
