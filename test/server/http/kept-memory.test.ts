/** Memory held for longer than the request that allocated it, in a whole service, measured and limited. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Socket as ByteSocket } from 'node:net'
import { suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { WebSocket } from 'ws'
import { transportLimits } from '../../../src/api/graphql/limits/transport-limits.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { type TestService, withService } from '../serve/service.ts'
import { openConnection } from './raw-client.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const mebibyte = 1024 * 1024
const big = 900_000

/** Bytes of live objects, inside and outside the heap of this process. */
async function live(): Promise<number> {
  for (let nth = 0; nth < 3; nth++) {
    await turn()
    collectGarbage()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

interface Socket {
  readonly socket: WebSocket
  send(message: unknown): void
  hear(): Promise<Readonly<Record<string, never>>>
}

async function open({ port, key }: TestService, payload: object = {}): Promise<Socket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, ['graphql-transport-ws'])
  const received: string[] = []
  socket.on('message', data => received.push(String(data)))
  // An unawaited message rejects.
  socket.on('close', code => socket.emit('error', new Error(`closed with ${code}`)))
  socket.on('error', () => {})
  await once(socket, 'open')
  const opened: Socket = {
    socket,
    send: message => socket.send(JSON.stringify(message)),
    async hear() {
      if (received.length === 0) await once(socket, 'message')
      return JSON.parse(received.shift() ?? '')
    },
  }
  opened.send({ type: 'connection_init', payload: { ...payload, Authorization: `Bearer ${key}` } })
  await opened.hear()
  return opened
}

/** Subscribes, and waits for the response to a later message, so that the subscription has been read. */
async function subscribe(
  { send: sendRaw, hear }: Socket,
  id: string,
  payload: object,
): Promise<readonly object[]> {
  sendRaw({ type: 'subscribe', id, payload })
  sendRaw({ type: 'subscribe', id: `${id} after`, payload: { query: '{ __typename }' } })
  const received: object[] = []
  for (;;) {
    const message: { readonly id?: string; readonly type?: string } = await hear()
    if (message.id === `${id} after` && message.type === 'complete') sendRaw({ type: 'ping' })
    // An error may arrive slightly later than the response to the later message.
    if (message.type === 'pong') return received
    if (message.id === id) received.push(message)
  }
}

const quiet: GivenSettings = { rateLimit: 'off' }

/** The growth of live memory over twenty-five calls that allocate 900 kB each, after five calls to warm up. */
async function growth(once: (nth: number) => Promise<void>): Promise<number> {
  for (let nth = 0; nth < 5; nth++) await once(nth)
  const before = await live()
  for (let nth = 5; nth < 30; nth++) await once(nth)
  return (await live()) - before
}

/** A third of what twenty-five of them would hold. */
const maxGrowth = 7 * mebibyte

const text = (nth: number) => `${nth} ${'x'.repeat(big)}`

suite('a subscription over WebSocket does not keep', () => {
  const rows: Readonly<Record<string, (nth: number) => object>> = {
    'undeclared variables': nth => ({
      query: 'subscription { newPost { id } }',
      variables: { other: text(nth) },
    }),
    extensions: nth => ({
      query: 'subscription { newPost { id } }',
      extensions: { other: text(nth) },
    }),
    'unknown members of the payload': nth => ({
      query: 'subscription { newPost { id } }',
      other: text(nth),
    }),
  }
  for (const [what, payload] of Object.entries(rows)) {
    test(what, async () => {
      await withService(quiet, async service => {
        const socket = await open(service)
        const grown = await growth(async nth => {
          assert.deepEqual(await subscribe(socket, String(nth), payload(nth)), [])
        })
        assert.ok(grown < maxGrowth, `${grown} bytes more`)
        const { text: metrics } = await service.call('/metrics')
        assert.match(metrics, /^portico_graphql_subscriptions 30$/m)
        socket.socket.terminate()
      })
    })
  }

  test('the payload of connection_init', async () => {
    await withService(quiet, async service => {
      const sockets: Socket[] = []
      const grown = await growth(async nth => void sockets.push(await open(service, { other: text(nth) })))
      assert.ok(grown < maxGrowth, `${grown} bytes more`)
      for (const { socket } of sockets) socket.terminate()
    })
  })
})

async function stream({ port, key }: TestService, payload: object): Promise<IncomingMessage> {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'text/event-stream',
    Authorization: `Bearer ${key}`,
  }
  const sent = request({ port, path: '/graphql', method: 'POST', agent: false, headers })
  sent.end(JSON.stringify(payload))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.on('error', () => {})
  return answer
}

test('an event stream keeps neither the body nor undeclared variables', async () => {
  await withService(quiet, async service => {
    const streams: ByteSocket[] = []
    const grown = await growth(async nth => {
      const query = 'subscription { newPost { id } }'
      const body = JSON.stringify({ query, variables: { other: text(nth) } })
      const socket = await openConnection(service.port)
      const head = [
        'POST /graphql HTTP/1.1',
        'Host: x',
        'Content-Type: application/json',
        'Accept: text/event-stream',
        `X-API-Key: ${service.key}`,
        `Content-Length: ${body.length}`,
      ]
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
      const [answer] = await once(socket, 'data')
      assert.match(String(answer), /^HTTP\/1\.1 200/)
      streams.push(socket)
    })
    assert.ok(grown < maxGrowth, `${grown} bytes more`)
    for (const socket of streams) socket.destroy()
  })
})

test('a cached plan does not keep the variables of its operation', async () => {
  const documents = [
    'query ($a: [String!]) { posts(filter: { title: { in: $a } }) { id } }',
    'query ($a: String!) { posts(filter: { title: { in: [$a] } }) { id } }',
    'query ($a: String!) { posts(filter: { and: [{ title: { eq: $a } }] }) { id } }',
    'mutation ($a: String!) { updatePost(id: "99", body: $a) { id } }',
  ]
  await withService({ ...quiet, cacheSize: '0 B' }, async service => {
    for (const [at, document] of documents.entries()) {
      const grown = await growth(async nth => {
        // A different document each time, so that each has its own plan.
        const query = document.replace('{ id }', `{ a${at}_${nth}: id }`)
        const variables = { a: text(nth) }
        const { json } = await service.call('/graphql', {
          method: 'POST',
          key: service.key,
          body: { query, variables },
        })
        assert.ok(json.data !== undefined || json.errors !== undefined)
      })
      assert.ok(grown < maxGrowth, `${document}: ${grown} bytes more`)
    }
  })
})

const { maxSubscriptionBytes, maxCallerBytes } = transportLimits

/** Its argument is kept, because each event needs it. */
const withArgument =
  'subscription ($title: String!) { newPost { author { posts(filter: { title: { eq: $title } }) { id } } } }'

suite('the memory of subscriptions is limited over both transports', () => {
  const ask = (length: number, title = 't') => ({
    query: withArgument,
    variables: { title: title.repeat(length) },
  })

  test('a subscription that would keep too much is refused with the size and the limit', async () => {
    await withService(quiet, async service => {
      const refusal = new RegExp(
        `would retain \\d+ bytes, for its document and its arguments; at most ${maxSubscriptionBytes} are allowed`,
      )
      const tooLong = ask(maxSubscriptionBytes / 2)
      const [received] = await subscribe(await open(service), '1', tooLong)
      assert.match(JSON.stringify(received), refusal)
      assert.match(JSON.stringify(received), /"code":"PAYLOAD_TOO_LARGE"/)
      const answer = await stream(service, tooLong)
      assert.equal(answer.statusCode, 413)
      assert.match(Buffer.concat(await answer.toArray()).toString(), refusal)
      assert.deepEqual(await subscribe(await open(service), '1', ask(10)), [])
    })
  })

  test('subscriptions of one caller are limited in total, and share their document', async () => {
    await withService(quiet, async service => {
      const [one, other] = [await open(service), await open(service)]
      // About 10 kB for the document, and two bytes per character of the arguments of each.
      const length = 120_000
      const large = (nth: number) => ask(length + nth)
      const fitting = Math.floor((maxCallerBytes - 20_000) / (2 * length + 1000))
      for (let nth = 1; nth < fitting; nth++)
        assert.deepEqual(await subscribe(one, String(nth), large(nth)), [], `${nth}`)
      const kept = await stream(service, large(fitting))
      assert.equal(kept.statusCode, 200)
      const refusal = new RegExp(
        `open subscriptions would retain \\d+ bytes; at most ${maxCallerBytes} are allowed`,
      )
      for (const [socket, nth] of [[one, 200] as const, [other, 201] as const]) {
        const [received] = await subscribe(socket, String(nth), large(nth))
        assert.match(JSON.stringify(received), refusal)
        assert.match(JSON.stringify(received), /"code":"RATE_LIMITED"/)
      }
      assert.equal((await stream(service, large(202))).statusCode, 429)
      // Another caller has their own limit.
      const headers = { 'Content-Type': 'application/json', Accept: 'text/event-stream' }
      const anonymous = await fetch(`${service.url}/graphql`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ query: 'subscription { newPost { id } }' }),
      })
      assert.equal(anonymous.status, 200)
      await anonymous.body?.cancel()
      one.send({ type: 'complete', id: '1' })
      assert.deepEqual(await subscribe(one, '203', large(203)), [])
      kept.destroy()
    })
  })

  test('subscriptions to the same document get the event each, with or without undeclared variables', async () => {
    await withService(quiet, async service => {
      const socket = await open(service)
      const query = 'subscription { newPost { title } }'
      await subscribe(socket, '1', { query })
      await subscribe(socket, '2', { query, variables: { other: 1 }, extensions: {} })
      await subscribe(socket, '3', { query: 'subscription { newPost { title id } }' })
      await service.call('/api/v1/posts', {
        method: 'POST',
        key: service.key,
        body: { title: 'new', body: 'text' },
      })
      const received = [await socket.hear(), await socket.hear(), await socket.hear()]
      assert.deepEqual(received.map(({ id }) => id).toSorted(), ['1', '2', '3'])
    })
  })
})
