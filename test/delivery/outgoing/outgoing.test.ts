/** Outgoing requests: what is sent and read, and responses that are late, endless or malformed. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Outgoing, type OutgoingRequest } from '../../../src/delivery/outgoing/outgoing.ts'

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void

interface Fixture {
  readonly origin: string
  readonly outgoing: Outgoing
  /** The number of connections opened to the server. */
  connections(): number
}

async function withServer(answer: Answer, use: (fixture: Fixture) => Promise<void>): Promise<void> {
  let connections = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    answer(request, response, body)
  })
  server.on('connection', () => connections++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const outgoing = new Outgoing({ allowPrivate: true, maxConnectionsPerHost: 2 })
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await use({ origin, outgoing, connections: () => connections })
  } finally {
    await outgoing.close()
    server.closeAllConnections()
    server.close()
  }
}

const bounds = { timeoutMs: 5000, maxBodyBytes: 1000 }

test('a request and its response are passed unchanged', async () => {
  const answer: Answer = (request, response, body) => {
    const { method, url, headers } = request
    response.writeHead(201, { 'X-Twice': ['a', 'b'], 'Content-Type': 'text/plain' })
    response.end(`${method} ${url} ${headers['x-own']} ${body}`)
  }
  await withServer(answer, async ({ origin, outgoing }) => {
    const { status, headers, body } = await outgoing.request({
      url: `${origin}/path?a=b`,
      method: 'POST',
      headers: { 'X-Own': 'value' },
      body: 'text',
      ...bounds,
    })
    assert.equal(status, 201)
    assert.equal(headers['content-type'], 'text/plain')
    assert.equal(headers['x-twice'], 'a')
    assert.equal(headers.constructor, undefined)
    assert.equal(body.toString(), 'POST /path?a=b value text')
  })
})

test('a redirect is returned and not followed', async () => {
  const paths: (string | undefined)[] = []
  const answer: Answer = (request, response) => {
    paths.push(request.url)
    response.writeHead(302, { Location: '/inside' }).end()
  }
  await withServer(answer, async ({ origin, outgoing }) => {
    const { status } = await outgoing.request({ url: `${origin}/`, ...bounds })
    assert.equal(status, 302)
    assert.deepEqual(paths, ['/'])
  })
})

test('an endless body is read up to its limit, then the connection is closed', async () => {
  let isClosed = false
  const answer: Answer = (_request, response) => {
    const more = (): void =>
      void (response.destroyed || (response.write('x'.repeat(1000)) && setImmediate(more)))
    response.on('drain', more)
    response.on('close', () => {
      isClosed = true
    })
    more()
  }
  await withServer(answer, async ({ origin, outgoing }) => {
    const { body } = await outgoing.request({ url: origin, ...bounds, truncates: true })
    assert.equal(body.length, 1000)
    while (!isClosed) await sleep(5)
    await assert.rejects(outgoing.request({ url: origin, ...bounds }), { failure: 'body_too_large' })
  })
})

const silent: readonly (readonly [name: string, answer: Answer])[] = [
  ['never answers', () => {}],
  ['sends headers only', (_request, response) => void response.writeHead(200).flushHeaders()],
  [
    'sends its body a byte at a time',
    (_request, response) => {
      const timer = setInterval(() => response.write('.'), 10)
      response.on('close', () => clearInterval(timer))
    },
  ],
]

for (const [name, answer] of silent) {
  test(`a request to a server that ${name} is aborted at the deadline`, async () => {
    await withServer(answer, async ({ origin, outgoing }) => {
      await assert.rejects(outgoing.request({ url: origin, ...bounds, timeoutMs: 100 }), {
        failure: 'timed_out',
      })
    })
  })
}

test('a request is aborted by its signal', async () => {
  const aborted = new AbortController()
  const answer: Answer = () => aborted.abort()
  await withServer(answer, async ({ origin, outgoing }) => {
    const request: OutgoingRequest = { url: origin, ...bounds, signal: aborted.signal }
    await assert.rejects(outgoing.request(request), { failure: 'aborted' })
  })
})

test('the number of connections to one host is limited', async () => {
  const waiting: ServerResponse[] = []
  const answer: Answer = (_request, response) => {
    waiting.push(response)
    setImmediate(() => waiting.shift()?.end('x'))
  }
  await withServer(answer, async ({ origin, outgoing, connections }) => {
    await Promise.all(Array.from({ length: 20 }, () => outgoing.request({ url: origin, ...bounds })))
    assert.ok(connections() <= 2, `${connections()}`)
  })
})

test('a closed client sends nothing, whether or not it has sent a request before', async () => {
  const answer: Answer = (_request, response) => response.end('x')
  await withServer(answer, async ({ origin, outgoing, connections }) => {
    const unused = new Outgoing({ allowPrivate: true })
    await unused.close()
    await assert.rejects(unused.request({ url: origin, ...bounds }), { failure: 'connection_failed' })
    assert.equal(connections(), 0)
    await outgoing.request({ url: origin, ...bounds })
    await outgoing.close()
    await assert.rejects(outgoing.request({ url: origin, ...bounds }), { failure: 'connection_failed' })
    assert.equal(connections(), 1)
  })
})

test('errors name the host and the fault', async () => {
  const outgoing = new Outgoing({ allowPrivate: true })
  const tcp = createTcpServer(socket => socket.end('SSH-2.0-OpenSSH\r\n'))
  await new Promise<void>(resolve => tcp.listen(0, '127.0.0.1', resolve))
  const { port } = tcp.address() as AddressInfo
  const cases: readonly (readonly [url: string, failure: string, message: RegExp])[] = [
    ['ftp://127.0.0.1/', 'url_refused', /absolute http or https URL/],
    ['/path', 'url_refused', /absolute http or https URL/],
    ['http://user:secret@127.0.0.1/', 'url_refused', /^The URL must not contain a user name or password\.$/],
    ['http://127.0.0.1:1/', 'connection_failed', /^127\.0\.0\.1:1 cannot be reached\.$/],
    ['http://name.invalid/secret', 'name_not_found', /^name\.invalid cannot be resolved\.$/],
    [
      `http://127.0.0.1:${port}/`,
      'response_malformed',
      /^127\.0\.0\.1:\d+ sent a malformed HTTP response\.$/,
    ],
    [`https://127.0.0.1:${port}/`, 'tls_failed', /no valid certificate/],
  ]
  try {
    for (const [url, failure, message] of cases) {
      await assert.rejects(outgoing.request({ url, ...bounds }), { failure, message }, url)
    }
  } finally {
    await outgoing.close()
    tcp.close()
  }
})
