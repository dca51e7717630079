/** A service that does not listen, inside a server of the program. */
import assert from 'node:assert/strict'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import type { Service } from '../../../src/server/serve/service.ts'
import { testService } from '../../../src/testing.ts'
import blog from '../../models/blog.ts'
import { openConnection, parseResponses, readToEnd, sendRaw } from '../http/raw-client.ts'
import { call, withService } from './service.ts'

interface HostedService {
  readonly service: Service
  readonly server: Server
  readonly url: string
  readonly port: number
  readonly key: string
}

type Host = (service: Service, req: IncomingMessage, res: ServerResponse) => unknown

const plain: Host = (service, req, res) => service.handler(req, res)

async function withHost(
  use: (hosted: HostedService) => Promise<void>,
  host = plain,
  options = {},
): Promise<void> {
  await withService(
    { listen: false, baseUrl: 'https://api.example.com', ...options },
    async ({ service, key }) => {
      const server = createServer((req, res) => host(service, req, res))
      server.on('upgrade', service.upgrade)
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      try {
        await use({ service, server, port, key, url: `http://127.0.0.1:${port}` })
      } finally {
        // Closes WebSockets, too.
        await service.close()
        server.closeAllConnections()
        await new Promise(resolve => server.close(resolve))
      }
    },
  )
}

test('a server of the program responds as the service’s own server does', async () => {
  await withHost(async ({ url, key, service }) => {
    assert.equal(service.url, 'https://api.example.com')
    const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title: 'One' } })
    assert.deepEqual([created.status, created.json.title], [201, 'One'])
    assert.equal(created.headers.get('api-version'), '1')
    assert.ok(created.headers.get('x-ratelimit-limit'))
    const list = await call(`${url}/api/v1/posts`)
    assert.equal(list.headers.get('etag') === null, false)
    assert.equal(
      (await call(`${url}/api/v1/posts`, { headers: { 'If-None-Match': list.headers.get('etag') ?? '' } }))
        .status,
      304,
    )
    const query = await call(`${url}/graphql`, { method: 'POST', body: { query: '{ posts { title } }' } })
    assert.deepEqual(query.json.data, { posts: [{ title: 'One' }] })
    const metadata = await call(`${url}/.well-known/openid-configuration`)
    assert.equal(metadata.json.issuer, 'https://api.example.com')
    assert.equal((await call(`${url}/account/sign-in`)).status, 200)
    assert.equal((await call(`${url}/healthz`)).status, 200)
    assert.equal((await call(`${url}/nothing`)).code, 'NOT_FOUND')
  })
})

test('the host’s own routes and headers stay', async () => {
  const host: Host = (service, req, res) => {
    res.setHeader('X-Host', 'yes')
    if (req.url === '/mine') res.end('mine')
    else service.handler(req, res)
  }
  await withHost(async ({ url }) => {
    assert.equal((await call(`${url}/mine`)).text, 'mine')
    const list = await call(`${url}/api/v1/posts`)
    assert.deepEqual([list.status, list.headers.get('x-host')], [200, 'yes'])
    const metadata = await call(`${url}/oauth/jwks`)
    assert.deepEqual([metadata.status, metadata.headers.get('x-host')], [200, 'yes'])
  }, host)
})

test('a connection is kept for further requests, with the host’s timeout', async () => {
  await withHost(async ({ port, server }) => {
    server.keepAliveTimeout = 7000
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ports: (number | undefined)[] = []
    for (let index = 0; index < 3; index++) {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ port, path: '/api/v1/posts', agent }, resolve).once('error', reject).end()
      })
      ports.push(answer.socket.localPort)
      assert.equal(answer.headers['keep-alive'], 'timeout=7')
      await text(answer)
    }
    agent.destroy()
    assert.equal(new Set(ports).size, 1)
  })
})

test('pipelined requests are answered in order', async () => {
  await withHost(async ({ port }) => {
    const requestFor = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`
    const output = await sendRaw(
      port,
      `${requestFor('/nothing')}${requestFor('/healthz')}${requestFor('/api/v1/posts', 'Connection: close\r\n')}`,
    )
    assert.deepEqual(
      parseResponses(output).map(({ status }) => status),
      [404, 200, 200],
    )
  })
})

test('two credentials in one request are refused, even if the host drops the second', async () => {
  await withHost(async ({ port, key }) => {
    const output = await sendRaw(
      port,
      `GET /api/v1/posts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nAuthorization: Bearer pk_other\r\nConnection: close\r\n\r\n`,
    )
    assert.equal(parseResponses(output)[0]?.status, 400)
  })
})

test('a request whose body was already read is refused immediately, and the operator gets the reason', async () => {
  const host: Host = async (service, req, res) => {
    await text(req)
    service.handler(req, res)
  }
  await withHost(async ({ url, key }) => {
    const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title: 'One' } })
    assert.deepEqual([created.status, created.code], [500, 'INTERNAL_ERROR'])
    assert.equal((await call(`${url}/api/v1/posts`)).status, 200)
  }, host)
})

test('Expect: 100-continue is answered once', async () => {
  await withHost(async ({ port, key }) => {
    const body = '{"title":"Expected"}'
    const output = await sendRaw(
      port,
      `POST /api/v1/posts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n${body}`,
    )
    assert.deepEqual(output.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 100', 'HTTP/1.1 201'])
  })
})

function openSocket(url: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'graphql-transport-ws')
    socket.once('open', () => resolve(socket)).once('error', reject)
  })
}

interface SocketMessage {
  readonly type: string
  readonly id?: string
  readonly payload?: { readonly data?: unknown }
}

/** Resolves with the first matching message. */
function untilMessage(socket: WebSocket, fits: (message: SocketMessage) => boolean): Promise<SocketMessage> {
  return new Promise(resolve => {
    const listen = (data: unknown) => {
      const message: SocketMessage = JSON.parse(String(data))
      if (!fits(message)) return
      socket.off('message', listen)
      resolve(message)
    }
    socket.on('message', listen)
  })
}

test('WebSockets open at /graphql and nowhere else', async () => {
  await withHost(async ({ port, key, service }) => {
    const socket = await openSocket(`ws://127.0.0.1:${port}/graphql`)
    const send = (message: object) => socket.send(JSON.stringify(message))
    const subscribe = (id: string, query: string) => send({ id, type: 'subscribe', payload: { query } })
    const acknowledged = untilMessage(socket, ({ type }) => type === 'connection_ack')
    send({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } })
    await acknowledged
    const event = untilMessage(socket, ({ id }) => id === '1')
    // The subscription exists once a later query has been answered.
    const completed = untilMessage(socket, ({ id, type }) => id === '2' && type === 'complete')
    subscribe('1', 'subscription { newPost { title } }')
    subscribe('2', '{ posts { title } }')
    await completed
    await service.data.posts?.create({ title: 'Live', author_id: 1 })
    assert.deepEqual((await event).payload?.data, { newPost: { title: 'Live' } })
    socket.close()
    await assert.rejects(openSocket(`ws://127.0.0.1:${port}/other`), /404/)
  })
})

/** Resolves once the number of event listeners is `count`. */
async function listeners(url: string, count: number): Promise<void> {
  for (;;) {
    const { text: metrics } = await call(`${url}/metrics`)
    if (new RegExp(`^portico_event_listeners\\S* ${count}$`, 'm').test(metrics)) return
  }
}

// Shorter than the poll, which would end by timeout.
test('a client that disconnects during a long poll ends it', { timeout: 20_000 }, async () => {
  await withHost(async ({ port, url, key }) => {
    const headers = { authorization: `Bearer ${key}` }
    const outgoing = request({ port, path: '/api/v1/events?wait=30', headers })
    outgoing.on('error', () => {}).end()
    await listeners(url, 1)
    outgoing.destroy()
    await listeners(url, 0)
  })
})

test('a stop ends open streams and WebSockets, and refuses later requests', async () => {
  await withHost(async ({ port, url, key, service }) => {
    const socket = await openSocket(`ws://127.0.0.1:${port}/graphql`)
    const closed = new Promise(resolve => socket.once('close', resolve))
    const stream = await fetch(`${url}/api/v1/events`, {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
    })
    const end = stream.text()
    await service.close()
    await Promise.all([closed, end])
    const late = await call(`${url}/api/v1/posts`)
    assert.deepEqual([late.status, late.code, late.headers.get('connection')], [503, 'UNAVAILABLE', 'close'])
  })
})

test('an incomplete request does not delay a stop for longer than the grace period', async () => {
  await withHost(
    async ({ port, key, service }) => {
      const socket = await openConnection(port)
      const output = readToEnd(socket)
      socket.write(
        `POST /api/v1/posts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"ti`,
      )
      await service.data.posts?.count()
      await service.close()
      socket.destroy()
      await output
    },
    plain,
    { shutdown: { grace: '1 s' } },
  )
})

test('a request that arrives after its client has disconnected does not delay a stop', {
  timeout: 10_000,
}, async () => {
  const passed = Promise.withResolvers<void>()
  const host: Host = (service, req, res) => {
    res.once('close', () =>
      setImmediate(() => {
        service.handler(req, res)
        passed.resolve()
      }),
    )
  }
  await withHost(
    async ({ port }) => {
      const socket = await openConnection(port)
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      setTimeout(() => socket.destroy(), 50)
      await passed.promise
    },
    host,
    { shutdown: { grace: '1 s' } },
  )
})

test('listen: false needs no port and no threads', async () => {
  await assert.rejects(
    withService({ listen: false, workers: 2 }, async () => {}),
    /`workers`: a service with `listen: false`/,
  )
  const service = await testService(blog)
  assert.equal((await service.request('GET /healthz')).status, 200)
  await service.close()
})
