/** Requests on one connection: half-closed, pipelined, and failing handshakes, over raw connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { serviceOfFile } from '../serve/service.ts'
import { openConnection, parseResponses, type RawResponse, readToEnd, sendRaw } from './raw-client.ts'

const service = serviceOfFile({ rateLimit: 'off' })

function request(method: string, path: string, body?: string, ...more: readonly string[]): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', `X-API-Key: ${service().key}`, ...more]
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${body.length}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

const post = (title: string) => request('POST', '/api/v1/posts', JSON.stringify({ title, body: 'text' }))
const get = (path: string, ...more: readonly string[]) => request('GET', path, undefined, ...more)

async function titles(): Promise<unknown[]> {
  const { json } = await service().call('/api/v1/posts?per_page=100&sort=-id', { key: service().key })
  return (json.data as readonly { title: string }[]).map(({ title }) => title)
}

/** Sends the bytes, half-closes the connection, and reads the responses. */
async function sendAndHalfClose(bytes: string): Promise<RawResponse[]> {
  const socket = await openConnection(service().port)
  // Otherwise Node would close the other half, too.
  socket.allowHalfOpen = true
  const output = readToEnd(socket)
  socket.end(bytes)
  await once(socket, 'end')
  socket.destroy()
  return parseResponses(await output)
}

suite('a client that has half-closed its connection', () => {
  test('gets the response to its write', async () => {
    const [answer, ...others] = await sendAndHalfClose(post('half-closed'))
    assert.equal(answer?.status, 201)
    assert.equal(answer.headers.connection, 'close')
    assert.equal(JSON.parse(answer.body).title, 'half-closed')
    assert.deepEqual(others, [])
  })

  test('gets the responses to all its requests, in order', async () => {
    const answers = await sendAndHalfClose(get('/api/v1/posts') + post('one of three') + get('/healthz'))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201, 200],
    )
  })

  test('gets error responses, and those of GraphQL and OAuth', async () => {
    const query = JSON.stringify({
      query: 'mutation { createPost(title: "g", authorId: "1") { title } }',
    })
    const [stored] = await sendAndHalfClose(request('POST', '/graphql', query))
    assert.match(stored?.body ?? '', /"title":"g"/)
    const [refused] = await sendAndHalfClose(request('POST', '/api/v1/posts', '{'))
    assert.equal(refused?.status, 400)
    const [token] = await sendAndHalfClose(
      'POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
    )
    assert.equal(token?.status, 400)
  })

  test('in the middle of a body gets a 400, and nothing is stored', async () => {
    const was = await titles()
    const [answer] = await sendAndHalfClose(post('cut off').slice(0, -5))
    assert.equal(answer?.status, 400)
    assert.deepEqual(await titles(), was)
  })

  test('without a request is disconnected', async () => {
    assert.deepEqual(await sendAndHalfClose(''), [])
    assert.equal((await sendAndHalfClose(get('/healthz')))[0]?.status, 200)
  })

  test('gets the events of its stream, which ends soon after the client has gone', async () => {
    const body = JSON.stringify({ query: 'subscription { newPost { id } }' })
    const open = async () => {
      const metrics = await service().call('/metrics')
      return /^portico_graphql_subscriptions (\d+)/m.exec(metrics.text)?.[1]
    }
    const socket = await openConnection(service().port)
    socket.allowHalfOpen = true
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.end(request('POST', '/graphql', body, 'Accept: text/event-stream'))
    while ((await open()) !== '1') await wait(10)
    const [stored] = parseResponses(
      await sendRaw(
        service().port,
        request('POST', '/api/v1/posts', '{"title":"e","body":"b"}', 'Connection: close'),
      ),
    )
    const { id } = JSON.parse(stored?.body ?? '')
    while (!text.includes(`{"newPost":{"id":"${id}"}`)) await wait(10)
    socket.destroy()
    while ((await open()) !== '0') await wait(10)
  })
})

suite('pipelined requests', () => {
  test('see the writes of earlier ones', async () => {
    const before = (await titles()).length
    const pipeline = post('first') + get('/api/v1/posts?per_page=1&sort=-id') + post('second')
    const answers = parseResponses(
      await sendRaw(
        service().port,
        `${pipeline}${get('/api/v1/posts?per_page=1&sort=-id', 'Connection: close')}`,
      ),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 201, 200],
    )
    const [, one, , two] = answers.map(({ body }) => JSON.parse(body))
    assert.equal(one.data[0].title, 'first')
    assert.equal(two.data[0].title, 'second')
    assert.equal(two.meta.total, before + 2)
  })

  test('with a hundred writes are each stored and answered in order', async () => {
    const expected = Array.from({ length: 100 }, (_, nth) => `nth ${nth}`)
    const output = await sendRaw(
      service().port,
      expected.map(post).join('') + get('/healthz', 'Connection: close'),
    )
    const answers = parseResponses(output)
    assert.deepEqual(
      answers.slice(0, -1).map(({ body }) => JSON.parse(body).title),
      expected,
    )
    assert.deepEqual(
      (await titles()).filter(title => String(title).startsWith('nth ')).slice(0, 100).length,
      100,
    )
  })

  test('after a response that closes the connection are not processed', async () => {
    const was = await titles()
    // Refused before its body is read, which is too long to keep the connection open.
    const refused = request('POST', '/api/v1/posts', undefined, 'Content-Length: 2000000')
    const answers = parseResponses(
      await sendRaw(service().port, refused + 'a'.repeat(2_000_000) + post('never')),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [413],
    )
    assert.deepEqual(await titles(), was)
  })

  test('that are malformed are answered after the earlier ones', async () => {
    const answers = parseResponses(
      await sendRaw(service().port, `${post('a')}${get('/healthz')}${post('b')}nonsense\r\n\r\n`),
    )
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 201, 400],
    )
  })

  test('for a WebSocket are ordinary requests: the connection is not upgraded before earlier ones are answered', async () => {
    const upgrade = get(
      '/graphql?query={__typename}',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    )
    const output = await sendRaw(service().port, post('before') + upgrade + get('/healthz'))
    assert.deepEqual(
      parseResponses(output).map(({ status, headers }) => [status, headers.connection]),
      [
        [201, 'keep-alive'],
        [200, 'close'],
      ],
    )
  })
})

suite('a malformed WebSocket handshake', () => {
  const good = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Protocol': 'graphql-transport-ws',
  }
  const rows: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['no key', { 'Sec-WebSocket-Key': '' }],
    ['a key that is too short', { 'Sec-WebSocket-Key': 'AAAA' }],
    ['another version', { 'Sec-WebSocket-Version': '7' }],
    ['no version', { 'Sec-WebSocket-Version': '' }],
    ['a malformed subprotocol', { 'Sec-WebSocket-Protocol': '{' }],
    ['a subprotocol twice', { 'Sec-WebSocket-Protocol': 'a, a' }],
  ]
  for (const [description, changed] of rows) {
    test(`with ${description} gets a GraphQL error with the usual headers`, async () => {
      const headers = Object.entries({ ...good, ...changed }).flatMap(([name, value]) =>
        value === '' ? [] : [`${name}: ${value}`],
      )
      const [answer, ...others] = parseResponses(await sendRaw(service().port, get('/graphql', ...headers)))
      assert.ok(answer)
      assert.deepEqual(others, [])
      assert.equal(answer.status, 400)
      assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
      assert.equal(answer.headers['api-version'], '1')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
      assert.equal(answer.headers['sec-websocket-version'], '13')
      assert.ok(answer.headers['x-request-id'])
      const { errors } = JSON.parse(answer.body)
      assert.equal(errors[0].extensions.code, 'BAD_REQUEST')
      assert.match(errors[0].message, /Sec-WebSocket-/)
    })
  }
})
