/** A node that writes alone need not check the database for changes, and never returns data older than others have seen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { applyPostgres } from '../../../../../src/engine/store/schema/postgres/migrate.ts'
import type { Store } from '../../../../../src/engine/store/store.ts'
import { collection, model, number, text } from '../../../../../src/index.ts'
import { checkModel } from '../../../../../src/model/check/check.ts'
import type { Model } from '../../../../../src/model/model.ts'
import { query, withPostgres } from '../../../../setups/databases/postgres.ts'
import { openProxy } from '../../../../setups/databases/proxy.ts'
import { until } from '../../../../setups/databases/replicated.ts'
import { blog, Client } from '../../blog.ts'
import { access } from '../../schema/migration-cases.ts'

const ada = { name: 'Ada', email: 'ada@example.com' }

interface Fixture {
  readonly url: string
  readonly proxy: Awaited<ReturnType<typeof openProxy>>
  /** Reaches the database through the proxy. */
  readonly store: Store
  readonly client: Client
}

async function withStore(use: (fixture: Fixture) => Promise<void>, model: Model = blog): Promise<void> {
  await withPostgres(async url => {
    const proxy = await openProxy(url)
    const store = await openPostgres(model, { url: proxy.url })
    try {
      await use({ url, proxy, store, client: new Client(store, model) })
    } finally {
      await store.close()
      proxy.close()
    }
  })
}

/** Waits until the store reads without checking the database. */
async function alone(store: Store): Promise<void> {
  await until('nobody else writes', () => isAlone(store))
}

function isAlone(store: Store): boolean {
  const looking = store.refresh()
  looking?.catch(() => {})
  return looking === undefined
}

/**
 * Runs rounds until `count` of them are conclusive: those in which the node held a lease, so that it could have been wrong.
 * That depends on timing, so up to ten times as many rounds are tried.
 */
async function rounds(count: number, attempt: (round: number) => Promise<boolean>): Promise<void> {
  let shownCount = 0
  for (let round = 0; shownCount < count; round++) {
    assert.ok(round < 10 * count, `${shownCount} of ${round} rounds were conclusive`)
    if (await attempt(round)) shownCount++
  }
}

async function nameOf(client: Client, id: number): Promise<unknown> {
  return ((await client.item('users', id)) as { readonly name: unknown }).name
}

/** The name stored in the table. */
async function stored(url: string, id: number): Promise<unknown> {
  return (await query(url, 'SELECT name FROM users WHERE id = $1', [id]))[0]?.name
}

test('a node that writes alone checks the database only at intervals, and for every read while another node writes', () =>
  withStore(async ({ url, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    const otherStore = await openPostgres(blog, { url })
    await new Client(otherStore).update('users', id, { name: 'Eve' })
    assert.equal(isAlone(store), false)
    assert.equal(await nameOf(client, id), 'Eve')
    for (let round = 0; round < 20; round++) {
      await wait(10)
      assert.equal(isAlone(store), false)
    }
    await otherStore.close()
    await alone(store)
  }))

test('a write of another node is visible once it is acknowledged, even if that node starts and stops', () =>
  withStore(async ({ url, store, client }) => {
    const { id } = await client.create('users', ada)
    let last = 'Ada'
    await rounds(6, async round => {
      const otherStore = await openPostgres(blog, { url })
      const reading = during(() => nameOf(client, id))
      await alone(store)
      assert.equal(await nameOf(client, id), last)
      await alone(store)
      const isShown = isAlone(store)
      last = `new ${round}`
      await new Client(otherStore).update('users', id, { name: last })
      const now = nameOf(client, id)
      if (round % 2 === 0) await otherStore.close()
      assert.equal(await now, last)
      assert.equal(await nameOf(client, id), last)
      await reading.end()
      if (round % 2 === 1) await otherStore.close()
      return isShown
    })
  }))

test('an own commit that others can see is visible to the node before its COMMIT is answered', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    assert.equal(await nameOf(client, id), 'Ada')
    const commits = await heldCommits(url)
    const changing = client.update('users', id, { name: 'Eve' })
    const reading = during(() => nameOf(client, id))
    await until('the update commits', () => isCommitting(url))
    const { upstream } = proxy.connectionWith('COMMIT')
    // The statements before COMMIT need their answers, so answers are held back only once COMMIT is sent.
    upstream.pause()
    await commits.release()
    await until('others see the commit', async () => (await stored(url, id)) === 'Eve')
    assert.equal(await nameOf(client, id), 'Eve')
    await reading.end()
    upstream.resume()
    await changing
    await alone(store)
    assert.equal(await nameOf(client, id), 'Eve')
  }))

test('a commit whose answer is lost is visible to the node once others can see it', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    let last = 'Ada'
    for (let round = 0; round < 6; round++) {
      await alone(store)
      assert.equal(await nameOf(client, id), last)
      const commits = await heldCommits(url)
      last = `Eve ${round}`
      const changing = assert.rejects(client.update('users', id, { name: last }), { code: 'UNAVAILABLE' })
      await until('the update commits', () => isCommitting(url))
      const { upstream, client: clientSocket } = proxy.connectionWith('COMMIT')
      upstream.pause()
      await commits.release()
      await until('others see the commit', async () => (await stored(url, id)) === last)
      clientSocket.destroy()
      await changing
      assert.equal(await nameOf(client, id), last)
    }
  }))

test('a commit whose answer is lost before it completes is visible to the node once it completes', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    assert.equal(await nameOf(client, id), 'Ada')
    const commits = await heldCommits(url)
    const changing = assert.rejects(client.update('users', id, { name: 'Eve' }), { code: 'UNAVAILABLE' })
    await until('the update commits', () => isCommitting(url))
    proxy.connectionWith('COMMIT').client.destroy()
    await changing
    assert.equal(await nameOf(client, id), 'Ada', 'the commit has not completed')
    await commits.release()
    for (let name: unknown = 'Ada'; name === 'Ada'; ) {
      name = await stored(url, id)
      const storedName = await nameOf(client, id)
      if (name === 'Eve') assert.equal(storedName, 'Eve')
    }
  }))

const commitLock = 7

/** Makes each commit that updates users wait until `release`. */
async function heldCommits(url: string): Promise<{ release(): Promise<void> }> {
  await query(
    url,
    `CREATE OR REPLACE FUNCTION wait_for_release() RETURNS trigger LANGUAGE plpgsql
       AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(${commitLock}); RETURN NULL; END';
     DROP TRIGGER IF EXISTS held ON users;
     CREATE CONSTRAINT TRIGGER held AFTER UPDATE ON users
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_release()`,
  )
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query(`SELECT pg_advisory_lock(${commitLock})`)
  return { release: () => holder.end() }
}

async function isCommitting(url: string): Promise<boolean> {
  const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'advisory'`
  return (await query(url, waiting)).length > 0
}

test('the changes of a concurrent migration are visible once it completes', () =>
  withStore(async ({ url, store, client }) => {
    await rounds(3, async () => {
      const { id } = await client.create('things', { value: '2e3' })
      const value = async () =>
        String(((await client.item('things', id)) as { readonly value: unknown }).value)
      await alone(store)
      assert.equal(await value(), '2e3')
      const reading = during(() => value().catch(() => {}))
      await alone(store)
      const isShown = isAlone(store)
      await applyPostgres(url, things('number'), { allowDestructive: true })
      assert.equal(await value(), '2000')
      await reading.end()
      await applyPostgres(url, things('text'), { allowDestructive: true })
      return isShown
    })
  }, things('text')))

function things(value: 'text' | 'number'): Model {
  const fields = { value: value === 'text' ? text() : number() }
  return checkModel(model({ things: collection({ access, fields }) }))
}

/** Repeats the work until `end`. */
function during(work: () => Promise<unknown>) {
  let isOver = false
  const working = (async () => {
    for (; !isOver; await wait(1)) await work()
  })()
  return {
    end() {
      isOver = true
      return working
    },
  }
}
