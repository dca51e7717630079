/** Clients that retry immediately after a refusal. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { errorReply } from '../../../src/api/rest/reply/error-reply.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { AdmissionControl } from '../../../src/server/http/admission.ts'
import { createHttp, type Exchange } from '../../../src/server/http/http.ts'
import { workFor } from './busy-loop.ts'
import { openConnection } from './raw-client.ts'

class Connection {
  isRead = true
  _handle: { readStop(): void; readStart(): void } | null = {
    readStop: () => {
      this.isRead = false
    },
    readStart: () => {
      this.isRead = true
    },
  }
}

function admission(): AdmissionControl {
  const settings = readSettings({ given: {} })
  return new AdmissionControl(new EventEmitter() as unknown as Server, settings, {
    errorReply,
    run: () => {},
    refuse: () => {},
    sendReplies: () => {},
  })
}

/** The reply to a request that arrived at `start`, in milliseconds. */
function exchangeOf(socket: Connection, start: number, shouldKeepAlive = true): Exchange {
  return { req: { socket }, res: { shouldKeepAlive }, start } as unknown as Exchange
}

const many = (count: number) => Array.from({ length: count }, () => new Connection())

test('a few refusals do not pause reading', () => {
  const control = admission()
  const connections = many(3000)
  connections.forEach((connection, nth) => void control.refusalSent(exchangeOf(connection, 1000 + nth * 0.5)))
  assert.ok(connections.every(({ isRead }) => isRead))
})

test('beyond the maximum of refusals, a refused connection is not read for a second', context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const control = admission()
  const connections = many(500)
  for (const connection of connections) control.refusalSent(exchangeOf(connection, 1000))
  const unread = connections.filter(({ isRead }) => !isRead)
  assert.equal(unread.length, 200)
  // A client that has disconnected does no harm.
  const [closed] = unread
  if (closed) closed._handle = null
  const later = new Connection()
  control.refusalSent(exchangeOf(later, 1200))
  assert.ok(later.isRead)
  context.mock.timers.tick(999)
  assert.ok(unread.every(({ isRead }) => !isRead))
  context.mock.timers.tick(1)
  assert.ok(unread.slice(1).every(({ isRead }) => isRead))
})

test('a connection that closes with its refusal is read to its end', () => {
  const control = admission()
  for (const connection of many(300)) control.refusalSent(exchangeOf(connection, 1000))
  const ending = new Connection()
  control.refusalSent(exchangeOf(ending, 1000, false))
  assert.ok(ending.isRead)
})

/** Retries immediately, `times` times; the statuses of the responses. */
function requestRepeatedly(socket: Socket, times: number): Promise<string[]> {
  const statuses: string[] = []
  return new Promise((resolve, reject) => {
    const ask = () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    let output = ''
    socket.setEncoding('latin1').on('data', text => {
      output += text
      const [head, status = '', length] =
        /^HTTP\/1.1 (\d+) .*?content-length: (\d+)\r\n.*?\r\n\r\n/is.exec(output) ?? []
      if (head === undefined || output.length < head.length + Number(length)) return
      output = output.slice(head.length + Number(length))
      statuses.push(status)
      if (statuses.length === times) resolve(statuses)
      else ask()
    })
    socket.once('close', () => reject(new Error('The connection ended.')))
    ask()
  })
}

test('every request of clients that retry immediately gets a response', async () => {
  const server = createHttp(readSettings({ given: { port: 0, host: '127.0.0.1', maxDelay: '20 ms' } }), {
    answer() {
      workFor(0.2)
      return { status: 200, headers: [], body: 'fine' }
    },
    errorReply,
    onSent: () => {},
    onFault: error => assert.fail(String(error)),
  })
  await server.listen()
  const sockets = await Promise.all(Array.from({ length: 400 }, () => openConnection(server.port())))
  try {
    const statuses = (await Promise.all(sockets.map(socket => requestRepeatedly(socket, 25)))).flat()
    const countOf = (status: string) => statuses.filter(line => line === status).length
    assert.equal(countOf('200') + countOf('503'), 400 * 25)
    assert.ok(countOf('503') > 0, 'nobody was refused')
  } finally {
    for (const socket of sockets) socket.destroy()
    await server.close()
  }
})
