// One PostgreSQL server for a whole test run, started when the first test needs it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from './node.mjs'

/**
 * Returns the path of the socket at which tests request the server, and a function that stops everything. `node` runs the
 * server process, which also stops its server when this process ends.
 */
export async function serveDatabases(node) {
  const folder = mkdtempSync(join(tmpdir(), 'portico-run-'))
  const path = join(folder, 'servers')
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  let serverProcess
  let reply
  const start = () => {
    if (reply !== undefined) return reply
    serverProcess = spawn(node, [join(root, 'test', 'setups', 'databases', 'server-process.ts')], {
      cwd: root,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const failed = JSON.stringify({ error: 'The process that starts PostgreSQL for the tests ended.' })
    reply = new Promise(resolve => {
      createInterface({ input: serverProcess.stdout }).once('line', resolve)
      serverProcess.on('close', () => resolve(failed))
    })
    return reply
  }
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    start().then(line => socket.end(`${line}\n`))
  })
  await new Promise(resolve => server.listen(path, resolve))
  return {
    path,
    stop: async () => {
      server.close()
      if (serverProcess !== undefined && serverProcess.exitCode === null) {
        const exit = new Promise(resolve => serverProcess.on('exit', resolve))
        serverProcess.stdin.end()
        await exit
      }
    },
  }
}
