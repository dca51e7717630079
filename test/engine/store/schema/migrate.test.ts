/** Migrations from one model to another: changes that apply automatically, that need the command, and that need a flag. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MigrationError } from '../../../../src/engine/store/sqlite/sqlite.ts'
import {
  boolean,
  choice,
  collection,
  index,
  integer,
  model,
  relation,
  string,
  text,
  unique,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { CollectionOptions } from '../../../../src/model/declaration.ts'
import type { FieldDeclaration } from '../../../../src/model/fields/declared.ts'
import { type MigrationDatabase, migrationDatabases } from '../../../setups/databases/migrations.ts'
import { blog, Client, fields, listOfPosts } from '../blog.ts'
import { failure } from '../contract.ts'
import { access, books, cases, type MigrationCase, plain, title, unchangedFields } from './migration-cases.ts'

/** A database of the plain model with three books, of which the last was deleted. */
function withBooks(database: MigrationDatabase, use: (at: string) => Promise<void>): Promise<void> {
  return database.withEmpty(async at => {
    const store = await database.open(at, plain)
    const client = new Client(store, plain)
    await client.create('books', { title: 'Emma', year: 1815, genre: 'novel' })
    await client.create('books', { title: 'Walden' })
    const { id } = await client.create('books', { title: 'Gone' })
    await client.remove('books', id)
    await store.close()
    await use(at)
  })
}

const unindexed = books({ fields: unchangedFields })
const indexed = books({ fields: unchangedFields, indexes: [index('year'), index('genre', 'title')] })

function declared(
  database: MigrationDatabase,
  { name, to, sentence, kind, query, rows: expected }: MigrationCase,
): void {
  test(`a migration that is ${kind}: ${name}`, () =>
    withBooks(database, async at => {
      const before = await database.dump(at)
      const steps = await database.plan(at, to)
      assert.match(steps.map(step => step.sentence).join(' '), sentence)
      assert.equal(await database.dump(at), before)
      assert.equal(
        steps.some(step => step.destructive),
        kind === 'destructive',
      )
      assert.equal(
        steps.every(step => step.additive),
        kind === 'additive',
      )
      if (kind === 'destructive') {
        await assert.rejects(database.apply(at, to, { allowDestructive: false }), /--allow-destructive/)
        assert.equal(await database.dump(at), before)
      }
      await database.apply(at, to, { allowDestructive: kind === 'destructive' })
      const text = typeof query === 'object' ? query[database.name] : query
      if (text) assert.deepEqual(await database.rows(at, text), expected)
      assert.deepEqual(await database.plan(at, to), [])
      await database.assertConsistent(at)
    }))

  test(`a start ${kind === 'additive' ? 'applies' : 'refuses'} a change that is ${kind}: ${name}`, () =>
    withBooks(database, async at => {
      if (kind === 'additive') {
        await (await database.open(at, to)).close()
        assert.deepEqual(await database.plan(at, to), [])
        return
      }
      const before = await database.dump(at)
      await assert.rejects(database.open(at, to), /portico migrate/)
      assert.equal(await database.dump(at), before)
    }))
}

for (const database of migrationDatabases) {
  describe(database.name, () => {
    for (const each of cases) declared(database, each)
    others(database)
  })
}

function others(database: MigrationDatabase): void {
  test('without autoMigrate a start refuses an additive change too', () =>
    withBooks(database, async at => {
      const to = books({ fields: { ...unchangedFields, note: text({ optional: true }) } })
      await assert.rejects(database.open(at, to, false), MigrationError)
    }))

  test('without autoMigrate a missing index that is not unique is reported and does not prevent the start', () =>
    database.withEmpty(async at => {
      await (await database.open(at, unindexed)).close()
      const before = await database.schemaText(at)
      const reported: string[] = []
      const store = await database.open(at, indexed, false, sentences => reported.push(...sentences))
      await new Client(store, indexed).create('books', { title: 'Emma', year: 1815 })
      await store.close()
      assert.match(
        reported.join(' '),
        /Add the index of books on year\. Add the index of books on genre, title\./,
      )
      assert.equal(await database.schemaText(at), before)
      const once = books({ fields: unchangedFields, indexes: [unique('year')] })
      await assert.rejects(database.open(at, once, false), /unique index of books on year/)
    }))

  test('an index can change the directions of its fields, and reversing all of them changes nothing', () =>
    database.withEmpty(async at => {
      await (
        await database.open(at, books({ fields: unchangedFields, indexes: [index('year', 'title')] }))
      ).close()
      const directed = books({ fields: unchangedFields, indexes: [index('year', '-title'), index('-genre')] })
      assert.deepEqual(
        (await database.plan(at, directed)).map(step => step.sentence),
        [
          'Add the index of books on year, -title. Add the index of books on genre. Drop the index of books on year, title.',
        ],
      )
      await (await database.open(at, directed)).close()
      const reversed = books({ fields: unchangedFields, indexes: [index('-year', 'title'), index('genre')] })
      assert.deepEqual(await database.plan(at, reversed), [])
      await database.assertConsistent(at)
    }))

  test('without autoMigrate an older model starts on the additions of a newer one and keeps them', () =>
    withBooks(database, async at => {
      const newer = checkModel(
        model({
          books: collection({
            fields: { ...unchangedFields, note: text({ optional: true }) },
            access,
            indexes: [index('year')],
          }),
          readers: collection({ fields: { name: string(), book_id: relation('books') }, access }),
        }),
      )
      await database.apply(at, newer, { allowDestructive: false })
      const schemaText = await database.schemaText(at)
      await database.run(
        at,
        `INSERT INTO readers (name, book_id, created_at) VALUES ('Ada', 2, '2026-01-01T00:00:00.000Z')`,
      )
      const reported: string[] = []
      const store = await database.open(at, plain, false, sentences => reported.push(...sentences))
      const client = new Client(store, plain)
      await client.create('books', { title: 'Ulysses', year: 1922 })
      await client.remove('books', 1)
      // The older model does not know readers, but the foreign key still applies.
      await assert.rejects(client.remove('books', 2), failure('CONFLICT'))
      await store.close()
      assert.deepEqual(reported, [
        'Drop the collection readers with all its items.',
        'Drop the field books.note with its values. Drop the index of books on year.',
      ])
      assert.equal(await database.schemaText(at), schemaText)
      assert.deepEqual(await database.rows(at, 'SELECT title, note FROM books ORDER BY id'), [
        ['Walden', null],
        ['Ulysses', null],
      ])
      assert.deepEqual(await database.plan(at, newer), [])
      await assert.rejects(database.open(at, plain), /Drop the collection readers/)
    }))

  test('without autoMigrate a start is refused if a field is missing, even if others are additional', () =>
    withBooks(database, async at => {
      const { title: needed, year } = unchangedFields
      const newer = books({ fields: { title: needed, year, note: text({ optional: true }) } })
      await database.apply(at, newer, { allowDestructive: true })
      await assert.rejects(
        database.open(at, plain, false),
        /Add the field books\.genre\. Drop the field books\.note/,
      )
    }))

  test('without autoMigrate an older model starts if a new field has a default', () =>
    withBooks(database, async at => {
      const newer = books({ fields: { ...unchangedFields, stock: integer({ default: 7 }) } })
      await database.apply(at, newer, { allowDestructive: false })
      const store = await database.open(at, plain, false)
      await new Client(store, plain).create('books', { title: 'Ulysses' })
      await store.close()
      const stocks = await database.rows(at, 'SELECT title, stock FROM books ORDER BY id')
      assert.deepEqual(stocks.at(-1), ['Ulysses', 7])
    }))

  test('a failing step undoes all steps', () =>
    withBooks(database, async at => {
      const store = await database.open(at, plain)
      await new Client(store, plain).create('books', { title: 'Emma' })
      await store.close()
      const before = await database.dump(at)
      const to = books({
        fields: { ...unchangedFields, note: text({ default: 'x' }) },
        indexes: [unique('title')],
      })
      await assert.rejects(
        database.apply(at, to, { allowDestructive: true }),
        /Nothing was changed.*UNIQUE/is,
      )
      assert.equal(await database.dump(at), before)
    }))

  test('adding a required field without a default is refused while the collection has items', () =>
    withBooks(database, async at => {
      const to = books({ fields: { ...unchangedFields, code: string() } })
      assert.match((await database.plan(at, to))[0]?.sentence ?? '', /the collection must be empty/)
      const before = await database.dump(at)
      await assert.rejects(database.apply(at, to, { allowDestructive: true }), /Nothing was changed/)
      assert.equal(await database.dump(at), before)
    }))

  test('a field can become required if every item has a value or gets the default', () =>
    withBooks(database, async at => {
      const sooner = books({ fields: { title, year: integer(), genre: unchangedFields.genre } })
      const before = await database.dump(at)
      await assert.rejects(database.apply(at, sooner, { allowDestructive: true }), /Nothing was changed/)
      assert.equal(await database.dump(at), before)
      const filled = books({
        fields: {
          title,
          year: integer({ default: 1900 }),
          genre: choice(['novel', 'essay'], { default: 'novel' }),
        },
      })
      await database.apply(at, filled, { allowDestructive: false })
      const all = 'SELECT title, year, genre FROM books ORDER BY id'
      const complete = [
        ['Emma', 1815, 'novel'],
        ['Walden', 1900, 'novel'],
      ]
      assert.deepEqual(await database.rows(at, all), complete)
      const optional = books({ fields: { ...unchangedFields, year: integer({ optional: true }) } })
      await database.apply(at, optional, { allowDestructive: false })
      await database.apply(at, sooner, { allowDestructive: true })
      assert.deepEqual(await database.rows(at, all), complete)
      assert.deepEqual(await database.plan(at, sooner), [])
    }))

  test('a rebuilt table keeps its ids and references, and does not reuse ids', () =>
    database.withEmpty(async at => {
      const withReviews = (fieldsOfBooks: CollectionOptions['fields']) =>
        checkModel(
          model({
            books: collection({ access, fields: fieldsOfBooks }),
            reviews: collection({ access, fields: { book_id: relation('books', { inverse: 'reviews' }) } }),
          }),
        )
      const from = withReviews({ title })
      const first = await database.open(at, from)
      const writer = new Client(first, from)
      const { id } = await writer.create('books', { title: 'Emma' })
      await writer.create('reviews', { book_id: id })
      const deleted = await writer.create('books', { title: 'Gone' })
      await writer.remove('books', deleted.id)
      await first.close()
      const to = withReviews({ title, stock: integer({ default: 1 }) })
      const store = await database.open(at, to)
      const client = new Client(store, to)
      assert.equal((await client.create('books', { title: 'Next' })).id, deleted.id + 1)
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

  test('a self-referencing collection can be renamed and rebuilt in one step, and references to it follow', () =>
    database.withEmpty(async at => {
      const from = checkModel(
        model({
          branches: collection({
            access,
            fields: {
              label: string(),
              parent_id: relation('branches', { optional: true, onDelete: 'cascade' }),
            },
          }),
          leaves: collection({
            access,
            fields: { branch_id: relation('branches', { onDelete: 'cascade' }) },
          }),
        }),
      )
      const first = await database.open(at, from)
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
              within_id: relation('places', {
                optional: true,
                onDelete: 'cascade',
                renamedFrom: 'parent_id',
              }),
              rank: integer({ default: 3 }),
            },
          }),
          leaves: collection({ access, fields: { branch_id: relation('places', { onDelete: 'cascade' }) } }),
        }),
      )
      const steps = await database.apply(at, to, { allowDestructive: false })
      assert.match(steps.map(step => step.sentence).join(' '), /Rename the collection branches to places\./)
      assert.deepEqual(await database.plan(at, to), [])
      await database.assertConsistent(at)
      const store = await database.open(at, to)
      const client = new Client(store, to)
      const shape = {
        ...listOfPosts,
        collection: 'places',
        select: fields('id', 'name', 'within_id', 'rank'),
      }
      assert.deepEqual((await client.list(shape, [0, 9])).items, [
        { id: root.id, name: 'root', within_id: root.id, rank: 3 },
        { id: child.id, name: 'child', within_id: root.id, rank: 3 },
      ])
      await assert.rejects(client.create('leaves', { branch_id: 99 }), { code: 'VALIDATION_FAILED' })
      await client.remove('places', root.id)
      assert.deepEqual(await database.rows(at, 'SELECT count(*) FROM leaves'), [[0]])
      assert.deepEqual(await database.targets(at, ['places', 'leaves']), ['places', 'places'])
      await store.close()
    }))

  test('search finds items whose missing text became the default of a required field', () =>
    database.withEmpty(async at => {
      const notes = (note: Parameters<typeof text>[0]) =>
        checkModel(model({ notes: collection({ access, fields: { note: text(note) } }) }))
      const from = notes({ optional: true, searchable: true })
      const first = await database.open(at, from)
      const writer = new Client(first, from)
      await writer.create('notes', {})
      await writer.create('notes', { note: 'own words' })
      await first.close()
      const to = notes({ default: 'given words', searchable: true })
      await database.apply(at, to, { allowDestructive: false })
      const store = await database.open(at, to)
      const shape = { ...listOfPosts, collection: 'notes', select: fields('id'), search: 2 }
      const search = async (words: string) => (await new Client(store, to).list(shape, [0, 9, words])).items
      assert.deepEqual(await search('given'), [{ id: 1 }])
      assert.deepEqual(await search('words'), [{ id: 1 }, { id: 2 }])
      await store.close()
    }))

  test('a search whose terms are those of another version is made anew', () =>
    database.withEmpty(async at => {
      const notes = checkModel(
        model({ notes: collection({ access, fields: { note: text({ searchable: true }) } }) }),
      )
      const first = await database.open(at, notes)
      const writer = new Client(first, notes)
      for (const note of ['日本語のテキスト', '대한민국의 역사']) await writer.create('notes', { note })
      await first.close()
      const [[stored] = []] = await database.rows(at, `SELECT "value" FROM "_portico" WHERE "key" = 'schema'`)
      const earlier = JSON.stringify(JSON.parse(String(stored)), (name, value) =>
        name === 'termsVersion' ? 0 : value,
      )
      await database.run(
        at,
        `UPDATE "_portico" SET "value" = '${earlier.replaceAll("'", "''")}' WHERE "key" = 'schema'; DELETE FROM "_search_notes"`,
      )
      const steps = await database.apply(at, notes, { allowDestructive: false })
      assert.deepEqual(
        steps.map(({ sentence, additive }) => [sentence, additive]),
        [['Rebuild the search of notes.', true]],
      )
      assert.deepEqual(await database.plan(at, notes), [])
      const store = await database.open(at, notes)
      const shape = { ...listOfPosts, collection: 'notes', select: fields('id'), search: 2 }
      const search = async (words: string) =>
        (await new Client(store, notes).list(shape, [0, 9, words])).items
      assert.deepEqual(await search('本語'), [{ id: 1 }])
      assert.deepEqual(await search('민국'), [{ id: 2 }])
      assert.deepEqual(await search('語本'), [])
      await store.close()
    }))

  test('search finds the converted values of a field that became a text', () =>
    database.withEmpty(async at => {
      const notes = (done: FieldDeclaration) =>
        checkModel(model({ notes: collection({ access, fields: { done } }) }))
      const from = notes(boolean({ optional: true }))
      const first = await database.open(at, from)
      const writer = new Client(first, from)
      for (const done of [true, null]) await writer.create('notes', { done })
      await first.close()
      const to = notes(text({ default: 'unknown', searchable: true }))
      await database.apply(at, to, { allowDestructive: true })
      assert.deepEqual(await database.rows(at, 'SELECT done FROM notes ORDER BY id'), [['1'], ['unknown']])
      const store = await database.open(at, to)
      const shape = { ...listOfPosts, collection: 'notes', select: fields('id'), search: 2 }
      const search = async (words: string) => (await new Client(store, to).list(shape, [0, 9, words])).items
      assert.deepEqual(await search('1'), [{ id: 1 }])
      assert.deepEqual(await search('unknown'), [{ id: 2 }])
      await store.close()
    }))

  test('a plan says that a mark as personal changes what a deletion does', () =>
    database.withEmpty(async at => {
      const notes = (personal: boolean) =>
        checkModel(
          model({ notes: collection({ access, fields: { by_id: relation('users', { personal }) } }) }),
        )
      await (await database.open(at, notes(false))).close()
      const steps = await database.plan(at, notes(true))
      assert.match(
        steps.map(step => step.sentence).join(' '),
        /Change the reference notes\.by_id: from `onDelete: 'restrict'` to `'cascade'`\./,
      )
    }))

  test('a reference can change to a collection that is not the renamed one, whatever its renamedFrom says', () =>
    database.withEmpty(async at => {
      const fieldsOf = (target: string) => ({ target_id: relation(target, { optional: true }) })
      const label = { label: string() }
      const from = checkModel(
        model({
          posts: collection({ access, fields: label }),
          articles: collection({ access, fields: label }),
          notes: collection({ access, fields: fieldsOf('posts') }),
        }),
      )
      await (await database.open(at, from)).close()
      const to = checkModel(
        model({
          articles: collection({ access, fields: label, renamedFrom: 'posts' }),
          notes: collection({ access, fields: fieldsOf('articles') }),
        }),
      )
      const steps = await database.apply(at, to, { allowDestructive: true })
      assert.match(steps.map(step => step.sentence).join(' '), /Change the reference notes\.target_id\./)
      assert.deepEqual(await database.targets(at, ['notes']), ['articles'])
      const store = await database.open(at, to)
      const client = new Client(store, to)
      const { id } = await client.create('articles', { label: 'one' })
      await client.create('notes', { target_id: id })
      await store.close()
      assert.deepEqual(await database.plan(at, to), [])
    }))

  test('a start names a table that was changed outside Portico', () =>
    withBooks(database, async at => {
      await database.run(at, 'ALTER TABLE books DROP COLUMN year')
      await assert.rejects(database.open(at, plain), /lacks books\.year/)
    }))

  test('planning changes nothing, and the printed SQL creates the database', () =>
    database.withEmpty(async at => {
      const empty = await database.dump(at)
      assert.ok((await database.plan(at, blog)).length > 0)
      assert.equal(await database.dump(at), empty)
      await database.run(at, database.print(blog))
      assert.deepEqual(await database.rows(at, 'SELECT count(*) FROM posts'), [[0]])
    }))
}
