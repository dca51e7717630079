/** A model with books, and changes of it. */
import {
  anyone,
  choice,
  collection,
  index,
  integer,
  model,
  number,
  string,
  text,
  unique,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { CollectionOptions } from '../../../../src/model/declaration.ts'
import type { Model } from '../../../../src/model/model.ts'

export const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

export function books(options: Partial<CollectionOptions> & Pick<CollectionOptions, 'fields'>): Model {
  return checkModel(model({ books: collection({ access, ...options }) }))
}

export const title = string({ max: 100 })
export const plain = books({
  fields: { title, year: integer({ optional: true }), genre: choice(['novel', 'essay'], { optional: true }) },
})

/** A query of the database's own catalogue. */
interface CatalogueQuery {
  readonly SQLite: string
  readonly PostgreSQL: string
}

export const unchangedFields = {
  title,
  year: integer({ optional: true }),
  genre: choice(['novel', 'essay'], { optional: true }),
}

export interface MigrationCase {
  readonly name: string
  readonly to: Model
  readonly sentence: RegExp
  readonly kind: 'additive' | 'manual' | 'destructive'
  readonly query?: string | CatalogueQuery
  readonly rows?: unknown[]
}

export const cases: readonly MigrationCase[] = [
  {
    name: 'adding an optional field',
    to: books({ fields: { ...unchangedFields, note: text({ optional: true }) } }),
    sentence: /^Add the field books\.note\.$/,
    kind: 'additive',
    query: 'SELECT title, note FROM books ORDER BY id',
    rows: [
      ['Emma', null],
      ['Walden', null],
    ],
  },
  {
    name: 'adding a required field with a default',
    to: books({ fields: { ...unchangedFields, stock: integer({ default: 7 }) } }),
    sentence: /^Add the field books\.stock\.$/,
    kind: 'additive',
    query: 'SELECT id, stock FROM books ORDER BY id',
    rows: [
      [1, 7],
      [2, 7],
    ],
  },
  {
    name: 'adding an index',
    to: books({ fields: unchangedFields, indexes: [index('year')] }),
    sentence: /^Add the index of books on year\.$/,
    kind: 'additive',
    query: {
      SQLite: `SELECT name FROM sqlite_schema WHERE name = 'books__year__index'`,
      PostgreSQL: `SELECT indexname FROM pg_indexes WHERE indexname = 'books__year__index'`,
    },
    rows: [['books__year__index']],
  },
  {
    name: 'making a field searchable',
    to: books({ fields: { ...unchangedFields, title: string({ max: 100, searchable: true }) } }),
    sentence: /^Rebuild the search of books\.$/,
    kind: 'additive',
    query: {
      SQLite: `SELECT rowid FROM _search_books WHERE _search_books MATCH 'walden'`,
      PostgreSQL: `SELECT id FROM _search_books WHERE _all @> '{walden}' AND title @> '{walden}'`,
    },
    rows: [[2]],
  },
  {
    name: 'adding an option to a choice',
    to: books({
      fields: { ...unchangedFields, genre: choice(['novel', 'essay', 'poem'], { optional: true }) },
    }),
    sentence: /^Allow more values in books\.genre\.$/,
    kind: 'additive',
  },
  {
    name: 'renaming a field',
    to: books({
      fields: {
        title,
        published: integer({ optional: true, renamedFrom: 'year' }),
        genre: unchangedFields.genre,
      },
    }),
    sentence: /^Rename the field books\.year to published\.$/,
    kind: 'manual',
    query: 'SELECT title, published FROM books ORDER BY id',
    rows: [
      ['Emma', 1815],
      ['Walden', null],
    ],
  },
  {
    name: 'renaming a collection',
    to: checkModel(model({ works: collection({ fields: unchangedFields, access, renamedFrom: 'books' }) })),
    sentence: /^Rename the collection books to works\.$/,
    kind: 'manual',
    query: `SELECT title, (SELECT CAST(sum(n) AS integer) FROM _totals WHERE collection = 'works'),
      (SELECT CAST(count(*) AS integer) FROM _events WHERE collection = 'works') FROM works ORDER BY id`,
    rows: [
      ['Emma', 2, 4],
      ['Walden', 2, 4],
    ],
  },
  {
    name: 'changing an integer into a number',
    to: books({ fields: { ...unchangedFields, year: number({ optional: true }) } }),
    sentence: /^Turn books\.year from integer into number\.$/,
    kind: 'manual',
    query: {
      SQLite:
        "SELECT year, replace(typeof(year), 'real', 'double precision') FROM books WHERE year IS NOT NULL",
      PostgreSQL: 'SELECT year, pg_typeof(year)::text FROM books WHERE year IS NOT NULL',
    },
    rows: [[1815, 'double precision']],
  },
  {
    name: 'adding a unique index',
    to: books({ fields: unchangedFields, indexes: [unique('title')] }),
    sentence: /^Add the unique index of books on title\.$/,
    kind: 'manual',
    query: {
      SQLite: `SELECT "unique" FROM pragma_index_list('books') WHERE "name" = 'books__title__unique'`,
      PostgreSQL: `SELECT indisunique::int FROM pg_index WHERE indexrelid = 'books__title__unique'::regclass`,
    },
    rows: [[1]],
  },
  {
    name: 'dropping a field',
    to: books({ fields: { title, genre: unchangedFields.genre } }),
    sentence: /^Drop the field books\.year with its values\.$/,
    kind: 'destructive',
    query: {
      SQLite: "SELECT * FROM pragma_table_info('books') WHERE name = 'year'",
      PostgreSQL: "SELECT 1 FROM pg_attribute WHERE attrelid = 'books'::regclass AND attname = 'year'",
    },
    rows: [],
  },
  {
    name: 'dropping a collection',
    to: checkModel(model({})),
    sentence: /^Drop the collection books with all its items\.$/,
    kind: 'destructive',
    query: {
      SQLite: `SELECT name FROM sqlite_schema WHERE name LIKE '%books%'`,
      PostgreSQL: `SELECT relname FROM pg_class WHERE relname LIKE '%books%'`,
    },
    rows: [],
  },
  {
    name: 'removing an option of a choice',
    to: books({ fields: { ...unchangedFields, genre: choice(['novel'], { optional: true }) } }),
    sentence: /^Allow fewer values in books\.genre\.$/,
    kind: 'manual',
  },
]
