/** A database that neither answers nor hangs up: requests are refused in time, and go on when it speaks again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/errors.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { withPostgres } from '../databases/postgres.ts'
import { proxyOf } from '../databases/proxy.ts'
import { blog, Client } from '../store/blog.ts'

test('silence is 503 within seconds, for reads, writes and whoever asks whether it is ready', () =>
  withPostgres(async direct => {
    const proxy = await proxyOf(direct)
    const store = await openPostgres(blog, { url: proxy.url })
    const client = new Client(store)
    try {
      await client.create('users', { name: 'x', email: 'x@example.com' })
      proxy.state.isSilent = true
      const refused = async (ask: () => Promise<unknown>) => {
        const began = performance.now()
        const error = await ask().then(
          () => assert.fail('answered'),
          (cause: unknown) => cause,
        )
        assert.ok(error instanceof ApiError && error.code === 'UNAVAILABLE', String(error))
        return performance.now() - began
      }
      for (let round = 0; round < 3; round++) {
        const times = await Promise.all([
          refused(() => client.item('users', 1)),
          refused(async () => store.ping()),
        ])
        assert.ok(Math.max(...times) < 4000, `${times}`)
      }
      proxy.state.isSilent = false
      const until = performance.now() + 10_000
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
