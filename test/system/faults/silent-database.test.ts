/**
 * A database that neither responds nor disconnects: requests are refused in time, and succeed when it responds again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/base/errors.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { blog, Client } from '../../engine/store/blog.ts'
import { query, withPostgres } from '../../setups/databases/postgres.ts'
import { PostgresServer } from '../../setups/databases/postgres-server.ts'
import { openProxy } from '../../setups/databases/proxy.ts'

test('with a silent database, reads, writes and readiness checks are a 503 within seconds', () =>
  withPostgres(async direct => {
    const proxy = await openProxy(direct)
    const store = await openPostgres(blog, { url: proxy.url })
    const client = new Client(store)
    try {
      await client.create('users', { name: 'x', email: 'x@example.com' })
      proxy.state.isSilent = true
      const assertRefused = async (request: () => Promise<unknown>) => {
        const start = performance.now()
        const error = await request().then(
          () => assert.fail('answered'),
          (cause: unknown) => cause,
        )
        assert.ok(error instanceof ApiError && error.code === 'UNAVAILABLE', String(error))
        return performance.now() - start
      }
      for (let round = 0; round < 3; round++) {
        const times = await Promise.all([
          assertRefused(() => client.item('users', 1)),
          assertRefused(async () => store.ping()),
        ])
        assert.ok(Math.max(...times) < 4000, `${times}`)
      }
      proxy.state.isSilent = false
      const until = performance.now() + 120_000
      while (!(await client.item('users', 1).then(Boolean, () => false))) {
        assert.ok(performance.now() < until, 'it goes on')
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      const began = performance.now()
      await client.update('users', 1, { name: 'y' })
      assert.ok(performance.now() - began < 4000, 'it writes again')
    } finally {
      await store.close()
      proxy.close()
    }
  }))

/** A PostgreSQL server for one test, with one user in the store's tables. */
async function withServer(
  timeoutMs: number,
  use: (fixture: { server: PostgresServer; client: Client }) => Promise<void>,
): Promise<void> {
  const server = new PostgresServer()
  try {
    await server.start()
    const store = await openPostgres(blog, { url: server.url, timeoutMs })
    const client = new Client(store)
    try {
      await client.create('users', { name: 'x', email: 'x@example.com' })
      await use({ server, client })
    } finally {
      server.resume()
      await store.close()
    }
  } finally {
    await server.remove()
  }
}

async function measureMs(request: () => Promise<unknown>) {
  const start = performance.now()
  const error = await request().then(
    () => undefined,
    (cause: unknown) => cause,
  )
  const code = error instanceof ApiError ? error.code : error && String(error)
  return { code, milliseconds: performance.now() - start }
}

/** The result of updating a row that another transaction holds for `seconds`. */
async function updateOfHeld(server: PostgresServer, client: Client, seconds: number) {
  const locked = query(
    server.url,
    `BEGIN; UPDATE users SET name = 'held' WHERE id = 1; SELECT pg_sleep(${seconds}); COMMIT`,
  )
  await new Promise(resolve => setTimeout(resolve, 300))
  const outcome = await measureMs(() => client.update('users', 1, { name: 'last' }))
  await locked
  return outcome
}

/** Less than statements may take, more than a silent connection is allowed. */
const maxResponseMs = 12_000

test('requests to a stopped server fail in time, and succeed after it continues', () =>
  withServer(60_000, async ({ server, client }) => {
    const requests = [
      () => client.update('users', 1, { name: 'y' }),
      () => client.create('users', { name: 'z', email: `${Math.random()}@example.com` }),
      () => client.item('users', 1),
    ]
    server.pause()
    const results = await Promise.all(requests.map(measureMs))
    for (const { code, milliseconds } of results) {
      assert.equal(code, 'UNAVAILABLE')
      assert.ok(milliseconds < maxResponseMs, `${milliseconds} ms`)
    }
    server.resume()
    const until = performance.now() + 120_000
    while ((await measureMs(() => client.update('users', 1, { name: 'w' }))).code !== undefined) {
      assert.ok(performance.now() < until, 'it goes on')
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    assert.match(JSON.stringify(await client.item('users', 1)), /"w"/)
  }))

test('waiting for a row lock is not cut off while the database responds to others', () =>
  withServer(20_000, async ({ server, client }) => {
    const { code, milliseconds } = await updateOfHeld(server, client, 5)
    assert.equal(code, undefined)
    assert.ok(milliseconds > 3000, 'it did wait')
    assert.match(JSON.stringify(await client.item('users', 1)), /"last"/)
  }))

test('`timeoutMs` limits the wait for a row lock', () =>
  withServer(1000, async ({ server, client }) => {
    const { code, milliseconds } = await updateOfHeld(server, client, 8)
    assert.equal(code, 'UNAVAILABLE')
    assert.ok(milliseconds < 7000, `${milliseconds} ms`)
  }))
