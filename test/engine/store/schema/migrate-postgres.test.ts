/** Migrations of PostgreSQL while a service runs, and by several nodes at once. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { indexedTerms } from '../../../../src/engine/plan/text-search.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { applyPostgres, planPostgres } from '../../../../src/engine/store/schema/postgres/migrate.ts'
import { collection, index, integer, model, relation, string, text, unique } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { definitionsOf, postgres } from '../../../setups/databases/migrations.ts'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { Client } from '../blog.ts'
import { access, books, cases, plain, unchangedFields } from './migration-cases.ts'

async function createTables(url: string, model = plain): Promise<void> {
  await (await openPostgres(model, { url })).close()
}

async function fill(url: string, count: number): Promise<void> {
  await query(
    url,
    `INSERT INTO books (title, year, created_at) SELECT 'title ' || n, n % 2000, '2026-01-01T00:00:00.000Z' FROM generate_series(1, ${count}) n`,
  )
}

/** Runs `use` while another transaction that has read the table stays open. */
async function withReader<T>(url: string, use: (end: () => Promise<void>) => Promise<T>): Promise<T> {
  const reader = new pg.Client({ connectionString: url })
  await reader.connect()
  try {
    await reader.query('BEGIN; SELECT count(*) FROM books')
    return await use(async () => void (await reader.query('COMMIT')))
  } finally {
    await reader.end()
  }
}

for (const { name, to } of cases) {
  test(`${name}: the migrated table equals one created from the new model`, () =>
    withPostgres(changed =>
      withPostgres(async createdUrl => {
        await createTables(changed)
        await applyPostgres(changed, to, { allowDestructive: true })
        await createTables(createdUrl, to)
        const [is, should] = [await definitionsOf(changed), await definitionsOf(createdUrl)]
        assert.deepEqual(
          is.filter(line => !should.includes(line)),
          [],
        )
        assert.deepEqual(
          should.filter(line => !is.includes(line)),
          [],
        )
        await applyPostgres(changed, plain, { allowDestructive: true })
        await postgres.assertConsistent(changed)
        assert.deepEqual(await planPostgres(changed, plain), [])
      }),
    ))
}

const more = books({
  fields: {
    ...unchangedFields,
    title: string({ max: 100, searchable: true }),
    note: text({ default: 'none' }),
    series_id: relation('books', { optional: true, onDelete: 'clear' }),
  },
  indexes: [index('year')],
})

test('of several nodes that start at once, one creates or migrates the tables, and all can write', () =>
  withPostgres(async url => {
    for (const [turn, to] of [plain, more].entries()) {
      const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgres(to, { url })))
      for (const store of stores) await new Client(store, to).create('books', { title: 'one' })
      await Promise.all(stores.map(store => store.close()))
      const migrations = await query(url, `SELECT 1 FROM _touched WHERE names LIKE '%users%'`)
      assert.equal(migrations.length, turn + 1)
      const all = await query(url, `SELECT count(*) AS n FROM books`)
      assert.deepEqual(all, [{ n: 6 * (turn + 1) }])
    }
    await postgres.assertConsistent(url)
  }))

test('a start waits for the migration of another process', () =>
  withPostgres(async url => {
    const otherClient = new pg.Client({ connectionString: url })
    await otherClient.connect()
    await otherClient.query('SELECT pg_advisory_lock(20591, 1)')
    let isOpen = false
    const opening = openPostgres(plain, { url }).then(store => {
      isOpen = true
      return store
    })
    await wait(300)
    assert.equal(isOpen, false)
    assert.deepEqual(await query(url, `SELECT 1 FROM pg_tables WHERE tablename = 'books'`), [])
    await otherClient.query('SELECT pg_advisory_unlock(20591, 1)')
    await (await opening).close()
    await otherClient.end()
  }))

test('a node of the old model continues to write after fields are added', () =>
  withPostgres(async url => {
    const old = await openPostgres(plain, { url })
    const client = new Client(old, plain)
    await client.create('books', { title: 'before' })
    const now = await openPostgres(more, { url })
    const { id } = await client.create('books', { title: 'after' })
    await client.update('books', id, { year: 7 })
    const item = (await new Client(now, more).item('books', id)) as Record<string, unknown>
    assert.deepEqual([item.title, item.year, item.note], ['after', 7, 'none'])
    await old.close()
    await now.close()
  }))

test('the search index contains writes made while it was rebuilt', () =>
  withPostgres(async url => {
    const old = await openPostgres(plain, { url })
    await fill(url, 4000)
    const client = new Client(old, plain)
    let isDone = false
    const writing = (async () => {
      for (let n = 0; !isDone && n < 4000; n++) {
        await client.create('books', { title: `fresh ${n}` })
        await client.update('books', 1 + ((n * 7) % 4000), { title: `changed ${n}` }).catch(() => {})
        await client.remove('books', 4000 - n)
      }
    })()
    await applyPostgres(url, more, { allowDestructive: false })
    isDone = true
    await writing
    await old.close()
    await postgres.assertConsistent(url)
    // Rows written after the schema was stored do not depend on the rebuild.
    const rows = await query(
      url,
      `SELECT b.id, b.title, s.title AS words, s."_all" FROM books b FULL JOIN _search_books s USING (id), _portico p WHERE b.xmin IS NULL OR age(b.xmin) > age(p.xmin)`,
    )
    assert.ok(rows.length > 3000)
    const written = rows.filter(row => /^(fresh|changed)/.test(String(row.title)))
    assert.ok(written.length > 0)
    for (const row of rows) {
      const words = indexedTerms(String(row.title))
      assert.deepEqual(row.words, [...new Set(words)], String(row.id))
      assert.deepEqual(row._all, row.words)
    }
  }))

test('a migration that waits for a lock does not block later statements for long', () =>
  withPostgres(async url => {
    await createTables(url)
    await fill(url, 10)
    await withReader(url, async end => {
      const migration = applyPostgres(url, more, { allowDestructive: false })
      let longest = 0
      const until = performance.now() + 2500
      while (performance.now() < until) {
        const begin = performance.now()
        await query(url, 'SELECT count(*) FROM books')
        longest = Math.max(longest, performance.now() - begin)
        await wait(20)
      }
      // The reader's transaction is still open, so no statement could have changed the table.
      assert.ok((await planPostgres(url, more)).length > 0)
      assert.ok(longest < 2000, `${longest} ms`)
      await end()
      await migration
    })
    await postgres.assertConsistent(url)
    assert.deepEqual(await planPostgres(url, more), [])
  }))

test('the next migration completes an interrupted one', () =>
  withPostgres(async url => {
    await createTables(url)
    await fill(url, 10)
    await query(url, `UPDATE books SET title = 'same' WHERE id < 3`)
    const to = books({ fields: unchangedFields, indexes: [unique('title'), index('year')] })
    await assert.rejects(
      applyPostgres(url, to, { allowDestructive: false }),
      /Nothing was changed.*duplicate|unique/s,
    )
    await postgres.assertConsistent(url)
    // As after a kill: two invalid indexes, one with its final name.
    for (const name of ['_new_books__title__unique', 'books__title__unique']) {
      await assert.rejects(query(url, `CREATE UNIQUE INDEX CONCURRENTLY "${name}" ON books (title)`))
    }
    await query(url, `UPDATE books SET title = 'other' WHERE id = 1; DROP INDEX books__title__unique`)
    await applyPostgres(url, to, { allowDestructive: false })
    await postgres.assertConsistent(url)
    await query(url, `UPDATE books SET title = 'title 3' WHERE id = 4`).then(
      () => assert.fail('two books have one title'),
      () => {},
    )
    await query(
      url,
      `UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = 'books__year__index'::regclass`,
    )
    const steps = await planPostgres(url, to)
    assert.deepEqual(
      steps.map(step => [step.sentence, step.additive]),
      [['Finish the index books__year__index.', true]],
    )
    await createTables(url, to)
    await postgres.assertConsistent(url)
  }))

test('a foreign key that is not validated yet is validated at the next start', () =>
  withPostgres(async url => {
    await createTables(url, more)
    const constraint = (
      await query(
        url,
        `SELECT pg_get_constraintdef(oid) AS is FROM pg_constraint WHERE conname = 'series_id__fkey'`,
      )
    )[0]?.is
    await query(
      url,
      `ALTER TABLE books DROP CONSTRAINT series_id__fkey, ADD CONSTRAINT series_id__fkey ${constraint} NOT VALID`,
    )
    assert.match(
      (await planPostgres(url, more))[0]?.sentence ?? '',
      /^Check the references of books\.series_id\.$/,
    )
    await createTables(url, more)
    await postgres.assertConsistent(url)
    assert.deepEqual(await planPostgres(url, more), [])
  }))

test('names of maximal length can be created and migrated', () =>
  withPostgres(async url => {
    const long = (end: string) => 'a'.repeat(50 - end.length) + end
    const withFields = (note: string) =>
      checkModel(
        model({
          [long('s')]: collection({
            access,
            fields: {
              [long('x')]: string({ searchable: true }),
              [long('y')]: integer({ optional: true }),
              [long('_id')]: relation(long('s'), { optional: true }),
              [note]: string({ default: 'n' }),
            },
            indexes: [unique(long('x'), long('y')), index(long('y'), long('x'))],
          }),
        }),
      )
    await createTables(url, withFields(long('n')))
    assert.deepEqual(await planPostgres(url, withFields(long('n'))), [])
    await applyPostgres(url, withFields(long('m')), { allowDestructive: true })
    assert.deepEqual(await planPostgres(url, withFields(long('m'))), [])
    await postgres.assertConsistent(url)
  }))

test('a database whose encoding is not UTF-8 is refused', () =>
  withPostgres(async url => {
    const name = `latin_${new URL(url).pathname.slice(1)}`
    await query(
      url,
      `CREATE DATABASE "${name}" TEMPLATE template0 ENCODING LATIN1 LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc`,
    )
    const latin = new URL(url)
    latin.pathname = `/${name}`
    await assert.rejects(openPostgres(plain, { url: latin.href }), /LATIN1.*UTF8/)
    await query(url, `DROP DATABASE "${name}"`)
  }))

test('a text too long for an index fails its own write alone', () =>
  withPostgres(async url => {
    const to = books({ fields: { code: text() }, indexes: [index('code')] })
    const store = await openPostgres(to, { url })
    const client = new Client(store, to)
    // It does not compress.
    const long = randomBytes(3000).toString('hex')
    const [good, bad] = await Promise.allSettled([
      client.create('books', { code: 'short' }),
      client.create('books', { code: long }),
    ])
    assert.equal(good.status, 'fulfilled')
    assert.equal(bad.status === 'rejected' && bad.reason.code, 'VALIDATION_FAILED')
    await store.close()
  }))

test('all tables are in the first schema of the search path', () =>
  withPostgres(async url => {
    await query(url, 'CREATE SCHEMA one; CREATE SCHEMA two')
    const within = (schema: string) => `${url}?options=${encodeURIComponent(`-c search_path=${schema}`)}`
    for (const schema of ['one', 'two']) {
      const store = await openPostgres(more, { url: within(schema) })
      const client = new Client(store, more)
      const { id } = await client.create('books', { title: 'A word' })
      assert.equal(id, 1)
      await client.remove('books', id)
      await store.close()
      assert.deepEqual(await planPostgres(within(schema), more), [])
      assert.deepEqual(await query(within(schema), 'SELECT id FROM _search_books'), [])
    }
    assert.deepEqual(await query(url, `SELECT 1 FROM pg_tables WHERE schemaname = 'public'`), [])
  }))

test('the owner of the database can create and migrate the tables without being a superuser', () =>
  withPostgres(async url => {
    const name = new URL(url).pathname.slice(1)
    await query(url, `CREATE ROLE "${name}" LOGIN; ALTER DATABASE "${name}" OWNER TO "${name}"`)
    const own = new URL(url)
    own.username = name
    try {
      await createTables(own.href)
      await fill(own.href, 10)
      await applyPostgres(own.href, more, { allowDestructive: false })
      await postgres.assertConsistent(own.href)
      const store = await openPostgres(more, { url: own.href })
      assert.equal((await new Client(store, more).create('books', { title: 'mine' })).id, 11)
      await store.close()
    } finally {
      await query(
        url,
        `ALTER DATABASE "${name}" OWNER TO CURRENT_USER; REASSIGN OWNED BY "${name}" TO CURRENT_USER; DROP ROLE "${name}"`,
      )
    }
  }))
