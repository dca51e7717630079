/** The connection of a migration to a server that refuses its settings. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { connect } from '../../../../../src/engine/store/schema/postgres/session.ts'
import { MigrationError } from '../../../../../src/engine/store/schema/refusal.ts'

/** A message of the PostgreSQL protocol (https://www.postgresql.org/docs/15/protocol-message-formats.html). */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const authenticated = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))
const refused = message('E', Buffer.from('SERROR\0VERROR\0C42501\0Mpermission denied to set parameter\0\0'))

test('a connection whose settings the server refuses is closed', async t => {
  const server = createServer(socket => {
    t.after(() => socket.destroy())
    socket.once('data', () => {
      socket.write(Buffer.concat([authenticated, ready]))
      socket.on('data', data => {
        if (data.toString('latin1', 0, 1) === 'Q') socket.write(Buffer.concat([refused, ready]))
      })
    })
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'))
  const { port } = server.address() as AddressInfo
  await assert.rejects(connect(`postgres://portico@127.0.0.1:${port}/portico`), (error: unknown) => {
    assert.ok(error instanceof MigrationError)
    assert.match(error.message, /^The database refuses: permission denied to set parameter/)
    return true
  })
  const late = AbortSignal.timeout(2000)
  await Promise.race([closed, once(late, 'abort').then(() => assert.fail('the connection is still open'))])
})
