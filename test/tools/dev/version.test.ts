/** Processes that end at the wrong moment: none of them ends the supervisor. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ProcessEnded, ServingProcess, type ServingReply } from '../../../src/tools/dev/serving-process.ts'
import type { Terminal } from '../../../src/tools/dev/terminal.ts'
import { startVersion } from '../../../src/tools/dev/version.ts'

const nothing = () => undefined

test('a process that cannot be started has ended', async () => {
  const { execPath } = process
  process.execPath = join(tmpdir(), 'no-such-node')
  const startVersion = () =>
    new ServingProcess({
      onLine: nothing,
      onFiles: nothing,
      onNote: nothing,
      onMail: nothing,
      onReturned: nothing,
    })
  let serving: ServingProcess
  try {
    serving = startVersion()
  } finally {
    process.execPath = execPath
  }
  await assert.rejects(serving.reply(), { name: 'ProcessEnded' })
  assert.match(await serving.ended, /^exit code -/)
})

test('connections that wait to be sent to a process come back when it ends', async () => {
  const returned: Socket[] = []
  const onReturned = (socket: Socket) => returned.push(socket)
  const listeners = { onLine: nothing, onFiles: nothing, onNote: nothing, onMail: nothing, onReturned }
  const accepted: Socket[] = []
  const server = createServer({ pauseOnConnect: true }, socket => accepted.push(socket)).listen(
    0,
    '127.0.0.1',
  )
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = Array.from({ length: 10 }, () => connect(port, '127.0.0.1').on('error', nothing))
  try {
    while (accepted.length < clients.length) await turn()
    const serving = new ServingProcess(listeners)
    for (const socket of accepted) serving.pass(socket)
    serving.kill()
    await serving.ended
    // Even the first, which was sent at once, but never received.
    assert.equal(returned.length, clients.length)
    assert.ok(returned.every(socket => !socket.destroyed))
  } finally {
    for (const socket of [...clients, ...returned]) socket.destroy()
    server.close()
  }
})

test('a process may end between the confirmation of a migration and its start', async () => {
  const replies: (() => Promise<ServingReply>)[] = [
    async () => ({ kind: 'loaded', files: [], host: 'localhost', port: 0, model: 'model.ts' }),
    async () => ({ kind: 'migration', text: '', losesData: false, dataFits: true, mayRename: false }),
    () => Promise.reject(new ProcessEnded('SIGKILL')),
  ]
  const serving = { send: nothing, reply: () => replies.shift()?.() } as unknown as ServingProcess
  const outcome = await startVersion({
    process: serving,
    version: { commandLine: {}, client: undefined, areMailsShared: false },
    sources: undefined,
    signal: new AbortController().signal,
    terminal: { text: nothing } as unknown as Terminal,
    assumesYes: true,
    isServing: true,
    onFiles: nothing,
    listen: async () => 1,
    // Requests of the version that serves take a moment.
    beforeMigration: () => turn(),
  })
  assert.deepEqual(outcome, {
    kind: 'failed',
    text: 'The process ended while it opened the database (SIGKILL).',
    isTransient: true,
  })
})
