/** While nobody else writes, what a node knows needs no look at the database; and it is never older than what others saw. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { collection, model, number, text } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check.ts'
import type { Model } from '../../../../src/model/model.ts'
import { openPostgres } from '../../../../src/store/postgres.ts'
import { applyPostgres } from '../../../../src/store/schema/postgres/migrate.ts'
import type { Store } from '../../../../src/store/store.ts'
import { query, withPostgres } from '../../../databases/postgres.ts'
import { proxyOf } from '../../../databases/proxy.ts'
import { until } from '../../../databases/replicated.ts'
import { blog, Client } from '../../blog.ts'
import { access } from '../../schema/migration-cases.ts'

const ada = { name: 'Ada', email: 'ada@example.com' }

interface Fixture {
  readonly url: string
  readonly proxy: Awaited<ReturnType<typeof proxyOf>>
  /** Reaches the database by the proxy. */
  readonly store: Store
  readonly client: Client
}

async function withStore(use: (fixture: Fixture) => Promise<void>, of: Model = blog): Promise<void> {
  await withPostgres(async url => {
    const proxy = await proxyOf(url)
    const store = await openPostgres(of, { url: proxy.url })
    try {
      await use({ url, proxy, store, client: new Client(store, of) })
    } finally {
      await store.close()
      proxy.close()
    }
  })
}

/** Until the store answers without a look. */
async function alone(store: Store): Promise<void> {
  await until('nobody else writes', () => isAlone(store))
}

function isAlone(store: Store): boolean {
  const looking = store.refresh()
  looking?.catch(() => {})
  return looking === undefined
}

/**
 * So many rounds that show something: only where the node knew enough not to look, when it began, could it have been
 * wrong. Whether it did is a matter of time, so more rounds are tried than count.
 */
async function rounds(count: number, one: (round: number) => Promise<boolean>): Promise<void> {
  let shown = 0
  for (let round = 0; shown < count; round++) {
    assert.ok(round < 10 * count, `of ${round} rounds ${shown} showed something`)
    if (await one(round)) shown++
  }
}

async function nameOf(client: Client, id: number): Promise<unknown> {
  return ((await client.item('users', id)) as { readonly name: unknown }).name
}

/** As it stands in the table. */
async function stored(url: string, id: number): Promise<unknown> {
  return (await query(url, 'SELECT name FROM users WHERE id = $1', [id]))[0]?.name
}

test('a node that writes alone looks at the database now and then only, and at every turn beside another', () =>
  withStore(async ({ url, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    const other = await openPostgres(blog, { url })
    await new Client(other).update('users', id, { name: 'Eve' })
    assert.equal(isAlone(store), false)
    assert.equal(await nameOf(client, id), 'Eve')
    for (let round = 0; round < 20; round++) {
      await wait(10)
      assert.equal(isAlone(store), false)
    }
    await other.close()
    await alone(store)
  }))

test('what another node has written is seen from its answer on, also when it comes and goes', () =>
  withStore(async ({ url, store, client }) => {
    const { id } = await client.create('users', ada)
    let last = 'Ada'
    await rounds(6, async round => {
      const other = await openPostgres(blog, { url })
      const reading = during(() => nameOf(client, id))
      await alone(store)
      assert.equal(await nameOf(client, id), last)
      await alone(store)
      const isShown = isAlone(store)
      last = `new ${round}`
      await new Client(other).update('users', id, { name: last })
      const now = nameOf(client, id)
      if (round % 2 === 0) await other.close()
      assert.equal(await now, last)
      assert.equal(await nameOf(client, id), last)
      await reading.end()
      if (round % 2 === 1) await other.close()
      return isShown
    })
  }))

test('a commit of its own that others see is seen by the node before it hears of it', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    assert.equal(await nameOf(client, id), 'Ada')
    const commits = await heldCommits(url)
    const changing = client.update('users', id, { name: 'Eve' })
    const reading = during(() => nameOf(client, id))
    await until('it commits', () => isCommitting(url))
    const { up } = proxy.linkOf('COMMIT')
    // The statements before COMMIT must be answered, so the answers are held back once it is sent.
    up.pause()
    await commits.release()
    await until('others see it', async () => (await stored(url, id)) === 'Eve')
    assert.equal(await nameOf(client, id), 'Eve')
    await reading.end()
    up.resume()
    await changing
    await alone(store)
    assert.equal(await nameOf(client, id), 'Eve')
  }))

test('a commit whose answer is lost is seen when others see it', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    let last = 'Ada'
    for (let round = 0; round < 6; round++) {
      await alone(store)
      assert.equal(await nameOf(client, id), last)
      const commits = await heldCommits(url)
      last = `Eve ${round}`
      const changing = assert.rejects(client.update('users', id, { name: last }), { code: 'UNAVAILABLE' })
      await until('it commits', () => isCommitting(url))
      const { up, down } = proxy.linkOf('COMMIT')
      up.pause()
      await commits.release()
      await until('others see it', async () => (await stored(url, id)) === last)
      down.destroy()
      await changing
      assert.equal(await nameOf(client, id), last)
    }
  }))

test('a commit whose answer is lost before it is done is seen as soon as it is', () =>
  withStore(async ({ url, proxy, store, client }) => {
    const { id } = await client.create('users', ada)
    await alone(store)
    assert.equal(await nameOf(client, id), 'Ada')
    const commits = await heldCommits(url)
    const changing = assert.rejects(client.update('users', id, { name: 'Eve' }), { code: 'UNAVAILABLE' })
    await until('it commits', () => isCommitting(url))
    proxy.linkOf('COMMIT').down.destroy()
    await changing
    assert.equal(await nameOf(client, id), 'Ada', 'it is not done yet')
    await commits.release()
    for (let name: unknown = 'Ada'; name === 'Ada'; ) {
      name = await stored(url, id)
      const known = await nameOf(client, id)
      if (name === 'Eve') assert.equal(known, 'Eve')
    }
  }))

const commitLock = 7

/** From now on each commit that changes users waits, until they are released. */
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

test('what a migration beside it changes is seen when it is done', () =>
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

/** Does it again and again until it is ended. */
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
