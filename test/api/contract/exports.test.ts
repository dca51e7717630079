/** Exports over HTTP: what the client sees when one breaks off, and what becomes of one whose client has gone. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { chosen } from '../../chosen.ts'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import notes from '../../models/notes.ts'
import { postgres, postgresRowSecurity } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'

/** More than the buffers of a connection hold. */
const calls = 40
const perCall = 10
const title = 'x'.repeat(90_000)

const csv = { Accept: 'text/csv' }
const path = '/api/v1/notes?fields=id,title'

async function seed({ call, ann }: Fixture): Promise<void> {
  for (let index = 0; index < calls; index++) {
    const body = Array.from({ length: perCall }, () => ({ title, state: 'x' }))
    const { status, text } = await call('/api/v1/notes?fields=id', { method: 'POST', key: ann.key, body })
    assert.equal(status, 201, text)
  }
}

async function newKey({ call, ann }: Fixture): Promise<{ readonly id: number; readonly key: string }> {
  const body = { name: 'of an export', scopes: ['*'] }
  const { json, text } = await call('/api/v1/api_keys', { method: 'POST', key: ann.key, body })
  assert.ok(json['key'], text)
  return json as unknown as { id: number; key: string }
}

/** Revokes the key, and waits until the service has disconnected the clients that came with it: last, a stream of events. */
async function revoke({ url, call, ann }: Fixture, { id, key }: { id: number; key: string }): Promise<void> {
  const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${key}` }
  const stream = await fetch(`${url}/api/v1/events`, { headers })
  const { status } = await call(`/api/v1/api_keys/${id}`, { method: 'DELETE', key: ann.key })
  assert.equal(status, 204)
  await stream.text()
}

for (const setup of chosen([sqlite, postgres, postgresRowSecurity])) {
  suite(`exports on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup, { rateLimit: 'off' }, notes)

    test('a whole export ends; one whose credential is revoked, or whose client has gone, does not', () =>
      withFixture(async fixture => {
        await seed(fixture)
        const open = async (key: string, signal?: AbortSignal) => {
          const response = await fetch(`${fixture.url}${path}`, {
            headers: { ...csv, Authorization: `Bearer ${key}` },
            ...(signal && { signal }),
          })
          assert.equal(response.status, 200)
          return response
        }
        const whole = await (await open(fixture.ann.key)).text()
        assert.equal(whole.split('\r\n').length, calls * perCall + 2)

        const created = await newKey(fixture)
        const response = await open(created.key)
        await revoke(fixture, created)
        await assert.rejects(response.text(), /terminated/)

        // The exports of clients that have gone do not count: more of them than a caller may have at a time.
        for (let index = 0; index < 5; index++) {
          const controller = new AbortController()
          const { body } = await until(() => open(fixture.ann.key, controller.signal))
          await body?.getReader().read()
          controller.abort()
        }
      }))

    test('an export by HTTP/1.0 that breaks off is reset', () =>
      withFixture(async fixture => {
        await seed(fixture)
        const created = await newKey(fixture)
        const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1')
        socket.write(
          `GET ${path} HTTP/1.0\r\nAccept: text/csv\r\nAuthorization: Bearer ${created.key}\r\n\r\n`,
        )
        await once(socket, 'readable')
        await revoke(fixture, created)
        let isEnded = false
        socket.on('end', () => {
          isEnded = true
        })
        const failed = once(socket, 'error')
        socket.resume()
        const [error] = await Promise.race([failed, once(socket, 'close').then(() => [undefined])])
        assert.equal((error as NodeJS.ErrnoException | undefined)?.code, 'ECONNRESET')
        assert.equal(isEnded, false)
      }))

    test('HEAD gets the headers of an export', () =>
      withFixture(async ({ call, ann, url }) => {
        const body = Array.from({ length: 150 }, () => ({ title: 'x', state: 'x' }))
        assert.equal((await call('/api/v1/notes', { method: 'POST', key: ann.key, body })).status, 201)
        const headers = { ...csv, Authorization: `Bearer ${ann.key}` }
        const head = await fetch(`${url}${path}`, { method: 'HEAD', headers })
        assert.deepEqual([head.status, head.headers.get('content-length')], [200, null])
        assert.equal(head.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
        assert.equal(head.headers.get('content-disposition'), 'attachment; filename="notes.csv"')
      }))
  })
}

/** Until two minutes have passed. */
async function until<T>(attempt: () => Promise<T>): Promise<T> {
  const endsAt = Date.now() + 120_000
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (Date.now() > endsAt) throw error
    }
  }
}
