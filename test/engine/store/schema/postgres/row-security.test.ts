/** Migrations switch row security on and off and adapt its policies to the model. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { copyDatabase } from '../../../../../src/engine/store/copy/copy.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import {
  applyPostgres,
  planPostgres,
  postgresSchemaSql,
} from '../../../../../src/engine/store/schema/postgres/migrate.ts'
import { openSqlite } from '../../../../../src/engine/store/sqlite/sqlite.ts'
import {
  anyone,
  collection,
  integer,
  model,
  nobody,
  number,
  owner,
  related,
  relation,
  role,
  signedIn,
  text,
} from '../../../../../src/index.ts'
import type { AccessRule } from '../../../../../src/model/access.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { FieldDeclarations } from '../../../../../src/model/fields/declared.ts'
import type { Model } from '../../../../../src/model/model.ts'
import { type OrdinaryDatabase, withOrdinaryDatabase } from '../../../../setups/databases/ordinary.ts'
import { query } from '../../../../setups/databases/postgres.ts'
import { Client, fields, listOfPosts } from '../../blog.ts'

const own = { read: owner('author_id'), create: signedIn, update: owner('author_id'), delete: nobody }

function posts(more: FieldDeclarations = {}, read: AccessRule = own.read): Model {
  return checkModel(
    model({
      posts: collection({
        fields: {
          title: text({ searchable: true }),
          author_id: relation('users', { inverse: 'posts' }),
          ...more,
        },
        access: { ...own, read },
      }),
    }),
  )
}

const plain = posts({ rank: integer({ optional: true }) })

async function seed(url: string): Promise<void> {
  const store = await openPostgres(plain, { url })
  const client = new Client(store, plain)
  for (const name of ['ada', 'ben']) {
    await client.create('users', { name, email: `${name}@example.com`, role: 'user' })
  }
  await client.create('posts', { title: 'By ada', author_id: 1, rank: 1 })
  await client.create('posts', { title: 'By ben', author_id: 2, rank: 2 })
  await store.close()
}

/** The number of posts that SQL of the owner sees without a caller. */
async function countForOwner({ url }: OrdinaryDatabase): Promise<number> {
  return (await query(url, 'SELECT 1 FROM posts')).length
}

async function rowsFor(model: Model, { url }: OrdinaryDatabase, id: number): Promise<unknown> {
  const store = await openPostgres(model, { url, rowSecurity: true, autoMigrate: false })
  try {
    const client = new Client(store, model)
    const list = { ...listOfPosts, select: fields('title') }
    const { items } = await client.list(list, [0, 10], user(id, 'user', 'all'))
    return items?.map(({ title }) => title)
  } finally {
    await store.close()
  }
}

const allowed = { allowDestructive: true, rowSecurity: true }

test('a migration switches row security on or off; a start without it does not switch it off', async () => {
  await withOrdinaryDatabase(async database => {
    const { url } = database
    await seed(url)
    assert.equal(await countForOwner(database), 2)
    const [step] = await planPostgres(url, plain, true)
    assert.match(step?.sentence ?? '', /^Lock the rows by policies/)
    assert.ok(step?.sql.some(text => text.startsWith('CREATE POLICY "portico_read" ON "posts"')))
    await assert.rejects(
      openPostgres(plain, { url, rowSecurity: true, autoMigrate: false }),
      /does not fit the model:\n {2}- Lock the rows/,
    )
    await applyPostgres(url, plain, { allowDestructive: false, rowSecurity: true })
    assert.deepEqual(await planPostgres(url, plain, true), [])
    assert.deepEqual(await planPostgres(url, plain), [])
    assert.equal(await countForOwner(database), 0)
    assert.deepEqual(await rowsFor(plain, database, 1), ['By ada'])
    await assert.rejects(openPostgres(plain, { url }), /Remove the policies of row security: every row/)
    const off = { rowSecurity: false }
    await assert.rejects(
      applyPostgres(url, plain, { allowDestructive: false, ...off }),
      /Remove the policies/,
    )
    await applyPostgres(url, plain, { allowDestructive: true, ...off })
    assert.deepEqual(await planPostgres(url, plain, false), [])
    assert.equal(await countForOwner(database), 2)
    const left = await query(url, `SELECT 1 FROM pg_class WHERE relname LIKE '\\_all\\_%' OR relrowsecurity`)
    assert.deepEqual(left, [])
    await (await openPostgres(plain, { url })).close()
  })
})

test('a node started without row security continues after it is switched on', async () => {
  await withOrdinaryDatabase(async database => {
    await seed(database.url)
    const store = await openPostgres(plain, { url: database.url, cacheBytes: 0 })
    try {
      await applyPostgres(database.url, plain, allowed)
      const client = new Client(store, plain)
      const ada = user(1, 'user', 'all')
      assert.deepEqual((await client.list(listOfPosts, [0, 10], ada)).items, [{ id: 1, title: 'By ada' }])
      await client.create('posts', { title: 'More', author_id: 1 }, ada)
    } finally {
      await store.close()
    }
  })
})

test('a migration replaces the policies of changed rules and restores dropped ones', async () => {
  await withOrdinaryDatabase(async database => {
    const { url, admin } = database
    await seed(url)
    await applyPostgres(url, plain, allowed)
    const open = posts({ rank: integer({ optional: true }) }, anyone)
    const sentences = (await planPostgres(url, open, true)).map(step => step.sentence)
    assert.equal(sentences.length, 2)
    assert.match(sentences[1] ?? '', /^Lock the rows/)
    await applyPostgres(url, open, allowed)
    assert.deepEqual(await rowsFor(open, database, 1), ['By ada', 'By ben'])
    for (const harm of [
      'DROP POLICY portico_read ON posts',
      'ALTER TABLE posts NO FORCE ROW LEVEL SECURITY',
      'ALTER TABLE _search_posts DISABLE ROW LEVEL SECURITY',
    ]) {
      await query(admin, harm)
      assert.equal((await planPostgres(url, open, true)).length, 2, harm)
      await applyPostgres(url, open, allowed)
      assert.deepEqual(await planPostgres(url, open, true), [])
    }
  })
})

test('columns and tables used by policies can be migrated, and stay protected', async () => {
  await withOrdinaryDatabase(async database => {
    const { url } = database
    await seed(url)
    const byRank = related('author', related('posts', role('admin').or(owner('author_id'))))
    const before = posts({ rank: integer({ optional: true }) }, byRank)
    await applyPostgres(url, before, allowed)
    const after = checkModel(
      model({
        articles: collection({
          renamedFrom: 'posts',
          fields: {
            title: text({ searchable: true }),
            writer_id: relation('users', { inverse: 'articles', renamedFrom: 'author_id' }),
            rank: number({ optional: true }),
            note: text({ optional: true, searchable: true }),
          },
          access: {
            ...own,
            read: related('writer', related('articles', owner('writer_id'))),
            update: nobody,
          },
        }),
      }),
    )
    await applyPostgres(url, after, allowed)
    assert.deepEqual(await planPostgres(url, after, true), [])
    const store = await openPostgres(after, { url, rowSecurity: true })
    try {
      const client = new Client(store, after)
      const list = { ...listOfPosts, collection: 'articles', search: 2, select: fields('title', 'rank') }
      const { items } = await client.list(list, [0, 10, 'by'], user(2, 'user', 'all'))
      assert.deepEqual(items, [{ title: 'By ben', rank: 2 }])
    } finally {
      await store.close()
    }
    assert.deepEqual(await query(url, 'SELECT 1 FROM articles'), [])
    await applyPostgres(url, checkModel(model({})), allowed)
    assert.deepEqual(await planPostgres(url, checkModel(model({})), true), [])
  })
})

test('the printed SQL creates the same policies as a migration', async () => {
  await withOrdinaryDatabase(async ({ url }) => {
    await query(url, postgresSchemaSql(plain, true))
    const policies = 'SELECT tablename, policyname, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2'
    const printed = await query(url, policies)
    assert.ok(printed.some(({ tablename }) => tablename === 'posts'))
    await withOrdinaryDatabase(async other => {
      await applyPostgres(other.url, plain, allowed)
      assert.deepEqual(await query(other.url, policies), printed)
    })
  })
})

test('a database with row security can be copied to SQLite and back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-locked-'))
  try {
    await withOrdinaryDatabase(async from => {
      await seed(from.url)
      await applyPostgres(from.url, plain, allowed)
      const file = join(folder, 'copy.db')
      const options = { live: false, onProgress: () => {} }
      const postgres = (url: string, name: string) => ({ location: url, kind: 'postgres', name }) as const
      const sqlite = { location: file, kind: 'sqlite', name: 'file' } as const
      await copyDatabase(plain, { from: postgres(from.url, 'one'), to: sqlite, ...options })
      const store = openSqlite(plain, { file })
      assert.equal((await new Client(store, plain).list(listOfPosts, [0, 10])).items?.length, 2)
      await store.close()
      await withOrdinaryDatabase(async to => {
        await copyDatabase(plain, { from: sqlite, to: postgres(to.url, 'two'), ...options })
        const copied = await openPostgres(plain, { url: to.url, rowSecurity: true })
        await copied.close()
        assert.equal(await countForOwner(to), 0)
        assert.deepEqual(await rowsFor(plain, to, 2), ['By ben'])
      })
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
