/** Writing connections: a write survives the loss of its connection before COMMIT. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { ApiError } from '../../../../../src/base/errors.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { openProxy } from '../../../../setups/databases/proxy.ts'
import { blog, Client } from '../../blog.ts'

const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'portico' AND wait_event_type = 'Lock'`

test('a write whose connection the server terminates is repeated once on another connection', async () => {
  await withPostgres(async url => {
    const client = new Client(await openPostgres(blog, { url }))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      const { id: author } = await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      const { id } = await client.create('posts', { title: 'before', author_id: author })
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM posts WHERE id = $1 FOR UPDATE', [id])
      const last = Number(await client.store.changes.last())
      const update = client.update('posts', id, { title: 'after' })
      let [row] = await query(url, waiting)
      while (row === undefined) {
        await wait(20)
        ;[row] = await query(url, waiting)
      }
      await query(url, 'SELECT pg_terminate_backend($1)', [row.pid])
      await other.query('COMMIT')
      await update
      const events = await client.store.changes.after(last, 10)
      assert.deepEqual(
        events.map(({ kind, row: text }) => [kind, JSON.parse(text).title]),
        [['updated', 'after']],
      )
    } finally {
      await other.end()
      await client.store.close()
    }
  })
})

test('writes beyond the size of one transaction use the free connections', async () => {
  await withPostgres(async url => {
    const client = new Client(await openPostgres(blog, { url, connections: 8 }))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      const { id } = await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE', [id])
      const held = client.update('users', id, { name: 'Eve' })
      const creates = Array.from({ length: 510 }, (_, n) =>
        client.create('posts', { title: `post ${n}`, author_id: id }),
      )
      const first = await Promise.race([held.then(() => 'held'), creates.at(-1)])
      assert.notEqual(first, 'held')
      // The last group may be committed before the first one reaches the locked row.
      while ((await query(url, waiting)).length === 0) await wait(20)
      assert.equal((await query(url, waiting)).length, 1, 'the first group waits')
      await other.query('COMMIT')
      await held
      await Promise.all(creates)
    } finally {
      await other.end()
      await client.store.close()
    }
  })
})

test('writes that time out on a lock are refused together, and the others of their group are stored', async () => {
  await withPostgres(async url => {
    const client = new Client(await openPostgres(blog, { url, connections: 4, timeoutMs: 1000 }))
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    try {
      for (const name of ['Ada', 'Eve']) await client.create('users', { name, email: `${name}@example.com` })
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM users WHERE id = 1 FOR UPDATE')
      const began = performance.now()
      // Updates have keys, so they run before creates.
      const free = client.update('users', 2, { name: 'free' }).then(() => 'done')
      const held = Array.from({ length: 60 }, (_, n) =>
        client.create('posts', { title: `post ${n}`, author_id: 1 }).catch(error => error.code),
      )
      assert.equal(await free, 'done')
      assert.deepEqual(new Set(await Promise.all(held)), new Set(['UNAVAILABLE']))
      // One after the other, each would wait for half a second.
      assert.ok(performance.now() - began < 20_000)
    } finally {
      await other.end()
      await client.store.close()
    }
  })
})

/** Makes every COMMIT that inserts a post wait for an advisory lock. */
const waitingTrigger = `CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(777); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER wait_for_lock AFTER INSERT ON posts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_lock()`

test('a write whose connection is lost during COMMIT fails as possibly stored and is not repeated', async () => {
  await withPostgres(async direct => {
    const proxy = await openProxy(direct)
    const client = new Client(await openPostgres(blog, { url: proxy.url }))
    const other = new pg.Client({ connectionString: direct })
    await other.connect()
    try {
      const { id: author } = await client.create('users', { name: 'Ada', email: 'ada@example.com' })
      await other.query(waitingTrigger)
      await other.query('SELECT pg_advisory_lock(777)')
      const create = client.create('posts', { title: 'lost', author_id: author }).then(
        () => assert.fail('acknowledged'),
        (cause: unknown) => cause,
      )
      while ((await query(direct, waiting)).length === 0) await wait(20)
      const connection = proxy.connectionWith('COMMIT')
      connection.client.destroy()
      const error = await create
      assert.ok(error instanceof ApiError)
      assert.equal(error.code, 'UNAVAILABLE')
      assert.match(error.message, /may have been stored/)
      assert.equal(error.isUnconfirmed, true)
      await other.query('SELECT pg_advisory_unlock(777)')
      const stored = () => query(direct, 'SELECT title FROM posts')
      while ((await stored()).length === 0) await wait(20)
      const found = await stored()
      assert.deepEqual(
        found.map(row => row.title),
        ['lost'],
      )
    } finally {
      await other.end()
      await client.store.close()
      proxy.close()
    }
  })
})
