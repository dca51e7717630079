/** Processes that end at the wrong moment: none of them ends the supervisor. */
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ProcessEnded, type Reply, ServingProcess } from '../../src/dev/serving-process.ts'
import { Terminal } from '../../src/dev/terminal.ts'
import { startVersion } from '../../src/dev/version.ts'

const nothing = () => undefined

test('a process that cannot be started has ended', async () => {
  const { execPath } = process
  process.execPath = join(tmpdir(), 'no-such-node')
  const started = () =>
    new ServingProcess({
      onLine: nothing,
      onFiles: nothing,
      onNote: nothing,
      onMail: nothing,
      onReturned: nothing,
    })
  let serving: ServingProcess
  try {
    serving = started()
  } finally {
    process.execPath = execPath
  }
  await assert.rejects(serving.reply(), { name: 'ProcessEnded' })
  assert.match(await serving.ended, /^exit code -/)
})

test('a process may end between the confirmation of a migration and its start', async t => {
  t.mock.method(process.stdout, 'write', () => true)
  const replies: (() => Promise<Reply>)[] = [
    async () => ({ kind: 'loaded', files: [], host: 'localhost', port: 0, model: 'model.ts' }),
    async () => ({ kind: 'migration', text: '', isFitting: true, mayRename: false }),
    () => Promise.reject(new ProcessEnded('SIGKILL')),
  ]
  const serving = { send: nothing, reply: () => replies.shift()?.() } as unknown as ServingProcess
  const outcome = await startVersion({
    process: serving,
    version: { given: {}, client: undefined, areMailsShared: false },
    sources: undefined,
    signal: new AbortController().signal,
    terminal: new Terminal(),
    isYes: true,
    isServing: true,
    onFiles: nothing,
    listen: async () => 1,
    // Requests of the version that serves take a moment.
    beforeMigration: () => turn(),
  })
  assert.deepEqual(outcome, {
    kind: 'failed',
    text: 'The process ended while it opened the database (SIGKILL).',
    isPassing: true,
  })
})
