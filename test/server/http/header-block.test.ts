import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  createFastEnder,
  type EndResponse,
  endByWriteHead,
  headerLines,
  responseEnder,
  statusLine,
  writesAlike,
} from '../../../src/server/http/header-block.ts'
import { openConnection, readToEnd } from './raw-client.ts'

test('on this Node version the precomputed header block has the bytes that Node writes, and is used', () => {
  assert.equal(writesAlike(createFastEnder(72), endByWriteHead, 72), true)
  assert.notEqual(responseEnder(72), endByWriteHead)
})

test('a difference in a single byte is detected', () => {
  const other: EndResponse = (res, status, head, body) => createFastEnder(71)(res, status, head, body)
  assert.equal(writesAlike(other, endByWriteHead, 72), false)
})

test('an incompatible implementation of ServerResponse is detected', () => {
  const failing: EndResponse = () => {
    throw new TypeError('Cannot set property _header of #<ServerResponse> which has only a getter')
  }
  assert.equal(writesAlike(failing, endByWriteHead, 72), false)
  const silent: EndResponse = (res: ServerResponse) => void res.end()
  assert.equal(writesAlike(silent, endByWriteHead, 72), false)
})

test('a header value cannot contain a line break', () => {
  for (const value of ['a\r\nSet-Cookie: b', 'a\nb', 'a\u0000', 'a\u0100']) {
    assert.throws(() => headerLines(['Location', value]), TypeError)
  }
  assert.equal(headerLines(['A', 'b c', 'D', 'é\t']), 'A: b c\r\nD: é\t\r\n')
})

test('both implementations send the same bytes on a keep-alive connection', async () => {
  const server = createServer((req, res) => {
    const end = req.url === '/direct' ? createFastEnder(5) : endByWriteHead
    const content = 'a text'
    end(res, 200, `${statusLine(200)}Vary: Accept\r\nContent-Length: 6\r\n`, { content, encoding: 'latin1' })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const socket = await openConnection((server.address() as AddressInfo).port)
    const output = readToEnd(socket)
    socket.write('GET /direct HTTP/1.1\r\nHost: x\r\n\r\nGET /other HTTP/1.1\r\nHost: x\r\n\r\n')
    socket.write('GET /direct HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const answers = (await output).replace(/Date: .*\r\n/g, '').split('HTTP/1.1 200 OK\r\n')
    assert.equal(answers.length, 4)
    assert.equal(answers[1], answers[2])
    assert.match(answers[1] ?? '', /Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\na text$/)
    assert.match(answers[3] ?? '', /Connection: close\r\n\r\na text$/)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})
