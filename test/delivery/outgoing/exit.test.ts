/** A process that has sent requests exits when its work is done, though the client is never closed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inheritedEnvironment } from '../../system/processes/environment.ts'

test('keep-alive connections do not keep the process running', async () => {
  const server = createServer(({ url }, reply) => {
    if (url === '/never') return
    reply.end(url === '/large' ? 'x'.repeat(1_000_000) : '{}')
  })
  // The server keeps them open.
  server.keepAliveTimeout = 0
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const file = fileURLToPath(import.meta.resolve('./requesting-process.ts'))
    const args = ['--conditions=portico-source', file, `http://127.0.0.1:${port}/`]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: inheritedEnvironment })
    assert.match(stdout, /^done$/m)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
