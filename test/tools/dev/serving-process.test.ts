/** A serving process, as the supervisor of `portico dev` sees it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { ServingProcess } from '../../../src/tools/dev/serving-process.ts'

test('a connection sent to a process that exits before it reads the connection is returned, and can be answered', async () => {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  const [socket] = (await once(server, 'connection')) as [Socket]
  const returned: Socket[] = []
  const ignore = () => undefined
  const process = new ServingProcess({
    onLine: ignore,
    onFiles: ignore,
    onNote: ignore,
    onMail: ignore,
    onReturned: connection => returned.push(connection),
  })
  process.pass(socket)
  // Long before it has loaded the code that receives connections.
  process.kill()
  assert.equal(await process.ended, 'SIGKILL')
  assert.deepEqual(returned, [socket])
  socket.end('answer')
  assert.deepEqual(await once(client, 'data'), ['answer'])
  client.destroy()
  server.close()
})
