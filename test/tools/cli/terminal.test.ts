/** `portico start` at a terminal, which `script` provides. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { blog } from '../../system/processes/command.ts'
import { inheritedEnvironment } from '../../system/processes/environment.ts'
import { program } from '../../system/processes/program.ts'

test('at a terminal, start shows the addresses and a readable log, and Ctrl-C stops it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-terminal-'))
  const line = `exec ${[process.execPath, ...program].map(word => `'${word}'`).join(' ')} start`
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    cwd: folder,
    env: {
      ...inheritedEnvironment,
      ...{ PORTICO_MODEL: blog, HOST: '127.0.0.1', PORT: '0' },
      ...{ TERM: 'xterm', NO_COLOR: '1', SHELL: '/bin/sh' },
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  let output = ''
  const shown = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', chunk => {
      output += chunk
      if (/curl /.test(output)) resolve()
    })
    child.once('close', () => reject(new Error(output)))
  })
  try {
    await shown
    const [, url = ''] = /REST +(http:\/\/127\.0\.0\.1:\d+)\/api\/v1/.exec(output) ?? []
    for (const [name, path] of [
      ['GraphQL', '/graphql'],
      ['Docs', '/docs'],
      ['Account', '/account'],
    ]) {
      assert.match(output, new RegExp(`${name} +${url}${path}`))
    }
    assert.match(output, /e-mail +admin@example\.com/)
    assert.equal((await fetch(`${url}/api/v1/posts`)).status, 200)
    child.stdin.write('\u0003')
    assert.deepEqual(await closed, [0, null])
    assert.match(output, /^[\d:]+ {2}GET {4}\/api\/v1\/posts 200 /m)
    assert.doesNotMatch(output, /^\{"/m)
  } finally {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})
