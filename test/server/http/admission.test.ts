/** Admission control: which requests are served, queued and refused. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorReply } from '../../../src/api/rest/reply/error-reply.ts'
import type { Call, Reply } from '../../../src/base/call.ts'
import type { ApiError } from '../../../src/base/errors.ts'
import { type GivenSettings, readSettings } from '../../../src/server/config/config.ts'
import { createHttp, type Exchange, type HttpServer } from '../../../src/server/http/http.ts'
import { createOverloadReplies } from '../../../src/server/http/overload-reply.ts'
import { SlowClients } from '../../../src/server/http/slow-clients.ts'
import { closedAfterEach } from '../../closed-after-each.ts'
import { workFor } from './busy-loop.ts'
import { openConnection, parseResponses, type RawResponse, readToEnd, sendRaw } from './raw-client.ts'

interface OpenedServer {
  readonly port: number
  readonly server: HttpServer
  readonly changes: [isOver: boolean, refused: number][]
  /** The paths in the order of their responses. */
  readonly answered: string[]
}

const closed = closedAfterEach<HttpServer>(server => {
  server.server.closeAllConnections()
  return server.close()
})

async function open(
  answer: (exchange: Exchange) => Reply | Promise<Reply>,
  overrides: GivenSettings = {},
): Promise<OpenedServer> {
  const settings = readSettings({ given: { port: 0, host: '127.0.0.1', ...overrides } })
  const changes: OpenedServer['changes'] = []
  const answered: string[] = []
  const server = createHttp(settings, {
    answer(exchange) {
      answered.push(exchange.path)
      return answer(exchange)
    },
    errorReply,
    sockets: {
      paths: new Set(['/socket']),
      upgrade: async (_exchange, socket) => void socket.end('HTTP/1.1 101 \r\n\r\n'),
    },
    onOverload: (isOver, refused) => changes.push([isOver, refused]),
    onSent: () => {},
    onFault: error => assert.fail(String(error)),
  })
  closed(server)
  await server.listen()
  return { port: server.port(), server, changes, answered }
}

const fine: Reply = { status: 200, headers: [], body: 'fine' }

const slow = (milliseconds: number) => () => {
  workFor(milliseconds)
  return fine
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`

/** Sends all requests on connections that are open before the first one is sent. */
async function sendAtOnce(port: number, requests: readonly string[]) {
  const sockets = await Promise.all(requests.map(() => openConnection(port)))
  await sleep(20)
  const outputs = sockets.map(readToEnd)
  sockets.forEach((socket, nth) => void socket.write(requests[nth] ?? ''))
  return (await Promise.all(outputs)).map(text => {
    const [answer] = parseResponses(text)
    assert.ok(answer, 'no answer')
    return answer
  })
}

const paths = (count: number) => Array.from({ length: count }, (_, nth) => `/${nth}`)

test('requests that do not fit into one turn of the event loop are queued, and served in order', async () => {
  const { port, answered } = await open(slow(5), { maxDelay: '60000 ms' })
  const answers = await sendAtOnce(port, [
    paths(40)
      .map(path => get(path).replace('Connection: close\r\n', ''))
      .join('') + get('/last'),
  ])
  assert.equal(answers[0]?.status, 200)
  assert.deepEqual(answered, [...paths(40), '/last'])
})

/** Clients that retry immediately until `refusals` requests were refused; the responses. */
async function flood(port: number, refusals = 30, request = get('/')) {
  const end = performance.now() + 120_000
  const answers: RawResponse[] = []
  const withStatus = (expected: number) => answers.filter(({ status }) => status === expected)
  const client = async () => {
    while (performance.now() < end && withStatus(503).length < refusals) {
      answers.push(...parseResponses(await sendRaw(port, request)))
    }
  }
  await Promise.all(Array.from({ length: 60 }, client))
  assert.equal(withStatus(200).length + withStatus(503).length, answers.length)
  assert.ok(withStatus(503).length >= refusals, `${withStatus(503).length} refused`)
  return { served: withStatus(200), refused: withStatus(503) }
}

test('a burst is served completely, however long it takes', async () => {
  const { port, changes } = await open(slow(2), { maxDelay: '50 ms' })
  const answers = await sendAtOnce(port, paths(15).map(get))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.deepEqual(changes, [])
})

test('a request that would wait too long is refused immediately; the others are served', async () => {
  const { port, server, changes } = await open(slow(10), { maxDelay: '100 ms' })
  const { served, refused } = await flood(port)
  assert.ok(served.length >= 20, `${served.length} served`)
  for (const { headers, body } of refused) {
    assert.ok(['1', '2', '3'].includes(headers['retry-after'] ?? ''))
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['api-version'], '1')
    assert.ok(headers['x-request-id'])
    assert.equal(JSON.parse(body).error.code, 'UNAVAILABLE')
  }
  assert.equal(server.admission.shedder.counts.refused, refused.length)
  assert.equal(server.running(), 0)
  assert.deepEqual(changes, [[true, 0]])
  await sleep(2100)
  const [last] = await sendAtOnce(port, [get('/')])
  assert.equal(last?.status, 200)
  assert.deepEqual(changes, [
    [true, 0],
    [false, refused.length],
  ])
})

test('requests with a body are queued and served, too', async () => {
  const { port, answered } = await open(
    async exchange => {
      await exchange.readBody(1000)
      workFor(10)
      return { ...fine, body: exchange.body }
    },
    { maxDelay: '100 ms' },
  )
  const { served } = await flood(port, 20, post('/', 'a body'))
  assert.ok(served.length >= 20, `${served.length} served`)
  assert.equal(answered.length, served.length)
  for (const { body } of served) assert.equal(body, 'a body')
})

test('without a maximum delay no request is refused', async () => {
  const { port, changes } = await open(slow(5), { maxDelay: '0 ms' })
  const answers = await sendAtOnce(port, paths(60).map(get))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.deepEqual(changes, [])
})

test('health checks are always answered, ahead of the queue', async () => {
  const { port, server } = await open(slow(10), { maxDelay: '100 ms' })
  const flooding = flood(port, 1000)
  while (!server.admission.shedder.isOverloaded) await sleep(10)
  for (const path of ['/healthz', '/readyz', '/metrics?x']) {
    const answers = await sendAtOnce(
      port,
      Array.from({ length: 5 }, () => get(path)),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  }
  await flooding
})

test('a request whose client has disconnected is not served', async () => {
  const { port, answered, server } = await open(slow(30), { maxDelay: '60000 ms' })
  const sockets = await Promise.all(paths(20).map(() => openConnection(port)))
  sockets.forEach((socket, nth) => void socket.write(get(`/${nth}`)))
  while (server.admission.shedder.length < 5) await sleep(1)
  for (const socket of sockets) socket.resetAndDestroy()
  while (server.admission.shedder.length > 0) await sleep(5)
  assert.ok(answered.length < 20, `${answered.length} were served`)
})

test('a WebSocket is not opened while requests are refused', async () => {
  const { port } = await open(slow(10), { maxDelay: '100 ms' })
  const upgrade =
    'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
  assert.match(await sendRaw(port, upgrade), /^HTTP\/1\.1 101/)
  await flood(port)
  const [answer] = parseResponses(await sendRaw(port, upgrade))
  assert.equal(answer?.status, 503)
  assert.ok(answer.headers['retry-after'])
})

test('refusals are cached per transport and media type, with three different Retry-After values', () => {
  const rendered: string[] = []
  const refusal = createOverloadReplies((error, { path }) => {
    rendered.push(path)
    return {
      status: (error as ApiError).status,
      headers: Object.entries((error as ApiError).headers ?? {}).flat(),
      body: path,
    }
  })
  const call = (path: string, accept?: string) => ({ path, headers: { accept } }) as unknown as Call
  const waits = Array.from({ length: 9 }, () => refusal(call('/api/v1/posts')).headers[1])
  assert.deepEqual(waits.toSorted(), ['1', '1', '1', '2', '2', '2', '3', '3', '3'])
  assert.equal(rendered.length, 3)
  for (let turn = 0; turn < 3; turn++) assert.equal(refusal(call('/graphql')).body, '/graphql')
  assert.equal(rendered.length, 6)
  for (let turn = 0; turn < 3; turn++) refusal(call('/api/v1/users', 'application/xml'))
  assert.equal(rendered.length, 9)
  for (let turn = 0; turn < 5; turn++) refusal(call('/account'))
  assert.equal(rendered.length, 14)
  // Paths chosen by clients are not kept forever.
  for (let turn = 0; turn < 1000; turn++) refusal(call('/api/v1/posts', `text/x${turn}`))
  assert.equal(refusal(call('/api/v1/posts')).status, 503)
})

test('a refusal as problem details names the refused request only', () => {
  const refusal = createOverloadReplies(errorReply)
  const headers = { accept: 'application/problem+json' }
  for (let turn = 0; turn < 9; turn++) {
    const { body } = refusal({ path: '/api/v1/posts', headers, requestId: `r${turn}` } as unknown as Call)
    assert.equal(JSON.parse(String(body)).instance, `urn:portico:request:r${turn}`)
  }
})

const hold = () => new Promise<Reply>(() => {})

test('a connection over the limit closes a few idle ones', async () => {
  const { port, server } = await open(() => fine, { maxConnections: 5 })
  const idle = await Promise.all(paths(5).map(() => openConnection(port)))
  for (const socket of idle) {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
  }
  const ended = new Set<Socket>()
  for (const socket of idle) socket.resume().once('end', () => ended.add(socket))
  assert.equal(parseResponses(await sendRaw(port, get('/')))[0]?.status, 200)
  while (ended.size < 2) await sleep(1)
  for (const socket of idle.filter(socket => !ended.has(socket))) {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
  }
  assert.equal(ended.size, 2)
  assert.equal(server.admission.connections.counts.refused, 0)
})

test('a request on a connection over the limit gets a 503, and connections beyond 110 % of the limit are closed', async () => {
  const { port, server } = await open(exchange => (exchange.path === '/hold' ? hold() : fine), {
    maxConnections: 5,
    shutdown: { grace: '0 s' },
  })
  const busy = await Promise.all(paths(5).map(() => openConnection(port)))
  for (const socket of busy) socket.write('GET /hold HTTP/1.1\r\nHost: x\r\n\r\n')
  while (server.running() < 5) await sleep(1)
  const surplus = await openConnection(port)
  const output = readToEnd(surplus)
  await sleep(20)
  assert.equal(await sendRaw(port, get('/')), '')
  surplus.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [answer] = parseResponses(await output)
  assert.equal(answer?.status, 503)
  assert.equal(answer.headers.connection, 'close')
  assert.ok(answer.headers['retry-after'])
  assert.equal(server.admission.connections.counts.refused, 2)
  for (const socket of busy) socket.resetAndDestroy()
  while (server.admission.connections.open > 0) await sleep(5)
  assert.equal(parseResponses(await sendRaw(port, get('/')))[0]?.status, 200)
})

/** Clients that send a request and do not read the response. */
async function withReaders(
  use: (server: Server, dialIn: () => Promise<Socket>) => Promise<void>,
): Promise<void> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets: Socket[] = []
  const dialIn = async () => {
    const socket = await openConnection((server.address() as AddressInfo).port)
    socket.pause().on('error', () => {})
    sockets.push(socket)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    return socket
  }
  try {
    await use(server, dialIn)
  } finally {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    server.close()
  }
}

const big = Buffer.alloc(32 * 1024 * 1024, 'x')

async function sendLargeResponse(
  server: Server,
  readers: SlowClients,
  ask: () => Promise<Socket>,
): Promise<ServerResponse> {
  const requested = once(server, 'request')
  await ask()
  const [, res] = (await requested) as [unknown, ServerResponse]
  res.end(big)
  readers.watch(res)
  return res
}

test('a client that does not read its response is disconnected', async () => {
  const readers = new SlowClients({ timeoutMs: 1000, maxBytes: 1e9, minBytesPerSecond: 1e9 })
  await withReaders(async (server, dialIn) => {
    const res = await sendLargeResponse(server, readers, dialIn)
    assert.ok(readers.bytes > 0)
    await once(res, 'close')
    assert.equal(res.writableFinished, false)
    assert.equal(readers.counts.disconnected, 1)
  })
})

test('when unread bytes exceed the limit, the client that has waited longest is disconnected', async () => {
  const readers = new SlowClients({ timeoutMs: 60_000, maxBytes: 40 * 1024 * 1024 })
  await withReaders(async (server, dialIn) => {
    const first = await sendLargeResponse(server, readers, dialIn)
    const second = await sendLargeResponse(server, readers, dialIn)
    await once(first, 'close')
    assert.equal(second.destroyed, false)
    assert.equal(readers.counts.disconnected, 1)
    assert.ok(readers.bytes <= 40 * 1024 * 1024)
  })
})

test('a longer response may be read for longer', t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const readers = new SlowClients({ timeoutMs: 0, maxBytes: 1e9, minBytesPerSecond: 1000 })
  const respond = (writableLength: number) => {
    const socket = {
      writableLength,
      destroyed: false,
      destroy() {
        socket.destroyed = true
      },
    }
    readers.watch({ socket, writableFinished: false } as unknown as ServerResponse)
    return socket
  }
  const [short, long] = [respond(1), respond(10_000_000)]
  workFor(5)
  t.mock.timers.tick(1000)
  assert.deepEqual([short.destroyed, long.destroyed], [true, false])
})

test('a client that reads its response in time keeps its connection', async () => {
  const readers = new SlowClients({ timeoutMs: 1000, maxBytes: 1e9, minBytesPerSecond: 1e9 })
  await withReaders(async (server, dialIn) => {
    let reader: Socket | undefined
    const res = await sendLargeResponse(server, readers, async () => {
      reader = await dialIn()
      return reader
    })
    reader?.resume()
    await once(res, 'finish')
    await sleep(2200)
    assert.equal(reader?.destroyed, false)
    assert.equal(readers.counts.disconnected, 0)
    assert.equal(readers.bytes, 0)
  })
})
