/** Copies between SQLite and PostgreSQL: clients and later writes cannot tell the copy from its source. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { itemShape, readItem } from '../../../../src/engine/plan/system-plans.ts'
import { copyDatabase, type DatabaseLocation } from '../../../../src/engine/store/copy/copy.ts'
import { openPostgres } from '../../../../src/engine/store/postgres/postgres.ts'
import { connect } from '../../../../src/engine/store/schema/postgres/session.ts'
import { openSqlite } from '../../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { generateKey } from '../../../../src/identity/keys/key.ts'
import {
  anyone,
  collection,
  count,
  index,
  integer,
  model,
  noOverlap,
  relation,
  text,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { serve } from '../../../../src/server/serve/serve.ts'
import type { Service } from '../../../../src/server/serve/service.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { testOfOthers } from '../../../chosen.ts'
import rich from '../../../models/rich.ts'
import { call } from '../../../server/serve/service.ts'
import { query, withPostgres } from '../../../setups/databases/postgres.ts'
import { blog, Client, withFile } from '../blog.ts'
import { postgresLocation, sqliteLocation } from './locations.ts'

function copyOf(model: typeof blog, from: DatabaseLocation, to: DatabaseLocation, live = false) {
  return copyDatabase(model, { from, to, live, onProgress: () => {} })
}

function open(model: typeof blog, { location: at, kind }: DatabaseLocation): Store | Promise<Store> {
  return kind === 'sqlite' ? openSqlite(model, { file: at }) : openPostgres(model, { url: at })
}

async function withStore<T>(
  model: typeof blog,
  place: DatabaseLocation,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await open(model, place)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Runs `use` with a service of the rich model. */
async function serving<T>(
  place: DatabaseLocation,
  key: string,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const service: Service = await serve(rich, {
    port: 0,
    host: '127.0.0.1',
    database: place.location,
    logLevel: 'silent',
    adminApiKey: key,
    secretKeys: ['a key that goes with the database'.replaceAll(' ', '-')],
    adminEmail: 'admin@example.com',
  })
  try {
    return await use(service.url)
  } finally {
    await service.close()
  }
}

const odd = [
  '',
  ' ',
  'Ünïcödé ß ﬁ',
  '\u{1f600}\u{10ffff}',
  "'; DROP TABLE tasks; --",
  '\\',
  '\\N',
  '\t"{},\r\n',
  '\u0001',
]

/** Removes the characters that a single-line string may not contain. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '')
}

async function fill(url: string, key: string): Promise<void> {
  const post = async (path: string, body: unknown): Promise<number> => {
    const answer = await call(`${url}/api/v1/${path}`, { method: 'POST', key, body })
    assert.equal(answer.status, 201, answer.text)
    return Number(answer.json.id ?? (answer.json.data as { id?: number } | undefined)?.id)
  }
  for (const [n, settings] of [{ theme: 'dark' }, { columns: ['b', 'a', 'b'], theme: 'light' }].entries()) {
    await post('projects', { name: `Project ${n}`, slug: `p-${n}`, settings, budget: [0.1, 1e15][n] })
  }
  for (const [n, title] of odd.entries()) {
    await post('tasks', {
      title: `${n}${oneLine(title)}`,
      notes: title,
      project_id: 1 + (n % 2),
      parent_id: n > 3 ? n - 2 : null,
      estimate: [0, 0.1, 1e-7, 999.999, 3][n % 5],
      done: n % 2 === 0,
      due_on: n % 3 === 0 ? '0000-01-01' : '9999-12-31',
      extra: [null, { b: 1, a: [1.0, 1e3, null] }, 'text', 7][n % 4],
    })
  }
  for (const name of new Set(odd.map(oneLine))) if (name.trim() !== '') await post('labels', { name })
  await post('api_keys', { name: 'a key', scopes: ['*'] })
  await post('oauth_apps', { name: 'An app', redirect_uris: ['https://app.example/back'] })
  const send = (method: string, path: string, body?: unknown) =>
    call(`${url}/api/v1/${path}`, { method, key, ...(body === undefined ? {} : { body }) })
  assert.equal((await send('PATCH', 'tasks/2', { title: 'changed word', extra: { c: null } })).status, 200)
  // This also deletes its one child.
  assert.equal((await send('DELETE', 'tasks/4')).status, 204)
  // The deleted row has the last id, which must not be reused.
  const deleted = await post('tasks', { title: 'gone', project_id: 1 })
  assert.equal((await send('DELETE', `tasks/${deleted}`)).status, 204)
}

const paths = [
  ...[
    'users',
    'projects',
    'tasks',
    'labels',
    'task_labels',
    'contacts',
    'memberships',
    'api_keys',
    'oauth_apps',
  ].flatMap(name => [
    `${name}?per_page=100`,
    `${name}?per_page=2&page=2`,
    `${name}?sort=-created_at,id&per_page=3`,
    `${name}/1`,
  ]),
  ...odd.map((_, n) => `tasks/${n + 1}`),
  'tasks?sort=title',
  'tasks?sort=-title&per_page=3',
  'tasks?sort=notes,id',
  'tasks?sort=estimate,-due_on,id',
  'tasks?q=unicode',
  'tasks?q=changed',
  'tasks?q=gone',
  'tasks?q=fi',
  'tasks?done=true',
  'tasks?estimate[gte]=0.1',
  'tasks?title[contains]=DROP',
  'projects?include=tasks',
  'projects/1/tasks?include=parent',
  'tasks/1/children',
]

/** Everything a client sees: the status, entity tag and body of every response. */
async function answers(url: string, key: string): Promise<unknown[]> {
  const results: unknown[] = []
  for (const path of paths) {
    const { status, text, headers } = await call(`${url}/api/v1/${path}`, { key })
    results.push([path, status, headers.get('etag'), status < 400 ? text : ''])
  }
  const document =
    '{ projects { id name budget settings tasks { title extra parent { id } } } users { email } }'
  results.push((await call(`${url}/graphql`, { method: 'POST', key, body: { query: document } })).text)
  return results
}

/** The change log and the records. */
async function logAndRecords(store: Store): Promise<unknown> {
  const kinds = ['Session', 'Token', 'Grant']
  const records = await Promise.all(kinds.map(kind => store.records.all(kind)))
  const { changes } = store
  return [await changes.after(0, 10_000), await changes.last(), await changes.bounds(), records]
}

testOfOthers(
  'a copy to PostgreSQL and back returns the same responses as its source and continues its ids',
  () =>
    withFile(file =>
      withPostgres(url =>
        withFile(async back => {
          const model = checkModel(rich)
          const key = generateKey()
          const places = [sqliteLocation(file), postgresLocation(url), sqliteLocation(back)] as const
          await serving(places[0], key, url => fill(url, key))
          const source = new DatabaseSync(file)
          source.exec('UPDATE "_events" SET "depth" = "id" % 3 WHERE "id" % 2 = 0')
          source.close()
          await withStore(model, places[0], async ({ records }) => {
            await records.put({
              kind: 'Session',
              id: 's',
              payload: '{"a":"\\u0000ü"}',
              expiresAt: null,
              alias: 'x',
              owner: '1',
            })
            await records.put({ kind: 'Token', id: 't', payload: '{}', expiresAt: 9e15, grant: 'g' })
            await records.consume('Token', 't')
            await records.add({ kind: 'Grant', id: 'Ä', payload: '[]', expiresAt: 1 })
          })
          const expected = await serving(places[0], key, url => answers(url, key))
          assert.ok(expected.filter(answer => Array.isArray(answer) && answer[1] === 200).length > 45)
          const rest = await withStore(model, places[0], logAndRecords)
          const copied = await copyOf(model, places[0], places[1])
          assert.deepEqual(await copyOf(model, places[1], places[2]), copied)
          assert.equal(copied.find(({ table }) => table === 'tasks')?.count, odd.length - 2)
          for (const place of places) {
            assert.deepEqual(await withStore(model, place, logAndRecords), rest)
            assert.deepEqual(await serving(place, key, url => answers(url, key)), expected, place.kind)
          }
          const next = await Promise.all(
            places.map(place =>
              serving(place, key, async url => {
                const body = {
                  title: 'next',
                  project_id: 1,
                  reference: '00000000-0000-4000-8000-000000000000',
                }
                const created = await call(`${url}/api/v1/tasks`, { method: 'POST', key, body })
                const app = await call(`${url}/api/v1/tasks?q=next`, { key })
                const twice = await call(`${url}/api/v1/tasks`, { method: 'POST', key, body })
                return [
                  created.status,
                  created.headers.get('location'),
                  app.headers.get('x-total-count'),
                  twice.status,
                ]
              }),
            ),
          )
          assert.equal(next[0]?.[0], 201)
          assert.equal(next[0]?.[3], 409)
          assert.deepEqual(next[1], next[0])
          assert.deepEqual(next[2], next[0])
        }),
      ),
    ),
)

/** Fills a source with 1,200 posts. */
async function fillBlog(place: DatabaseLocation): Promise<void> {
  await withStore(blog, place, async store => {
    const client = new Client(store)
    const { id } = await client.create('users', {
      email: 'a@b.example',
      name: 'A',
      role: 'user',
      password_hash: 'x',
    })
    await Promise.all(
      Array.from({ length: 1200 }, (_, n) => client.create('posts', { title: `post ${n}`, author_id: id })),
    )
  })
}

const directions: readonly (readonly [
  string,
  (use: (from: DatabaseLocation, to: DatabaseLocation) => Promise<void>) => Promise<void>,
])[] = [
  [
    'from SQLite to PostgreSQL',
    use => withFile(file => withPostgres(url => use(sqliteLocation(file), postgresLocation(url)))),
  ],
  [
    'from PostgreSQL to SQLite',
    use => withFile(file => withPostgres(url => use(postgresLocation(url), sqliteLocation(file)))),
  ],
]

testOfOthers(
  'from PostgreSQL: a long-running transaction on the server does not make earlier writes look like new ones',
  () =>
    withFile(file =>
      withPostgres(url =>
        withPostgres(async other => {
          const older = await connect(other)
          await older.query('BEGIN')
          await older.query('SELECT pg_current_xact_id()')
          await fillBlog(postgresLocation(url))
          const record = { kind: 'Token', id: 'early', payload: '{}', expiresAt: null }
          await withStore(blog, postgresLocation(url), ({ records }) => records.put(record))
          await copyOf(blog, postgresLocation(url), sqliteLocation(file))
          await older.end()
        }),
      ),
    ),
)

for (const [name, within] of directions) {
  testOfOthers(`${name}: a copy keeps intervals apart, and the stored counts of items`, () =>
    within(async (from, to) => {
      const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
      const rooms = checkModel(
        model({
          rooms: collection({
            fields: { name: text() },
            computed: { taken: count('bookings', { asSystem: true, stored: true }) },
            access,
          }),
          bookings: collection({
            fields: {
              room_id: relation('rooms', { inverse: 'bookings' }),
              starts_at: integer(),
              ends_at: integer({ optional: true }),
            },
            limits: [noOverlap('starts_at', 'ends_at', { per: 'room_id' })],
            access,
          }),
        }),
      )
      const booking = (starts_at: number, ends_at: number | null, room_id = 1) => ({
        room_id,
        starts_at,
        ends_at,
      })
      await withStore(rooms, from, async store => {
        const client = new Client(store, rooms)
        for (const each of ['one', 'two']) await client.create('rooms', { name: each })
        for (const values of [booking(1, 3), booking(3, 5), booking(8, null)])
          await client.create('bookings', values)
      })
      await copyOf(rooms, from, to)
      await withStore(rooms, to, async store => {
        const client = new Client(store, rooms)
        for (const values of [booking(2, 3), booking(4, 6), booking(9, 10), booking(0, 20)])
          await assert.rejects(client.create('bookings', values), { code: 'CONFLICT' })
        for (const values of [booking(5, 8), booking(0, 1), booking(2, 9, 2)])
          await client.create('bookings', values)
        const run = createRun(createGuard(rooms), store)
        const takenIn = async (id: number) =>
          (await readItem<{ readonly taken: number }>(run, itemShape('rooms', ['taken']), id))?.taken
        assert.deepEqual([await takenIn(1), await takenIn(2)], [5, 1])
      })
    }),
  )

  testOfOthers(
    `${name}: a write during the copy makes it fail, and the next copy brings over the difference`,
    () =>
      within(async (from, to) => {
        await fillBlog(from)
        const store = await open(blog, from)
        const client = new Client(store)
        let writing: Promise<unknown> | undefined
        const copying = copyDatabase(blog, {
          from,
          to,
          live: false,
          onProgress: ({ doing }) => {
            if (doing !== 'compare') return undefined
            writing ??= Promise.all([
              client.update('posts', 3, { title: 'changed' }),
              client.remove('posts', 700),
              client.create('posts', { title: 'late', author_id: 1 }),
            ])
            return writing
          },
        })
        await assert.rejects(copying, /written to while it was copied.*--live/s)
        await store.close()
        await assert.rejects(async () => (await open(blog, to)).close(), /an unfinished copy/)
        const copied = await copyOf(blog, from, to)
        assert.equal(copied.find(({ table }) => table === 'posts')?.count, 1200)
        const titles = (place: DatabaseLocation) =>
          withStore(blog, place, otherStore =>
            Promise.all(
              [3, 1201].map(
                async id => ((await new Client(otherStore).item('posts', id)) as { title: string }).title,
              ),
            ),
          )
        assert.deepEqual(await titles(to), ['changed', 'late'])
        assert.deepEqual(await titles(from), await titles(to))
      }),
  )

  testOfOthers(`${name}: a record added during the copy makes it fail`, () =>
    within(async (from, to) => {
      await fillBlog(from)
      const store = await open(blog, from)
      let writing: Promise<unknown> | undefined
      const copying = copyDatabase(blog, {
        from,
        to,
        live: false,
        onProgress: () => {
          writing ??= store.records.put({ kind: 'Token', id: 'late', payload: '{}', expiresAt: null })
          return writing
        },
      })
      await assert.rejects(copying, /written to while it was copied/)
      await store.close()
      await copyOf(blog, from, to)
      await withStore(blog, to, async ({ records }) => assert.ok(await records.get('Token', 'late')))
    }),
  )

  testOfOthers(`${name}: a live copy holds the state of the source at its start`, () =>
    within(async (from, to) => {
      await fillBlog(from)
      const store = await open(blog, from)
      let writing: Promise<unknown> | undefined
      await copyDatabase(blog, {
        from,
        to,
        live: true,
        onProgress: () => {
          writing ??= new Client(store).remove('posts', 1200)
          return writing
        },
      })
      await store.close()
      await withStore(blog, to, async copy => assert.ok(await new Client(copy).item('posts', 1200)))
      assert.ok(!(await withStore(blog, from, source => new Client(source).item('posts', 1200))))
    }),
  )

  testOfOthers(
    `${name}: repeating a finished copy changes nothing, and is refused once the source or the target has changed`,
    () =>
      within(async (from, to) => {
        await fillBlog(from)
        const first = await copyOf(blog, from, to)
        // As after a `kill -9` before the copy could report its success.
        assert.deepEqual(await copyOf(blog, from, to), first)
        const rename = (place: DatabaseLocation) =>
          withStore(blog, place, store => new Client(store).update('posts', 1200, { title: 'changed since' }))
        await rename(from)
        await assert.rejects(
          copyOf(blog, from, to),
          /a finished copy of this source, and posts has changed in one/,
        )
        assert.deepEqual(await copyOf(blog, from, to, true), first)
        await rename(to)
        await assert.rejects(copyOf(blog, from, to, true), /and posts has changed in one of the two since/)
        await withStore(blog, to, async store => {
          const post = (await new Client(store).item('posts', 1200)) as { title: string }
          assert.equal(post.title, 'changed since')
        })
      }),
  )

  testOfOthers(`${name}: an unsuitable source or target is refused and left unchanged`, () =>
    within((from, to) =>
      withFile(async other => {
        await assert.rejects(copyOf(blog, from, to), /There is no database|does not fit the model/)
        await fillBlog(from)
        await assert.rejects(copyOf(checkModel(rich), from, to), /does not fit the model.*portico migrate/)
        await assert.rejects(copyOf(blog, from, from), /the same/)
        await fillBlog(to)
        await assert.rejects(copyOf(blog, from, to), /The target is not empty/)
        await withStore(blog, to, async store => assert.ok(await new Client(store).item('posts', 1200)))
        // An unfinished copy of another database.
        const half = sqliteLocation(other)
        const failing = copyDatabase(blog, {
          from,
          to: half,
          live: false,
          onProgress: () => {
            throw new Error('stopped')
          },
        })
        await assert.rejects(failing, /stopped/)
        await assert.rejects(copyOf(blog, to, half), /unfinished copy of/)
        await assert.rejects(copyOf(blog, half, sqliteLocation(`${other}2`)), /an unfinished copy/)
        await copyOf(blog, from, half)
      }),
    ),
  )
}

test('SQLite: a copy that another process has finished in the meantime does not change the target any more', () =>
  withFile(async source => {
    const [from, file] = [sqliteLocation(source), `${source}.copy`]
    await withStore(blog, from, async store => {
      await new Client(store, blog).create('users', { name: 'Ann', email: 'ann@example.com' })
    })
    const to = sqliteLocation(file)
    const interrupted = () => Promise.reject(new Error('killed'))
    await assert.rejects(copyDatabase(blog, { from, to, live: false, onProgress: interrupted }), /killed/)
    let isOtherDone = false
    const onProgress = async () => {
      if (isOtherDone) return
      isOtherDone = true
      // The other process finishes the copy, a service starts on it and writes.
      await copyOf(blog, from, to)
      await withStore(blog, to, async store => {
        await new Client(store, blog).create('users', { name: 'Ben', email: 'ben@example.com' })
      })
    }
    const resumed = copyDatabase(blog, { from, to, live: false, onProgress })
    await assert.rejects(resumed, /CopyError: Another process has finished this copy/)
    const database = new DatabaseSync(file)
    const names = database.prepare('SELECT "name" FROM "users" ORDER BY "id"').all()
    database.close()
    assert.deepEqual(
      names.map(({ name }) => name),
      ['Ann', 'Ben'],
    )
  }))

testOfOthers('a PostgreSQL database with other tables is refused as a target', () =>
  withFile(file =>
    withPostgres(async url => {
      await fillBlog(sqliteLocation(file))
      await query(url, 'CREATE TABLE things (id int)')
      await assert.rejects(
        copyOf(blog, sqliteLocation(file), postgresLocation(url)),
        /The target is not empty/,
      )
      const tables = await query(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
      assert.deepEqual(tables, [{ tablename: 'things' }])
    }),
  ),
)

testOfOthers(
  'a value that the target cannot store stops the copy with an explanation, and the copy resumes once the value is fixed',
  () =>
    withFile(file =>
      withPostgres(async url => {
        const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
        const notes = checkModel(
          model({ notes: collection({ access, fields: { code: text() }, indexes: [index('code')] }) }),
        )
        await withStore(notes, sqliteLocation(file), async store => {
          const client = new Client(store, notes)
          for (const bytes of [2, 3000]) {
            await client.create('notes', { code: randomBytes(bytes).toString('hex') })
          }
        })
        await assert.rejects(
          copyOf(notes, sqliteLocation(file), postgresLocation(url)),
          /^CopyError: The copy has stopped: index row size/,
        )
        await withStore(notes, sqliteLocation(file), store =>
          new Client(store, notes).update('notes', 2, { code: 'short' }),
        )
        // The index keeps dead rows too while any older transaction is open on the server.
        const attempt = () => copyOf(notes, sqliteLocation(file), postgresLocation(url)).catch(error => error)
        let copied = await attempt()
        for (let tries = 0; copied instanceof Error && tries < 100; tries++) {
          await wait(100)
          copied = await attempt()
        }
        if (copied instanceof Error) throw copied
        assert.equal(copied.find(({ table }: { table: string }) => table === 'notes')?.count, 2)
      }),
    ),
)
