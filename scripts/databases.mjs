// One PostgreSQL server for a whole run of the tests, started when the first of them asks for it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from './node.mjs'

/**
 * Gives the path where tests ask, and what ends everything. `node` runs the server process, which stops its server when
 * this process ends, too.
 */
export async function serveDatabases(node) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-run-'))
  const path = join(folder, 'servers')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  let serverProcess
  let said
  const ask = () => {
    if (said !== undefined) return said
    serverProcess = spawn(node, [join(root, 'test', 'databases', 'server-process.ts')], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const failed = JSON.stringify({ error: 'The process that starts PostgreSQL for the tests ended.' })
    said = new Promise(resolve => {
      createInterface({ input: serverProcess.stdout }).once('line', resolve)
      serverProcess.on('close', () => resolve(failed))
    })
    return said
  }
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    ask().then(line => socket.end(`${line}\n`))
  })
  await new Promise(resolve => server.listen(path, resolve))
  return {
    path,
    stop: async () => {
      server.close()
      if (serverProcess !== undefined && serverProcess.exitCode === null) {
        const ended = new Promise(resolve => serverProcess.on('exit', resolve))
        serverProcess.stdin.end()
        await ended
      }
    },
  }
}
