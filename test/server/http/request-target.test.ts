/** The forms of a request target and the Host header, over raw connections to a whole service (RFC 9112, 3.2). */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { useOriginForm } from '../../../src/server/http/request-target.ts'
import { type TestService, withService } from '../serve/service.ts'
import { parseResponses, type RawResponse, sendRaw } from './raw-client.ts'

const registrationToken = 'a-registration-token-of-32-chars'

let testService: TestService
let close = () => {}
let ended: Promise<void>

before(async () => {
  await new Promise<void>(ready => {
    ended = withService({ rateLimit: 'off', oauth: { registrationToken } }, async service => {
      testService = service
      ready()
      await new Promise<void>(resolve => {
        close = resolve
      })
    })
  })
})
after(() => {
  close()
  return ended
})

async function sendLines(...lines: readonly string[]): Promise<RawResponse> {
  const answers = parseResponses(
    await sendRaw(testService.port, `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`),
  )
  const [answer] = answers
  assert.ok(answer && answers.length === 1, JSON.stringify(answers))
  return answer
}

function register(target: string, metadata: unknown): string {
  const body = JSON.stringify(metadata)
  const headers = [
    'Host: x',
    `Authorization: Bearer ${registrationToken}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]
  return `POST ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`
}

test('the authority of the absolute form replaces the Host header (RFC 9112, 3.2.2)', () => {
  const request = (url: string) => ({ url, httpVersion: '1.1', headers: { host: 'from-header' } })
  const [absolute, refused] = [request('http://from-target:80/a?b'), request('http://user@from-target/a')]
  for (const one of [absolute, refused]) useOriginForm(one as unknown as IncomingMessage)
  assert.deepEqual([absolute.url, absolute.headers.host], ['/a?b', 'from-target:80'])
  assert.deepEqual(refused, request('http://user@from-target/a'))
})

suite('the absolute form is equivalent to the origin form', () => {
  const bad = [
    ['a redirect URI on another host without TLS', { redirect_uris: ['http://evil.example/cb'] }],
    ['a redirect without a host', { redirect_uris: ['x:y'] }],
    [
      'a logo on a private address',
      { redirect_uris: ['https://app.example/cb'], logo_uri: 'https://10.0.0.1/logo.png' },
    ],
  ] as const
  const targets = ['/oauth/register', 'http://x/oauth/register', 'HTTPS://y:3000/oauth/register?']
  for (const [name, metadata] of bad) {
    test(`${name} is refused at registration in every form of the target`, async () => {
      for (const target of targets) {
        const [answer] = parseResponses(await sendRaw(testService.port, register(target, metadata)))
        assert.equal(answer?.status, 400, target)
      }
      const { json } = await testService.call('/api/v1/oauth_apps', { key: testService.key })
      assert.deepEqual(json.data, [])
    })
  }

  test('valid metadata can be registered in every form of the target', async () => {
    for (const target of targets) {
      const [answer] = parseResponses(
        await sendRaw(testService.port, register(target, { redirect_uris: ['https://app.example/cb'] })),
      )
      assert.equal(answer?.status, 201, `${target} ${answer?.body}`)
    }
  })

  test('REST, documents, pages and health checks accept it', async () => {
    const rows = [
      ['http://x/api/v1/posts?per_page=1', 200],
      ['http://x/.well-known/openid-configuration', 200],
      ['http://x/account/sign-in', 200],
      ['http://x/healthz', 200],
      ['http://x', 200],
      ['http://x?a=/b', 200],
    ] as const
    for (const [target, status] of rows) {
      const { status: actual } = await sendLines(
        `GET ${target} HTTP/1.1`,
        'Host: x',
        `X-API-Key: ${testService.key}`,
      )
      assert.equal(actual, status, target)
    }
  })

  test('an authorization request reaches its app, and a WebSocket opens', async () => {
    const page = await sendLines('GET http://x/oauth/authorize?client_id=no HTTP/1.1', 'Host: x')
    assert.equal(page.status, 400)
    assert.match(page.body, /client/)
    const handshake = [
      'Host: x',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      'Connection: Upgrade',
    ]
    const opening = `GET http://x/graphql HTTP/1.1\r\n${handshake.join('\r\n')}\r\n\r\n`
    // The server waits half a minute for the close frame of a WebSocket.
    const end = Buffer.from([0x88, 0x80, 0, 0, 0, 0])
    const output = await sendRaw(testService.port, Buffer.concat([Buffer.from(opening), end]))
    assert.match(output, /^HTTP\/1\.1 101 /)
  })
})

suite('a target is refused', () => {
  const rows = [
    'GET http://user@x/api/v1/posts',
    'GET http://user:password@x/healthz',
    'GET http:///api/v1/posts',
    'GET http://?a',
    'GET http://a b/',
    'GET http://[::1/api/v1/posts',
    'GET http://x:port/api/v1/posts',
    'GET ftp://x/api/v1/posts',
    'GET ws://x/graphql',
    'GET file:///etc/passwd',
    'GET x:443',
    'GET *',
    'POST *',
    'GET api/v1/posts',
    'GET /api/v1/posts#x',
    'GET /api/v1/posts?per_page=1#x',
    'GET http://x/api/v1/posts#x',
    'GET http://x#x',
    'POST /oauth/register#x',
  ]
  for (const row of rows) {
    test(row, async () => {
      const answer = await sendLines(`${row} HTTP/1.1`, 'Host: x')
      assert.equal(answer.status, 400, answer.body)
      assert.equal(JSON.parse(answer.body).error.code, 'BAD_REQUEST')
    })
  }

  test('a path that begins with two slashes is not found', async () => {
    for (const target of ['//x/api/v1/posts', 'http://x//oauth/token', '//oauth/register']) {
      const { status } = await sendLines(`GET ${target} HTTP/1.1`, 'Host: x')
      assert.equal(status, 404, target)
    }
  })
})

suite('Host', () => {
  const bad: readonly (readonly [string, readonly string[]])[] = [
    ['none', []],
    ['an empty one', ['Host:']],
    ['spaces', ['Host: a b']],
    ['two, alike', ['Host: x', 'Host: x']],
    ['two', ['Host: x', 'Host: y']],
    ['two, one of them empty', ['Host:', 'Host: y']],
    ['a list', ['Host: x,y']],
    ['a path', ['Host: x/y']],
    ['a URL', ['Host: http://x']],
    ['user information', ['Host: user@x']],
    ['a port that is not a number', ['Host: x:http']],
    ['two ports', ['Host: x:1:2']],
    ['only a port', ['Host: :80']],
    ['an address without brackets', ['Host: ::1']],
    ['brackets around a name', ['Host: [x]']],
    ['markup', ['Host: <x>']],
    ['a quote', ['Host: x"']],
    ['a bad escape', ['Host: x%zz']],
    ['bytes beyond ASCII', ['Host: h\xf6st']],
  ]
  for (const [name, headers] of bad) {
    for (const target of ['/api/v1/posts', 'http://x/api/v1/posts']) {
      test(`${name} with ${target} is a 400`, async () => {
        const answer = await sendLines(`GET ${target} HTTP/1.1`, ...headers)
        assert.equal(answer.status, 400)
        assert.match(JSON.parse(answer.body).error.message, /`Host`/)
        assert.ok(answer.headers['x-request-id'])
      })
    }
  }
  for (const host of [
    'x',
    'X.example:8080',
    'a_b-c.~d',
    '127.0.0.1:3000',
    '[::1]',
    '[2001:db8::1]:443',
    'x:',
    'h%20x',
  ]) {
    test(`${host} is accepted`, async () => {
      assert.equal((await sendLines('GET /healthz HTTP/1.1', `Host: ${host}`)).status, 200)
    })
  }
  test('HTTP/1.0 needs no Host, but a Host that is sent must be valid', async () => {
    assert.equal((await sendLines('GET /healthz HTTP/1.0')).status, 200)
    assert.equal((await sendLines('GET http://x/healthz HTTP/1.0')).status, 200)
    assert.equal((await sendLines('GET /healthz HTTP/1.0', 'Host: a b')).status, 400)
  })
})
