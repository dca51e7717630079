/** REST writes retried with their `Idempotency-Key` on any node. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { type Fixture, sharedFixtures } from '../../identity/conformance/server.ts'
import { type Answer, call } from '../../server/serve/service.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { retryConflicts } from './retry.ts'

interface Write {
  readonly method?: string
  readonly key?: string | undefined
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Sends a write to the next node in turn. */
function writer({ urls, ann }: Fixture) {
  let next = 0
  return (path: string, { idempotencyKey, headers, ...write }: Write = {}): Promise<Answer> => {
    const url = urls[next++ % urls.length] ?? assert.fail()
    return call(`${url}/api/v1${path}`, {
      method: 'POST',
      key: ann.key,
      ...write,
      headers: { ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }), ...headers },
    })
  }
}

const replayedHeader = ({ headers }: Answer) => headers.get('Idempotent-Replayed')

async function countOf({ call: ask, ann }: Fixture, query: string): Promise<number> {
  const { json } = await ask(`/api/v1/${query}`, { key: ann.key })
  return (json.meta as { total: number }).total
}

function sameAnswer(again: Answer, first: Answer): void {
  assert.deepEqual([again.status, again.text], [first.status, first.text])
  assert.equal(replayedHeader(again), 'true')
  for (const name of ['Location', 'ETag', 'Content-Type', 'Cache-Control', 'Vary']) {
    assert.equal(again.headers.get(name), first.headers.get(name), name)
  }
}

for (const setup of nodeSetups) {
  suite(`Idempotency-Key on ${setup.name}`, () => {
    const withFixture = sharedFixtures(setup)

    test('each write is executed once, and its response replayed on any node', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const title = `once ${randomUUID()}`
        const create = { idempotencyKey: randomUUID(), body: { title } }
        const created = await write('/posts', create)
        assert.equal(created.status, 201, created.text)
        assert.equal(replayedHeader(created), null)
        for (let times = 0; times < 3; times++) sameAnswer(await write('/posts', create), created)
        sameAnswer(
          await write('/posts', { ...create, idempotencyKey: `"${create.idempotencyKey}"` }),
          created,
        )
        assert.equal(await countOf(fixture, `posts?title=${encodeURIComponent(title)}`), 1)

        const path = `/posts/${created.json.id}`
        const patch = { method: 'PATCH', idempotencyKey: randomUUID(), body: { body: 'one' } }
        const patched = await write(path, patch)
        assert.equal(patched.status, 200, patched.text)
        await write(path, { method: 'PATCH', body: { body: 'two' } })
        sameAnswer(await write(path, patch), patched)
        assert.equal((await fixture.call(`/api/v1${path}`)).json.body, 'two')

        const put = { method: 'PUT', idempotencyKey: randomUUID(), body: { title, body: 'put' } }
        const replaced = await write(path, put)
        assert.equal(replaced.status, 200, replaced.text)
        sameAnswer(await write(path, put), replaced)

        const removal = { method: 'DELETE', idempotencyKey: randomUUID() }
        const removed = await write(path, removal)
        assert.equal(removed.status, 204)
        sameAnswer(await write(path, removal), removed)
        assert.equal((await write(path, { method: 'DELETE' })).status, 404)
      })
    })

    test('of twenty concurrent requests to all nodes, one has an effect', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const title = `parallel ${randomUUID()}`
        const create = { idempotencyKey: randomUUID(), body: { title } }
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => retryConflicts(() => write('/posts', create))),
        )
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
        assert.equal(answers.filter(answer => replayedHeader(answer) === null).length, 1)
        assert.equal(await countOf(fixture, `posts?title=${encodeURIComponent(title)}`), 1)
      })
    })

    test('a key reused for another request is a 422', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const idempotencyKey = randomUUID()
        const created = await write('/posts', { idempotencyKey, body: { title: 'One' } })
        const path = `/posts/${created.json.id}`
        const others: readonly (readonly [string, Write])[] = [
          ['/posts', { body: { title: 'Two' } }],
          ['/posts?fields=id', { body: { title: 'One' } }],
          ['/posts', { body: { title: 'One' }, headers: { 'If-Match': '*' } }],
          [path, { method: 'PUT', body: { title: 'One' } }],
          [path, { method: 'DELETE' }],
        ]
        for (const [other, request] of others) {
          const { status, code } = await write(other, { idempotencyKey, ...request })
          assert.deepEqual([status, code], [422, 'IDEMPOTENCY_KEY_REUSED'], JSON.stringify(request))
        }
        assert.equal((await fixture.call(`/api/v1${path}`)).status, 200)
      })
    })

    test('a refused write stores nothing, and may be retried', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const idempotencyKey = randomUUID()
        const invalid = await write('/posts', { idempotencyKey, body: { nonsense: 1 } })
        assert.equal(invalid.code, 'VALIDATION_FAILED')
        assert.equal((await write('/posts', { idempotencyKey, body: '[' })).status, 400)
        const stale = { method: 'PATCH', idempotencyKey, headers: { 'If-Match': '"old"' } }
        const { json } = await write('/posts', { body: { title: 'One' } })
        assert.equal((await write(`/posts/${json.id}`, { ...stale, body: { title: 'Two' } })).status, 412)
        assert.equal((await write('/posts', { idempotencyKey, key: undefined, body: {} })).status, 401)
        const created = await write('/posts', { idempotencyKey, body: { title: 'At last' } })
        assert.deepEqual([created.status, replayedHeader(created)], [201, null])
      })
    })

    test('the same key of another user or app is another key', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const { ann, ben, url } = fixture
        const create = { idempotencyKey: randomUUID(), body: { title: 'Shared' } }
        const [first, second] = [
          await write('/posts', { ...create, key: ann.key }),
          await write('/posts', { ...create, key: ben.key }),
        ]
        const app = await fixture.app()
        const form = { grant_type: 'client_credentials', scope: 'write:post' }
        const { client_id, client_secret } = app
        const granted = await fetch(`${url}/oauth/token`, {
          method: 'POST',
          body: new URLSearchParams({ ...form, client_id, client_secret }),
        })
        const { access_token } = (await granted.json()) as { access_token: string }
        const byApp = await write('/posts', { ...create, key: access_token })
        assert.deepEqual([first.status, second.status], [201, 201])
        assert.notEqual(first.json.id, second.json.id)
        // An app without a user cannot create a post: it does not get Ann's response.
        assert.equal(byApp.status, 403)
      })
    })

    test('a caller who can no longer read the item gets its status and id', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const create = { idempotencyKey: randomUUID(), body: { title: 'Gone' } }
        const created = await write('/posts', create)
        const { id } = created.json
        await write(`/posts/${id}`, { method: 'DELETE' })
        const second = await write('/posts', create)
        assert.deepEqual([second.status, second.json], [201, { id }])
        assert.equal(second.headers.get('Location'), created.headers.get('Location'))
        assert.equal(second.headers.get('ETag'), null)
        assert.equal(replayedHeader(second), 'true')
      })
    })

    test('a credential of the same user with other permissions gets the id', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const create = { idempotencyKey: randomUUID(), body: { title: 'Mine' } }
        const created = await write('/posts', create)
        const fewer = await write('/api_keys', { body: { name: 'fewer', scopes: ['write:post'] } })
        const second = await write('/posts', { ...create, key: String(fewer.json.key) })
        assert.deepEqual([second.status, second.json], [201, { id: created.json.id }])
        sameAnswer(await write('/posts', create), created)
      })
    })

    test('a secret is part of the stored response, and encrypted in the database', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const create = { idempotencyKey: randomUUID(), body: { name: 'secret', scopes: ['read:post'] } }
        const created = await write('/api_keys', create)
        assert.equal(created.status, 201, created.text)
        const secret = String(created.json.key)
        assert.match(secret, /^pk_/)
        sameAnswer(await write('/api_keys', create), created)
        assert.ok(!(await fixture.deployment.dump()).includes(secret))
        await write(`/api_keys/${created.json.id}`, { method: 'DELETE' })
        assert.deepEqual((await write('/api_keys', create)).json, { id: created.json.id })
      })
    })

    test('an app and its first secret are created once', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const body = { name: 'Once', redirect_uris: [], scopes: ['read:post'] }
        const create = { idempotencyKey: randomUUID(), body }
        const answers = await Promise.all(
          Array.from({ length: 6 }, () => retryConflicts(() => write('/oauth_apps', create))),
        )
        assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
        const [first] = answers
        assert.ok(first?.status === 201 && first.json.client_secret)
        const secrets = await fixture.call(`/api/v1/oauth_app_secrets?app_id=${first.json.id}`, {
          key: fixture.ann.key,
        })
        assert.equal((secrets.json.data as unknown[]).length, 1)
        const more = { idempotencyKey: randomUUID(), body: { app_id: first.json.id } }
        const second = await write('/oauth_app_secrets', more)
        assert.equal(second.status, 201, second.text)
        sameAnswer(await write('/oauth_app_secrets', more), second)
      })
    })

    test('a change of the e-mail address that awaits confirmation is made once', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const email = `${randomUUID()}@example.com`
        const patch = { method: 'PATCH', idempotencyKey: randomUUID(), body: { email, name: 'Anna' } }
        const first = await write(`/users/${fixture.ann.id}`, patch)
        assert.deepEqual([first.status, first.json.name], [200, 'Anna'])
        sameAnswer(await write(`/users/${fixture.ann.id}`, patch), first)
      })
    })

    test('a malformed key is a 400 with the reason, for callers who may write', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const body = { title: 'One' }
        for (const idempotencyKey of ['', '""', 'k'.repeat(256), '"a', 'a b']) {
          const { status, code, text } = await write('/posts', { idempotencyKey, body })
          assert.deepEqual([status, code], [400, 'BAD_REQUEST'], idempotencyKey)
          assert.match(text, /Idempotency-Key/)
          const nobody = await write('/posts', { idempotencyKey, body, key: undefined })
          assert.equal(nobody.status, 401)
        }
        assert.equal((await write('/posts', { idempotencyKey: '"a, \\" b"', body })).status, 201)
        assert.match(await twice(fixture), /^HTTP\/1.1 400 .*sent twice/s)
      })
    })

    test('a response is replayed after a restart of all nodes', async () => {
      await withFixture(async fixture => {
        const write = writer(fixture)
        const create = { idempotencyKey: randomUUID(), body: { title: 'Lasting' } }
        const created = await write('/posts', create)
        await fixture.restart()
        sameAnswer(await write('/posts', create), created)
      })
    })
  })
}

/** The response to a write with the header twice. */
async function twice({ urls: [url = ''], ann }: Fixture): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = '{"title":"One"}'
  const lines = [
    'POST /api/v1/posts HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${ann.key}`,
    'Idempotency-Key: one',
    'Idempotency-Key: two',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}
