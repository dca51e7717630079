/** The bounds of bodies that are read as they arrive. No test measures a time: each waits for what must happen. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { whileReceiving } from '../../../src/api/rest/files/receive.ts'
import type { Principal } from '../../../src/base/principal.ts'
import { createNodeServer } from '../../../src/server/http/node-server.ts'
import { streamBody } from '../../../src/server/http/stream-body.ts'

type Bounds = Parameters<typeof streamBody>[1]

const head = 'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n'

async function listen(server: Server): Promise<Socket> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  return socket
}

async function bodyOf(req: IncomingMessage, bounds?: Bounds): Promise<string> {
  let text = ''
  for await (const chunk of streamBody(req, bounds)) text += chunk
  return text
}

const generous = { windowMs: 10, minBytesPerWindow: 0, maxMs: 3_600_000 }

for (const [what, bounds] of [
  ['too slowly', { ...generous, minBytesPerWindow: 2 }],
  ['for too long', { ...generous, maxMs: 0 }],
] as const)
  test(`a body that arrives ${what} is refused`, async () => {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const server = createServer(req => {
      bodyOf(req, bounds).then(resolve, resolve)
    })
    const socket = await listen(server)
    try {
      socket.write(`${head}a`)
      assert.equal(
        (await promise) instanceof Error && ((await promise) as { code?: string }).code,
        'REQUEST_TIMEOUT',
      )
    } finally {
      socket.destroy()
      server.close()
    }
  })

test('the time of other requests does not bound a body that is streamed', async () => {
  const server = createNodeServer(
    { bodyLimit: 1_000_000, keepAliveTimeout: 60_000 },
    {
      handle: (req, res) => {
        bodyOf(req, generous).then(
          text => res.end(text),
          () => res.destroy(),
        )
      },
      refuse: (_error, socket) => socket.destroy(),
      upgrade: () => {},
      sockets: undefined,
      basePath: '',
      timeouts: { headersMs: 50, requestMs: 50 },
    },
  )
  const socket = await listen(server)
  try {
    const timedOut = new Promise<void>(resolve => {
      server.on('clientError', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') resolve()
      })
    })
    socket.write(`${head}a`)
    await timedOut
    socket.write('bcde')
    let answer = ''
    const ended = new Promise<void>(resolve => {
      socket.on('close', resolve).on('data', data => {
        answer += data
        if (answer.endsWith('abcde')) resolve()
      })
    })
    await ended
    assert.match(answer, /^HTTP\/1\.1 200 [\s\S]*abcde$/)
  } finally {
    socket.destroy()
    server.close()
  }
})

test('a caller receives 20 files at once, all callers 100', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const receive = (budgetKey: string) => whileReceiving({ budgetKey } as Principal, () => promise)
  const running = Array.from({ length: 20 }, () => receive('a'))
  await assert.rejects(receive('a'), { code: 'RATE_LIMITED' })
  for (const caller of ['b', 'c', 'd', 'e']) for (let n = 0; n < 20; n++) running.push(receive(caller))
  await assert.rejects(receive('f'), { code: 'UNAVAILABLE' })
  resolve()
  await Promise.all(running)
  await Promise.all([receive('a'), receive('f')])
})
