/** Refused connections that are not read for a while. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readSettings } from '../../src/config.ts'
import { Backpressure } from '../../src/http/backpressure.ts'
import { createHttp } from '../../src/http.ts'
import { errorReply } from '../../src/rest/error-reply.ts'
import { dial } from './wire.ts'

class Connection {
  isRead = true
  readonly _handle = {
    readStop: () => {
      this.isRead = false
    },
    readStart: () => {
      this.isRead = true
    },
  }
}

const many = (count: number) => Array.from({ length: count }, () => new Connection())
const worked = { time: 4, requests: 2, isShort: false }

test('refusals that take little beside the work leave everybody read', () => {
  const backpressure = new Backpressure()
  for (let turn = 0; turn < 100; turn++) {
    backpressure.worked(worked)
    const connection = new Connection()
    backpressure.refused(connection, 0.1)
    assert.ok(connection.isRead)
  }
})

test('beyond their share, who was refused is read again in order, as many in a turn as requests were done', () => {
  const backpressure = new Backpressure()
  const connections = many(100)
  for (const connection of connections) backpressure.refused(connection, 0.5)
  assert.equal(backpressure.length, 100)
  assert.ok(connections.every(({ isRead }) => !isRead))
  for (let turn = 1; turn <= 10; turn++) {
    backpressure.worked(worked)
    const read = connections.map(({ isRead }) => isRead)
    assert.deepEqual(read, [...Array(2 * turn).fill(true), ...Array(100 - 2 * turn).fill(false)])
  }
  backpressure.worked({ ...worked, isShort: true })
  assert.ok(backpressure.length < 80 - 2, 'more, where more requests are wanted')
})

test('when what refusals took is paid, everybody is read again soon', () => {
  const backpressure = new Backpressure()
  for (const connection of many(100)) backpressure.refused(connection, 0.5)
  let turns = 0
  for (; backpressure.length > 0; turns++) backpressure.worked({ ...worked, requests: 0 })
  // The 100 ms that may be owed are 142 turns of 0.7 ms.
  assert.ok(turns > 140 && turns < 150, `${turns}`)
  const next = new Connection()
  backpressure.refused(next, 0.5)
  assert.ok(next.isRead)
})

test('without work everybody is read again by itself; one who is gone harms nobody', async () => {
  const backpressure = new Backpressure()
  const connections = many(200)
  for (const connection of connections) backpressure.refused(connection, 0.5)
  Object.assign(connections[0] ?? {}, { _handle: null })
  backpressure.refused({ _handle: null }, 0.5)
  while (backpressure.length > 0) await sleep(5)
  assert.ok(connections.slice(1).every(({ isRead }) => isRead))
})

function workFor(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Asks again at once, so many times; the statuses of the answers. */
function askOnAndOn(socket: Socket, times: number): Promise<string[]> {
  const statuses: string[] = []
  return new Promise((resolve, reject) => {
    const ask = () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    let said = ''
    socket.setEncoding('latin1').on('data', text => {
      said += text
      const [head, status = '', length] =
        /^HTTP\/1.1 (\d+) .*?content-length: (\d+)\r\n.*?\r\n\r\n/is.exec(said) ?? []
      if (head === undefined || said.length < head.length + Number(length)) return
      said = said.slice(head.length + Number(length))
      statuses.push(status)
      if (statuses.length === times) resolve(statuses)
      else ask()
    })
    socket.once('close', () => reject(new Error('The connection ended.')))
    ask()
  })
}

test('every request of those who ask again at once is answered, one way or the other', async () => {
  const server = createHttp(readSettings({ given: { port: 0, host: '127.0.0.1', maxDelay: 20 } }), {
    answer() {
      workFor(0.2)
      return { status: 200, headers: [], body: 'fine' }
    },
    errorReply,
    onSent: () => {},
    onFault: error => assert.fail(String(error)),
  })
  await server.listen()
  const sockets = await Promise.all(Array.from({ length: 400 }, () => dial(server.port())))
  let most = 0
  const looking = setInterval(() => {
    most = Math.max(most, server.gate.backpressure.length)
  }, 1)
  try {
    const statuses = (await Promise.all(sockets.map(socket => askOnAndOn(socket, 25)))).flat()
    const of = (status: string) => statuses.filter(each => each === status).length
    assert.equal(of('200') + of('503'), 400 * 25)
    assert.ok(of('503') > 0, 'nobody was refused')
    assert.ok(most > 0, 'nobody was left unread')
  } finally {
    clearInterval(looking)
    for (const socket of sockets) socket.destroy()
    await server.close()
  }
})
