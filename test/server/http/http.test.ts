import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { errorReply } from '../../../src/api/rest/reply/error-reply.ts'
import type { Reply, StreamedBody } from '../../../src/base/call.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { type GivenSettings, readSettings } from '../../../src/server/config/config.ts'
import { createHttp, type Exchange, type HttpParts, type HttpServer } from '../../../src/server/http/http.ts'
import { endWith } from '../../../src/server/http/raw-response.ts'
import { closedAfterEach } from '../../closed-after-each.ts'
import { openConnection, parseResponses, readToEnd, sendRaw } from './raw-client.ts'

const bodyLimitBytes = 1000
const closed = closedAfterEach<HttpServer>(server => {
  server.server.closeAllConnections()
  return server.close()
})

interface SentReply {
  readonly exchange: Exchange
  readonly status: number
  readonly bytes: number | undefined
}

interface OpenedServer {
  readonly port: number
  readonly server: HttpServer
  readonly sent: SentReply[]
  readonly faults: unknown[]
}

function ok(body: Reply['body']): Reply {
  return { status: 200, headers: ['Content-Type', 'text/plain'], body }
}

/** Describes the received request. */
function echo(exchange: Exchange): Reply | Promise<Reply> {
  const echoed = () => {
    const { method, path, query, address } = exchange
    return ok(JSON.stringify({ method, path, query, address, body: exchange.body.toString() }))
  }
  return exchange.readBody(bodyLimitBytes)?.then(echoed) ?? echoed()
}

async function open(
  answer = echo,
  overrides: GivenSettings = {},
  timeouts?: HttpParts['timeouts'],
): Promise<OpenedServer> {
  const settings = readSettings({ given: { port: 0, host: '127.0.0.1', ...overrides } })
  const sent: SentReply[] = []
  const faults: unknown[] = []
  const server = createHttp(settings, {
    answer,
    errorReply,
    onSent: (exchange, status, bytes) => sent.push({ exchange, status, bytes }),
    onFault: error => faults.push(error),
    ...(timeouts && { timeouts }),
  })
  closed(server)
  await server.listen()
  return { port: server.port(), server, sent, faults }
}

function onlyAnswer(output: string) {
  const answers = parseResponses(output)
  const [first] = answers
  assert.ok(first, `no answer in ${JSON.stringify(output)}`)
  assert.equal(answers.length, 1, output)
  return first
}

function isError(output: string, status: number, code: string): void {
  const answer = onlyAnswer(output)
  assert.equal(answer.status, status, output)
  const body = JSON.parse(answer.body)
  assert.deepEqual(Object.keys(body), ['error'])
  assert.equal(body.error.code, code)
  assert.equal(typeof body.error.message, 'string')
  assert.equal(answer.headers['api-version'], '1')
  assert.match(answer.headers['x-request-id'] ?? '', /^[\w.-]+$/)
  // RFC 9110, 6.6.1.
  assert.ok(Math.abs(Date.parse(answer.headers.date ?? '') - Date.now()) < 60_000, output)
}

const tail = 'Host: x\r\nConnection: close\r\n\r\n'

test('a request keeps method, path and query as they were sent', async () => {
  const { port } = await open()
  const answer = onlyAnswer(await sendRaw(port, `GET /a%20b/c?x=1&y=%2f HTTP/1.1\r\n${tail}`))
  assert.equal(answer.status, 200)
  assert.deepEqual(JSON.parse(answer.body), {
    method: 'GET',
    path: '/a%20b/c',
    query: 'x=1&y=%2f',
    address: '127.0.0.1',
    body: '',
  })
})

const oddTargets = [
  ['http://other.example/a?b=1', '/a', 'b=1'],
  ['HTTPS://other.example', '/', ''],
  ['http://other.example?a=/b', '/', 'a=/b'],
  ['/%', '/%', ''],
  ['/%c0%ae/%2e%2e', '/%c0%ae/%2e%2e', ''],
  ['//a//b;c', '//a//b;c', ''],
  ['/a?b?c=', '/a', 'b?c='],
  [`/${'x'.repeat(5000)}`, `/${'x'.repeat(5000)}`, ''],
  ['*', '*', ''],
] as const

for (const [target, path, query] of oddTargets) {
  test(`the target ${target.slice(0, 40)} is passed on unchanged`, async () => {
    const { port } = await open()
    const output = await sendRaw(port, `OPTIONS ${target} HTTP/1.1\r\n${tail}`)
    const echoed = JSON.parse(onlyAnswer(output).body)
    assert.deepEqual([echoed.path, echoed.query], [path, query])
  })
}

test('a target that is neither a path nor a URL is refused', async () => {
  const { port } = await open()
  const output = await sendRaw(port, `GET foo:bar HTTP/1.1\r\n${tail}`)
  isError(output, 400, 'BAD_REQUEST')
})

const malformed: readonly (readonly [string, string, number, string])[] = [
  ['bytes that are not HTTP', 'hello\r\n\r\n', 400, 'BAD_REQUEST'],
  ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'BAD_REQUEST'],
  ['an unknown method', `BREW /pot HTTP/1.1\r\n${tail}`, 405, 'METHOD_NOT_ALLOWED'],
  ['a header without colon', 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n', 400, 'BAD_REQUEST'],
  ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400, 'BAD_REQUEST'],
  ['a NUL in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', 400, 'BAD_REQUEST'],
  ['a negative length', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400, 'BAD_REQUEST'],
  [
    'two lengths (RFC 9112, 6.3)',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'BAD_REQUEST',
  ],
  [
    'a Content-Length with chunks (RFC 9112, 6.1)',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'BAD_REQUEST',
  ],
  [
    'headers beyond the limit',
    `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
    400,
    'BAD_REQUEST',
  ],
  ['a target beyond the limit', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${tail}`, 400, 'BAD_REQUEST'],
  ['HTTP/2.0', `GET / HTTP/2.0\r\n${tail}`, 400, 'BAD_REQUEST'],
  ['HTTP/0.9', `GET / HTTP/0.9\r\n${tail}`, 400, 'BAD_REQUEST'],
  [
    'a transfer coding besides chunks (RFC 9112, 6.1)',
    'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
    400,
    'BAD_REQUEST',
  ],
  [
    'chunks with HTTP/1.0 (RFC 9112, 6.1)',
    'POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n',
    400,
    'BAD_REQUEST',
  ],
  ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'BAD_REQUEST'],
  ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n', 400, 'BAD_REQUEST'],
  ['CONNECT', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
]

for (const [name, bytes, status, code] of malformed) {
  test(`${name} gets a response in the error format, and the connection is closed`, async () => {
    const { port } = await open()
    isError(await sendRaw(port, bytes), status, code)
  })
}

test('HTTP/1.0 does not need a Host header', async () => {
  const { port } = await open()
  assert.equal(onlyAnswer(await sendRaw(port, 'GET /old HTTP/1.0\r\n\r\n')).status, 200)
})

test('pipelined requests are answered in order, a malformed one after the earlier ones', async () => {
  const release = Promise.withResolvers<void>()
  const { port } = await open(async exchange => {
    if (exchange.path === '/slow') await release.promise
    return ok(exchange.path)
  })
  const output = sendRaw(
    port,
    'GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /fast HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n',
  )
  setTimeout(release.resolve, 50)
  const answers = parseResponses(await output)
  assert.deepEqual(
    answers.map(answer => [answer.status, answer.status === 200 && answer.body]),
    [
      [200, '/slow'],
      [200, '/fast'],
      [400, false],
    ],
  )
})

test('a pipelined request begins when the previous one has been answered', async () => {
  const release = Promise.withResolvers<void>()
  const begun: string[] = []
  const { port, sent } = await open(async exchange => {
    begun.push(exchange.path)
    if (exchange.path === '/a') await release.promise
    return ok(exchange.path)
  })
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  for (const path of ['/a', '/b', '/c'])
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
  // A request on another connection, sent later, was answered, so the pipelined ones have arrived.
  await sendRaw(port, `GET /other HTTP/1.1\r\n${tail}`)
  assert.deepEqual(begun, ['/a', '/other'])
  release.resolve()
  while (sent.length < 4) await wait(1)
  assert.deepEqual(begun, ['/a', '/other', '/b', '/c'])
  socket.end()
  assert.deepEqual(
    parseResponses(await output).map(({ body }) => body),
    ['/a', '/b', '/c'],
  )
})

test('while a request runs, no further pipelined requests are read', async () => {
  const release = Promise.withResolvers<void>()
  const { port, server } = await open(async exchange => {
    if (exchange.path === '/slow') await release.promise
    return ok('')
  })
  let read = 0
  server.server.on('request', () => read++)
  const socket = await openConnection(port)
  const pipelined = 'GET /next HTTP/1.1\r\nHost: x\r\n\r\n'
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.write(pipelined.repeat(200_000))
  socket.on('error', () => {}).resume()
  while (read < 2) await wait(1)
  await sendRaw(port, `GET /other HTTP/1.1\r\n${tail}`)
  // Node reads 64 KiB at a time, here just under two thousand requests.
  assert.ok(read < 8000, `${read} were read`)
  release.resolve()
  socket.destroy()
})

test('HEAD has the headers of GET and no body', async () => {
  const { port } = await open(() => ok('héllo'))
  const [getOutput, headOutput] = await Promise.all([
    sendRaw(port, `GET / HTTP/1.1\r\n${tail}`),
    sendRaw(port, `HEAD / HTTP/1.1\r\n${tail}`),
  ])
  const length = (output: string) => /content-length: (\d+)/i.exec(output)?.[1]
  assert.equal(length(getOutput), '6')
  assert.equal(length(headOutput), '6')
  assert.ok(headOutput.endsWith('\r\n\r\n'))
})

for (const status of [204, 304]) {
  test(`a ${status} has no body and no Content-Length`, async () => {
    const { port } = await open(() => ({ status, headers: ['ETag', '"a"'], body: null }))
    const output = await sendRaw(port, `GET / HTTP/1.1\r\n${tail}`)
    assert.match(output, /ETag: "a"/)
    assert.doesNotMatch(output, /content-length/i)
    assert.ok(output.endsWith('\r\n\r\n'))
  })
}

test('a body is complete whether it arrives in one piece, in several or in chunks', async () => {
  const { port } = await open()
  const inOnePiece = await sendRaw(port, `POST / HTTP/1.1\r\nContent-Length: 5\r\n${tail}hello`)
  assert.equal(JSON.parse(onlyAnswer(inOnePiece).body).body, 'hello')
  const chunks = await sendRaw(
    port,
    `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n${tail}3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n`,
  )
  assert.equal(JSON.parse(onlyAnswer(chunks).body).body, 'hello')
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write(`POST / HTTP/1.1\r\nContent-Length: 5\r\n${tail}`)
  for (const letter of 'hello') {
    await new Promise(resolve => setImmediate(resolve))
    socket.write(letter)
  }
  assert.equal(JSON.parse(onlyAnswer(await output).body).body, 'hello')
})

test('a body of exactly the limit is accepted; one byte more is refused', async () => {
  const { port } = await open()
  const post = (length: number) =>
    sendRaw(port, `POST / HTTP/1.1\r\nContent-Length: ${length}\r\n${tail}${'a'.repeat(length)}`)
  assert.equal(onlyAnswer(await post(bodyLimitBytes)).status, 200)
  isError(await post(bodyLimitBytes + 1), 413, 'PAYLOAD_TOO_LARGE')
})

test('a Content-Length over the limit is refused before the body is sent', async () => {
  const { port } = await open()
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 52428800\r\n\r\n')
  const [first] = await once(socket, 'data')
  assert.match(String(first), /^HTTP\/1\.1 413 /)
  socket.end()
  isError(await output, 413, 'PAYLOAD_TOO_LARGE')
})

test('a connection stays open after a small unread body, and is closed after a large one', async () => {
  // Refused immediately: a large body that has arrived while its request was queued does no harm.
  const { port } = await open(
    () => {
      throw new ApiError('UNAUTHORIZED')
    },
    { maxDelay: '0 ms' },
  )
  const post = (length: number) =>
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${'a'.repeat(length)}`
  const answers = parseResponses(await sendRaw(port, `${post(2000)}${post(20)}${post(100_000)}`))
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers['connection']]),
    [
      [401, 'keep-alive'],
      [401, 'keep-alive'],
      [401, 'close'],
    ],
  )
})

test('a client that sends 50 MB regardless can still read the response', async () => {
  const { port } = await open()
  const req = request({ port, method: 'POST', headers: { 'Content-Length': 52_428_800 } })
  req.on('error', () => {})
  const response = once(req, 'response')
  const block = Buffer.alloc(1_048_576, 97)
  for (let index = 0; index < 50; index++) req.write(block)
  req.end()
  const [res] = await response
  assert.equal(res.statusCode, 413)
  res.resume()
})

test('chunks over the limit are refused while they arrive', async () => {
  const { port } = await open()
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  socket.write(`400\r\n${'a'.repeat(1024)}\r\n`)
  await once(socket, 'data')
  socket.end()
  isError(await output, 413, 'PAYLOAD_TOO_LARGE')
})

test('Expect: 100-continue gets a 100 only if the body will be read', async () => {
  const { port } = await open()
  const expect = (length: number) =>
    `POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write(expect(2))
  const [first] = await once(socket, 'data')
  assert.match(String(first), /^HTTP\/1\.1 100 /)
  socket.write('ab')
  assert.match(await output, /HTTP\/1\.1 200 /)
  const large = await openConnection(port)
  const refusal = readToEnd(large)
  large.write(expect(5000))
  const [refused] = await once(large, 'data')
  large.end()
  assert.match(String(refused), /^HTTP\/1\.1 413 /)
  assert.doesNotMatch(await refusal, /HTTP\/1\.1 100/)
})

test('HTTP/1.0 gets no 100 (RFC 9110, 10.1.1)', async () => {
  const { port } = await open()
  const output = await sendRaw(port, 'POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab')
  assert.match(output, /^HTTP\/1\.1 200 /)
  assert.match(output, /"body":"ab"/)
})

test('headers that never end get a 408', async () => {
  const { port } = await open(echo, {}, { headersMs: 1000, requestMs: 2000 })
  isError(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: x\r\n'), 408, 'REQUEST_TIMEOUT')
})

test('a body that never ends gets a 408', async () => {
  const { port } = await open(echo, {}, { headersMs: 1000, requestMs: 1000 })
  isError(
    await sendRaw(port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc'),
    408,
    'REQUEST_TIMEOUT',
  )
})

test('an incomplete body does not reach the transport', async () => {
  const { port, sent } = await open()
  const socket = await openConnection(port)
  socket.write('POST /cut HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc')
  socket.end()
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'close')
  assert.equal(onlyAnswer(await sendRaw(port, `GET / HTTP/1.1\r\n${tail}`)).status, 200)
  assert.equal(sent.filter(({ exchange, status }) => exchange.path === '/cut' && status < 400).length, 0)
})

for (const [name, body, leave] of [
  ['disconnects after a part of its body', 'abc', 'destroy'],
  ['resets the connection after its whole body', 'abcdefghij', 'resetAndDestroy'],
] as const) {
  test(`a client that ${name}, before the body is read, leaves nothing running`, async () => {
    const came = Promise.withResolvers<Exchange>()
    const read = Promise.withResolvers<void>()
    const { port, server, sent } = await open(async exchange => {
      came.resolve(exchange)
      await read.promise
      return echo(exchange)
    })
    const socket = await openConnection(port)
    socket.write(`POST /gone HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n${body}`)
    const { req } = await came.promise
    const closed = new Promise(resolve => req.once('close', resolve))
    socket[leave]()
    await closed
    read.resolve()
    while (server.running() > 0) await wait(5)
    assert.deepEqual(
      sent.map(({ status }) => status),
      [408],
    )
  })
}

test('a client that half-closes after its whole body, before it is read, gets a response', async () => {
  const came = Promise.withResolvers<Exchange>()
  const read = Promise.withResolvers<void>()
  const { port } = await open(async exchange => {
    came.resolve(exchange)
    await read.promise
    return echo(exchange)
  })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const output = readToEnd(socket)
  socket.end('POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabcdefghij')
  socket.once('end', () => socket.destroy())
  const { req } = await came.promise
  await once(req.socket, 'end')
  read.resolve()
  const answer = onlyAnswer(await output)
  assert.equal(JSON.parse(answer.body).body, 'abcdefghij')
  assert.equal(answer.headers.connection, 'close')
})

test('a well-formed X-Request-Id is adopted; otherwise a unique one is generated', async () => {
  const { port } = await open()
  const idFor = async (sent?: string) => {
    const header = sent === undefined ? '' : `X-Request-Id: ${sent}\r\n`
    return onlyAnswer(await sendRaw(port, `GET / HTTP/1.1\r\n${header}${tail}`)).headers['x-request-id'] ?? ''
  }
  assert.equal(await idFor('a.B-c_9'), 'a.B-c_9')
  assert.equal(await idFor('x'.repeat(128)), 'x'.repeat(128))
  const ids = await Promise.all([
    idFor(),
    idFor(),
    idFor('x'.repeat(129)),
    idFor('a b'),
    idFor('a\r\nX-Request-Id: b'),
    idFor('pk_01234567890123456789012345678901abcdef'),
  ])
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{12}\.[0-9a-z]+$/)
})

test('errors become replies, and only internal ones are reported as faults', async () => {
  const { port, faults } = await open(exchange => {
    if (exchange.path === '/known') throw new ApiError('NOT_FOUND')
    if (exchange.path === '/later') return Promise.reject(new ApiError('CONFLICT'))
    throw new Error('secret detail')
  })
  const ask = (path: string) => sendRaw(port, `GET ${path} HTTP/1.1\r\n${tail}`)
  isError(await ask('/known'), 404, 'NOT_FOUND')
  isError(await ask('/later'), 409, 'CONFLICT')
  assert.equal(faults.length, 0)
  const output = await ask('/unknown')
  isError(output, 500, 'INTERNAL_ERROR')
  assert.doesNotMatch(output, /secret/)
  assert.equal(faults.length, 1)
})

test('a reply whose headers cannot be written is a 500', async () => {
  const { port, server } = await open(() => ({ status: 200, headers: ['A', 'b\r\nC: d'], body: 'x' }))
  isError(await sendRaw(port, `GET / HTTP/1.1\r\n${tail}`), 500, 'INTERNAL_ERROR')
  assert.equal(server.running(), 0)
})

test('a streamed body is sent in parts, and ends when the client disconnects', async () => {
  const disconnected = Promise.withResolvers<void>()
  async function* endless() {
    try {
      for (;;) yield 'a'.repeat(65_536)
    } finally {
      disconnected.resolve()
    }
  }
  async function* parts() {
    yield 'one,'
    yield 'two'
  }
  const { port } = await open(exchange => ok(exchange.path === '/endless' ? endless() : parts()))
  const output = await sendRaw(port, `GET / HTTP/1.1\r\n${tail}`)
  assert.match(output, /transfer-encoding: chunked/i)
  assert.ok(output.includes('one,') && output.includes('two'))
  const socket = await openConnection(port)
  socket.on('error', () => {})
  socket.write(`GET /endless HTTP/1.1\r\n${tail}`)
  await once(socket, 'data')
  socket.destroy()
  await disconnected.promise
})

/** Sends a request and half-closes the connection. */
async function halfClosed(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.end(`GET / HTTP/1.1\r\n${tail}`)
  await once(socket, 'connect')
  return socket
}

test('a client that has half-closed its connection gets the whole of a streamed body', async () => {
  async function* parts() {
    for (let nth = 0; nth < 5; nth++) {
      yield `part ${nth},`
      await wait(10)
    }
  }
  const { port } = await open(() => ok(parts()))
  const output = await readToEnd(await halfClosed(port))
  assert.match(output, /part 4,\r\n0\r\n\r\n$/)
})

/** A body that has one part and then no other. `left` resolves when it is stopped. */
function silentBody() {
  const disconnected = Promise.withResolvers<IteratorResult<string>>()
  let parts = 0
  const body: StreamedBody = {
    probe: '.',
    [Symbol.asyncIterator]: () => ({
      next: () => (parts++ === 0 ? Promise.resolve({ done: false, value: 'begun' }) : disconnected.promise),
      return() {
        disconnected.resolve({ done: true, value: undefined })
        return disconnected.promise
      },
    }),
  }
  return { body, left: disconnected.promise }
}

test('a silent stream goes on while a client that has half-closed its connection reads', async () => {
  const { body, left } = silentBody()
  const { port } = await open(() => ok(body))
  const socket = await halfClosed(port)
  const output = readToEnd(socket)
  assert.equal(await Promise.race([left, wait(1000, 'open')]), 'open')
  assert.equal(socket.readableEnded, false)
  socket.destroy()
  await left
  // Half a dozen probes: no more than one for each doubling of their interval.
  const probes = (await output).match(/\r\n1\r\n\./g)?.length ?? 0
  assert.ok(probes >= 3 && probes <= 6, `${probes} probes`)
})

test('a silent stream soon ends when the client has gone', async () => {
  const { body, left } = silentBody()
  const { port } = await open(() => ok(body))
  const socket = await openConnection(port)
  socket.write(`GET / HTTP/1.1\r\n${tail}`)
  await once(socket, 'data')
  const leftAt = performance.now()
  socket.destroy()
  await left
  // Well before the next probe would come.
  assert.ok(performance.now() - leftAt < 2000)
})

test('a streamed body that fails closes the connection, and the fault is reported', async () => {
  async function* brokenBody() {
    yield 'one'
    throw new Error('broken')
  }
  const { port, faults } = await open(() => ok(brokenBody()))
  const output = await sendRaw(port, `GET / HTTP/1.1\r\n${tail}`)
  assert.doesNotMatch(output, /\r\n0\r\n\r\n$/)
  assert.deepEqual(faults.map(String), ['Error: broken'])
})

test('browsers on other origins can read responses unless CORS is off', async () => {
  const { port } = await open()
  const ask = `OPTIONS /x HTTP/1.1\r\nOrigin: https://app.example\r\nAccess-Control-Request-Method: PATCH\r\n${tail}`
  const preflight = onlyAnswer(await sendRaw(port, ask))
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], '*')
  assert.match(preflight.headers['access-control-allow-methods'] ?? '', /PATCH/)
  const allowed = preflight.headers['access-control-allow-headers'] ?? ''
  assert.match(allowed, /Authorization.*X-API-Key.*If-Match.*Idempotency-Key/)
  assert.match(allowed, /traceparent, tracestate, baggage, sentry-trace, \*$/)
  const otherAnswer = onlyAnswer(
    await sendRaw(port, `GET /x HTTP/1.1\r\nOrigin: https://app.example\r\n${tail}`),
  )
  // Including `Idempotent-Replayed`.
  assert.equal(otherAnswer.headers['access-control-expose-headers'], '*')
  assert.equal(preflight.headers['access-control-allow-credentials'], undefined)
  const closed = await open(echo, { cors: false })
  const echoed = onlyAnswer(await sendRaw(closed.port, ask))
  assert.equal(echoed.headers['access-control-allow-origin'], undefined)
  assert.equal(JSON.parse(echoed.body).method, 'OPTIONS')
})

test('a forged X-Forwarded-For has no effect unless a proxy is trusted', async () => {
  const ask = async (port: number, forwarded: string) => {
    const output = await sendRaw(port, `GET / HTTP/1.1\r\nX-Forwarded-For: ${forwarded}\r\n${tail}`)
    return JSON.parse(onlyAnswer(output).body).address
  }
  const direct = await open()
  assert.equal(await ask(direct.port, '203.0.113.9'), '127.0.0.1')
  const behind = await open(echo, { trustProxy: 1 })
  assert.equal(await ask(behind.port, '198.51.100.1, 203.0.113.9'), '203.0.113.9')
  const elsewhere = await open(echo, { trustProxy: ['10.0.0.0/8'] })
  assert.equal(await ask(elsewhere.port, '203.0.113.9'), '127.0.0.1')
})

test('a stop finishes running requests, accepts no new ones, and closes idle connections', async () => {
  const release = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { port, server } = await open(async exchange => {
    if (exchange.path === '/slow') {
      started.resolve()
      await release.promise
    }
    return ok('done')
  })
  const idle = await openConnection(port)
  const idleSaid = readToEnd(idle)
  idle.write('GET /idle HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(idle, 'data')
  const slow = await openConnection(port)
  const slowSaid = readToEnd(slow)
  slow.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await started.promise
  const closed = server.close()
  await idleSaid
  await assert.rejects(openConnection(port), { code: 'ECONNREFUSED' })
  release.resolve()
  const answer = onlyAnswer(await slowSaid)
  assert.equal(answer.body, 'done')
  assert.equal(answer.headers.connection, 'close')
  await closed
  assert.equal(server.running(), 0)
})

test('a stop waits at most shutdown.grace for requests that never end', async () => {
  const started = Promise.withResolvers<void>()
  const { port, server } = await open(
    () => {
      started.resolve()
      return new Promise<Reply>(() => {})
    },
    { shutdown: { grace: '0 s' } },
  )
  const output = sendRaw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await started.promise
  await server.close()
  assert.equal(await output, '')
})

const refusedForGood = [
  ['a malformed request', 'nonsense\r\n\r\n'],
  ['CONNECT', 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
  [
    'a WebSocket that was not opened',
    'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
] as const

for (const [name, request] of refusedForGood) {
  test(`a stop does not wait for a client that keeps its side open after ${name}`, {
    timeout: 8000,
  }, async () => {
    const settings = readSettings({ given: { port: 0, host: '127.0.0.1', shutdown: { grace: '0 s' } } })
    const server = createHttp(settings, {
      answer: echo,
      errorReply,
      onSent: () => {},
      onFault: () => {},
      sockets: { paths: new Set(['/socket']), upgrade: () => Promise.reject(new ApiError('UNAVAILABLE')) },
    })
    await server.listen()
    const socket = connect({ port: server.port(), host: '127.0.0.1', allowHalfOpen: true })
    try {
      socket.write(request)
      socket.on('error', () => {}).resume()
      await once(socket, 'end')
      await server.close()
    } finally {
      socket.destroy()
    }
  })
}

test('a socket whose client keeps its side open after the last response is closed', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
  endWith(socket, 'the end')
  t.mock.timers.tick(9000)
  assert.equal(socket.destroyed, false)
  t.mock.timers.tick(2000)
  assert.equal(socket.destroyed, true)
})

test('a keep-alive connection carries many requests', async () => {
  const { port } = await open()
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'data')
  socket.write('POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab')
  await once(socket, 'data')
  socket.write(`GET /3 HTTP/1.1\r\n${tail}`)
  const paths = parseResponses(await output).map(answer => JSON.parse(answer.body).path)
  assert.deepEqual(paths, ['/1', '/2', '/3'])
})

test('every sent reply is reported with its status and the size of its body', async () => {
  const { port, sent } = await open(exchange => ok(exchange.path === '/é' ? '' : 'héllo'))
  await new Promise(resolve => get({ port, path: '/a' }, res => res.resume().on('end', resolve)))
  assert.deepEqual(
    sent.map(({ status, bytes }) => [status, bytes]),
    [[200, 6]],
  )
})

test('a reply with an invalid header value becomes a 500, and the service continues', async () => {
  const { port, faults } = await open(({ path }) => {
    return path === '/bad' ? { status: 200, headers: ['Location', '/a\r\nX-Evil: 1'], body: 'x' } : ok('fine')
  })
  const bad = await fetch(`http://127.0.0.1:${port}/bad`)
  assert.equal(bad.status, 500)
  assert.equal(bad.headers.get('x-evil'), null)
  assert.match(await bad.text(), /INTERNAL_ERROR/)
  assert.equal(faults.length, 1)
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/good`)).text(), 'fine')
})

test('a reply object that is sent repeatedly stays the same, except for headers of each request', async () => {
  const reply = { status: 200, headers: ['ETag', '"e"'], body: 'wörter', kept: { head: '', length: 0 } }
  const { port } = await open(() => reply)
  const ids = new Set<string | null>()
  for (let n = 0; n < 3; n++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`)
    assert.equal(answer.headers.get('content-length'), '7')
    assert.equal(answer.headers.get('etag'), '"e"')
    assert.equal(await answer.text(), 'wörter')
    ids.add(answer.headers.get('x-request-id'))
  }
  assert.equal(ids.size, 3)
})

test('all cookies set on the response are sent', async () => {
  const { port } = await open(({ res, path }) => {
    if (path === '/cookies') {
      res.appendHeader('Set-Cookie', 'session=1; Path=/')
      res.appendHeader('Set-Cookie', 'form=2; Path=/')
    }
    return ok('fine')
  })
  for (let n = 0; n < 2; n++) {
    const answer = await fetch(`http://127.0.0.1:${port}/cookies`)
    assert.deepEqual(answer.headers.getSetCookie(), ['session=1; Path=/', 'form=2; Path=/'])
    assert.equal(await answer.text(), 'fine')
    const otherAnswer = await fetch(`http://127.0.0.1:${port}/none`)
    assert.deepEqual(otherAnswer.headers.getSetCookie(), [])
    assert.equal(await otherAnswer.text(), 'fine')
  }
})
