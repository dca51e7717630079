/** The number of connections of each caller, and which ones are closed when there are too many. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { suite, test } from 'node:test'
import { WebSocket } from 'ws'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { type TestService, withService } from '../serve/service.ts'
import { openConnection, parseResponses, readToEnd, sendRaw } from './raw-client.ts'

const protocol = 'graphql-transport-ws'

interface Connection {
  readonly socket: WebSocket
  readonly closed: Promise<readonly [code: number, reason: string]>
  send(message: unknown): void
  /** The next message. */
  hear(): Promise<Readonly<Record<string, unknown>>>
}

async function open(
  { port }: TestService,
  headers: Readonly<Record<string, string>> = {},
): Promise<Connection> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, [protocol], { headers })
  const closed = new Promise<readonly [number, string]>(resolve => {
    socket.once('close', (code, reason) => resolve([code, String(reason)]))
  })
  const messages: string[] = []
  socket.on('message', data => messages.push(String(data)))
  await once(socket, 'open')
  return {
    socket,
    closed,
    send: message => socket.send(JSON.stringify(message)),
    async hear() {
      if (messages.length === 0) await once(socket, 'message')
      return JSON.parse(messages.shift() ?? '')
    },
  }
}

async function openInitialised(service: TestService, payload?: unknown): Promise<Connection> {
  const connection = await open(service)
  connection.send({ type: 'connection_init', payload })
  assert.equal((await connection.hear()).type, 'connection_ack')
  return connection
}

/** The response to a refused handshake. */
function openRefused(
  { port }: TestService,
  headers = {},
): Promise<IncomingMessage & { readonly text: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, [protocol], { headers })
    socket.on('open', () => reject(new Error('it was opened')))
    socket.on('error', () => {})
    socket.on('unexpected-response', async (_, response: IncomingMessage) => {
      const parts = await response.toArray()
      resolve(Object.assign(response, { text: Buffer.concat(parts).toString() }))
    })
  })
}

const subscription = JSON.stringify({ query: 'subscription { newPost { id } }' })

/** An event stream; rejects unless it begins. */
async function stream(
  { port }: TestService,
  headers = {},
  localAddress = '127.0.0.1',
): Promise<IncomingMessage> {
  const sent = request({
    port,
    host: '127.0.0.1',
    localAddress,
    path: '/graphql',
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...headers },
  })
  sent.end(subscription)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  return answer
}

const off: GivenSettings = { rateLimit: 'off' }

suite('the connection quota', () => {
  test('limits an anonymous address; a handshake over the limit gets a 429', async () => {
    await withService({ ...off, quotas: { addressConnections: 3 } }, async service => {
      const all = await Promise.all([openInitialised(service), openInitialised(service), open(service)])
      const answer = await openRefused(service)
      assert.equal(answer.statusCode, 429)
      assert.ok(Number(answer.headers['retry-after']) > 0)
      assert.ok(answer.headers['x-request-id'])
      const [error] = JSON.parse(answer.text).errors
      assert.equal(error.extensions.code, 'RATE_LIMITED')
      assert.match(error.message, /3 open WebSockets, event streams and long polls; the maximum is 3/)
      // Callers with a credential have their own quota.
      await open(service, { Authorization: `Bearer ${service.key}` })
      all[0]?.socket.close()
      await all[0]?.closed
      await open(service)
      assert.equal((await openRefused(service)).statusCode, 429)
    })
  })

  test('counts event streams together with WebSockets', async () => {
    await withService({ ...off, quotas: { addressConnections: 2 } }, async service => {
      await openInitialised(service)
      const events = await stream(service)
      assert.equal(events.statusCode, 200)
      assert.equal((await stream(service)).statusCode, 429)
      assert.equal((await openRefused(service)).statusCode, 429)
      events.destroy()
      for (let answer = await stream(service); answer.statusCode !== 200; answer = await stream(service)) {
        assert.equal(answer.statusCode, 429)
      }
    })
  })

  test('counts a connection for the user of its connection_init', async () => {
    await withService({ ...off, quotas: { addressConnections: 1, connections: 2 } }, async service => {
      const payload = { Authorization: `Bearer ${service.key}` }
      const first = await openInitialised(service, payload)
      await openInitialised(service, payload)
      const third = await open(service)
      third.send({ type: 'connection_init', payload })
      const [code, reason] = await third.closed
      assert.equal(code, 1013)
      assert.match(reason, /2 open WebSockets/)
      assert.equal((await openRefused(service, payload)).statusCode, 429)
      first.socket.close()
      await first.closed
      await open(service, payload)
    })
  })

  test('does not count a malformed handshake', async () => {
    await withService({ ...off, quotas: { addressConnections: 1 } }, async service => {
      const broken = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13'
      for (let nth = 0; nth < 3; nth++) {
        const [answer] = parseResponses(
          await sendRaw(service.port, `GET /graphql HTTP/1.1\r\n${broken}\r\n\r\n`),
        )
        assert.equal(answer?.status, 400)
      }
      await open(service)
    })
  })

  test('limits each caller to half of all connections', async () => {
    await withService({ ...off, maxConnections: 6 }, async service => {
      for (let nth = 0; nth < 3; nth++) await open(service)
      assert.equal((await openRefused(service)).statusCode, 429)
      assert.equal((await service.call('/healthz')).status, 200)
    })
  })

  test('counts IPv6 addresses by their network', async () => {
    await withService({ ...off, trustProxy: 1, quotas: { addressConnections: 1 } }, async service => {
      await open(service, { 'X-Forwarded-For': '2001:db8::1' })
      assert.equal((await openRefused(service, { 'X-Forwarded-For': '2001:db8::2' })).statusCode, 429)
      await open(service, { 'X-Forwarded-For': '2001:db8:0:1::1' })
    })
  })
})

/** Whether a new client is served. */
async function isServed({ port }: TestService): Promise<boolean> {
  const [answer] = parseResponses(
    await sendRaw(port, 'GET /api/v1/posts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
  )
  return answer?.status === 200
}

async function untilServed(service: TestService): Promise<void> {
  const end = performance.now() + 120_000
  while (!(await isServed(service))) assert.ok(performance.now() < end, 'no new client is served')
}

suite('when there are too many connections', () => {
  test('closes idle WebSockets with 1013, anonymous ones first; others stay open', async () => {
    await withService(
      { ...off, trustProxy: 1, maxConnections: 10, quotas: { addressConnections: 5 } },
      async service => {
        const address = (nth: number) => ({ 'X-Forwarded-For': `192.0.2.${nth}` })
        const busy = await open(service, address(1))
        busy.send({ type: 'connection_init' })
        await busy.hear()
        busy.send({ type: 'subscribe', id: '1', payload: { query: 'subscription { newPost { title } }' } })
        const identified = await open(service, { Authorization: `Bearer ${service.key}` })
        const idle: Connection[] = []
        for (let nth = 2; nth < 10; nth++) idle.push(await open(service, address(nth)))
        await untilServed(service)
        const [code, reason] = (await idle[0]?.closed) ?? []
        assert.equal(code, 1013)
        assert.match(reason ?? '', /other clients need/)
        assert.equal(identified.socket.readyState, WebSocket.OPEN)
        const { status } = await service.call('/api/v1/posts', {
          method: 'POST',
          key: service.key,
          body: { title: 'delivered', body: 'text' },
        })
        assert.equal(status, 201)
        const { data } = (await busy.hear()).payload as { data?: unknown }
        assert.deepEqual(data, { newPost: { title: 'delivered' } })
      },
    )
  })

  test('closes connections that have sent nothing, and idle keep-alive connections', async () => {
    await withService({ ...off, maxConnections: 8 }, async service => {
      const silent: Socket[] = []
      const ends: Promise<string>[] = []
      for (let nth = 0; nth < 8; nth++) {
        const socket = await openConnection(service.port)
        silent.push(socket)
        ends.push(readToEnd(socket))
        if (nth % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      }
      await untilServed(service)
      await Promise.any(ends)
      for (let nth = 0; nth < 12; nth++) {
        const socket = await openConnection(service.port).catch(() => undefined)
        socket?.on('error', () => {})
      }
      await untilServed(service)
      for (const socket of silent) socket.destroy()
    })
  })
})

suite('WebSocket messages that begin no operation', () => {
  const chatter: Readonly<Record<string, (connection: Connection) => void>> = {
    'ping messages': ({ send }) => send({ type: 'ping' }),
    'pong messages': ({ send }) => send({ type: 'pong' }),
    'complete messages for unknown ids': ({ send }) => send({ type: 'complete', id: 'none' }),
    'ping frames': ({ socket }) => socket.ping(),
    'pong frames': ({ socket }) => socket.pong(),
  }
  for (const [name, send] of Object.entries(chatter)) {
    test(`${name} beyond sixty a minute count as requests, and close the connection when the budget is used up`, async () => {
      await withService({ rateLimit: 20 }, async service => {
        const connection = await openInitialised(service)
        for (let nth = 0; nth < 60; nth++) send(connection)
        const remaining = async () => {
          const { headers } = await service.call('/api/v1/posts')
          return Number(headers.get('X-RateLimit-Remaining'))
        }
        // Processed after the others, so that all have arrived.
        connection.socket.ping()
        await once(connection.socket, 'pong')
        const before = await remaining()
        for (let nth = 0; nth < 5; nth++) send(connection)
        connection.socket.ping()
        await once(connection.socket, 'pong')
        // The request for the headers, the five, and the last ping.
        assert.equal(before - (await remaining()), 7)
        for (let nth = 0; nth < 20; nth++) send(connection)
        const [code, reason] = await connection.closed
        assert.equal(code, 1013)
        assert.match(reason, /limit of 20 requests per minute/)
      })
    })
  }
  test('keep-alive pings do not count as requests', async () => {
    await withService({ rateLimit: 20 }, async service => {
      const connection = await openInitialised(service)
      for (let nth = 0; nth < 50; nth++) {
        connection.send({ type: 'ping' })
        assert.equal((await connection.hear()).type, 'pong')
      }
      const { headers } = await service.call('/api/v1/posts')
      // The handshake and this request; this request alone if a minute has begun in between.
      assert.match(headers.get('X-RateLimit-Remaining') ?? '', /^1[89]$/)
    })
  })
})
