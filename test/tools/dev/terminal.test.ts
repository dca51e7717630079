import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withDevelopment } from './process.ts'

const quoted = (word: string) => `'${word}'`

/** Runs under `script`, which provides a terminal: its standard input is typed. */
function withTerminal(command: string, args: readonly string[], options: object) {
  const line = ['exec', ...[command, ...args].map(quoted)].join(' ')
  return spawn('script', ['-qfec', line, '/dev/null'], { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
}

test('in a terminal a migration that loses data asks for confirmation, and Ctrl-C ends all processes', () =>
  withDevelopment(
    {
      run: withTerminal,
      args: ['--client', 'api.ts'],
      environment: { TERM: 'xterm', NO_COLOR: '1', SHELL: '/bin/sh' },
    },
    async dev => {
      await dev.waitFor(/Try it/)
      await dev.waitFor(/api\.ts written/)
      assert.match(dev.read('api.ts'), /notes/)
      dev.edit(
        'title: string({ max: longest }),',
        'title: string({ max: longest }),\n        body: text({ optional: true }),',
      )
      await dev.waitFor(/Reloaded in \d+ ms/)
      await dev.waitFor(/api\.ts written/)
      assert.match(dev.read('api.ts'), /body/)
      await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'x', body: 'kept' } })

      dev.edit('body: text({ optional: true }),', '')
      await dev.waitFor(/! Drop the field notes\.body[\s\S]*Apply it\? \[y\/N\]/)
      dev.process.stdin?.write('n\n')
      await dev.waitFor(/Nothing was changed/)
      const answer = await dev.call('/api/v1/notes')
      assert.match(answer.text, /"body":"kept"/)

      // A change withdraws the question and asks another one.
      dev.edit('title: string({ max: longest }),', 'title: string({ max: 7 }),')
      await dev.waitFor(/Apply it\? \[y\/N\]/)
      dev.edit('title: string({ max: 7 }),', 'title: string({ max: 8 }),')
      await dev.waitFor(/Apply it\? \[y\/N\]/)
      dev.process.stdin?.write('y\n')
      await dev.waitFor(/Reloaded in \d+ ms/)
      const dropped = await dev.call('/api/v1/notes')
      assert.doesNotMatch(dropped.text, /body/)

      // biome-ignore lint/suspicious/noControlCharactersInRegex: NO_COLOR disables escape sequences
      assert.doesNotMatch(dev.output(), /\u001b\[[1-9]\d*m/)
      assert.ok(existsSync(join(dev.folder, 'data', 'portico.db')))
      const exit = once(dev.process, 'close')
      dev.process.stdin?.write('\u0003')
      assert.deepEqual(await exit, [0, null])
    },
  ))
