/** How many calls of a route one caller may have running at a time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, route, text } from '../../../src/index.ts'
import { code, withRoutes } from './fixture.ts'

/** Half of the connections: of one caller and one route. */
const maxRunning = 5
const settings = { maxConnections: 2 * maxRunning + 1, rateLimit: 'off' } as const

/** Code that runs until it is released, and how many calls of it have begun. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let begun = 0
  return {
    wait: () => {
      begun++
      return promise
    },
    begun: () => begun,
    open: () => resolve(),
  }
}

test('more running calls of one caller and route than the maximum are refused, until one of them has ended', async () => {
  const first = gate()
  const routes = {
    slow: route({ access: anyone, run: code(() => first.wait()) }),
    other: route({ access: anyone, run: code(() => undefined) }),
  }
  await withRoutes(
    routes,
    async ({ call, key, until }) => {
      const post = (path: string, options = {}) => call(path, { method: 'POST', ...options })
      const running = Array.from({ length: maxRunning }, () => post('/hooks/slow'))
      await until(() => first.begun() === maxRunning, 'all calls run')
      const refused = await post('/hooks/slow')
      assert.deepEqual([refused.status, refused.code], [429, 'RATE_LIMITED'])
      assert.match(refused.text, /You have 5 open calls of this route; the maximum is 5\./)
      assert.equal(first.begun(), maxRunning)
      // Another route of the same caller, and another caller of the same route.
      assert.equal((await post('/hooks/other')).status, 204)
      const byUser = post('/hooks/slow', { key })
      await until(() => first.begun() === maxRunning + 1, 'the call of another caller runs')
      first.open()
      for (const { status } of await Promise.all([...running, byUser])) assert.equal(status, 204)
      await until(async () => (await post('/hooks/slow')).status === 204, 'the places are free')
    },
    { settings },
  )
})

test('a stream counts until it has ended, and a client that goes frees its place', async () => {
  const routes = {
    stream: route({
      method: 'GET',
      access: anyone,
      run: code(() => ({
        body: (async function* () {
          yield 'first'
          await new Promise(() => {})
        })(),
      })),
    }),
  }
  await withRoutes(
    routes,
    async ({ url, call, until }) => {
      const controllers = Array.from({ length: maxRunning }, () => new AbortController())
      for (const { signal } of controllers) {
        const response = await fetch(`${url}/hooks/stream`, { signal })
        await response.body?.getReader().read()
      }
      assert.equal((await call('/hooks/stream')).status, 429)
      controllers[0]?.abort()
      const next = new AbortController()
      await until(async () => {
        const response = await fetch(`${url}/hooks/stream`, { signal: next.signal })
        if (response.status !== 200) await response.text()
        return response.status === 200
      }, 'the place is free')
      for (const controller of [...controllers, next]) controller.abort()
    },
    { settings },
  )
})

test('calls that fail, or whose input is refused, keep no place', async () => {
  const routes = {
    faulty: route({
      access: anyone,
      input: { word: text() },
      run: code(() => {
        throw new Error('failed')
      }),
    }),
  }
  await withRoutes(
    routes,
    async ({ call, until }) => {
      const statusOf = async (body: object) => (await call('/hooks/faulty', { method: 'POST', body })).status
      for (let index = 0; index < 3 * maxRunning; index++) {
        await until(async () => (await statusOf({})) === 400, 'the input is refused')
        await until(async () => (await statusOf({ word: 'x' })) === 500, 'the code fails')
      }
    },
    { settings },
  )
})
