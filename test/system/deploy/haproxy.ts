/** The load balancer of `deploy/haproxy.cfg`, unchanged, before services on one SQLite file. */
import { spawn } from 'node:child_process'
import { request } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { withFile } from '../../engine/store/blog.ts'
import { findProgram } from '../../programs.ts'
import { freePort } from '../processes/port.ts'
import { type Process, startProcess } from '../processes/portico.ts'

const file = resolve(import.meta.dirname, '../../../deploy/haproxy.cfg')
export const key = 'k'.repeat(32)

export interface BalancedNodes {
  readonly url: string
  readonly nodes: [Process, Process]
  /** Stops a node as an operator does, and restarts it at its address. Returns the exit code. */
  restart(index: 0 | 1): Promise<number | null>
}

async function until(condition: () => Promise<boolean>, hasFailed: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2400 && !hasFailed(); tries++) {
    if (await condition()) return
    await wait(50)
  }
  throw new Error('The balancer does not respond.')
}

/** Runs `use` with two services behind the balancer; stops and removes everything afterwards. */
export async function withBalancer(
  environment: Readonly<Record<string, string>>,
  use: (balanced: BalancedNodes) => Promise<void>,
): Promise<void> {
  const program = findProgram('haproxy')
  await withFile(async database => {
    const start = (port: number) =>
      startProcess({
        environment: {
          DATABASE_URL: database,
          PORT: String(port),
          PORTICO_ADMIN_API_KEY: key,
          PORTICO_TRUST_PROXY: '1',
          ...environment,
        },
      })
    const ports = [await freePort(), await freePort(), await freePort()] as const
    const [listen, first, second] = ports
    const nodes: [Process, Process] = [await start(first), await start(second)]
    const balancer = spawn(program, ['-f', file, '-db'], {
      env: {
        ...process.env,
        LISTEN: `127.0.0.1:${listen}`,
        NODE_1: `127.0.0.1:${first}`,
        NODE_2: `127.0.0.1:${second}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [balancer.stdout, balancer.stderr]) stream.on('data', chunk => (output += chunk))
    const url = `http://127.0.0.1:${listen}`
    const isUp = () =>
      fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    try {
      await until(isUp, () => balancer.exitCode !== null).catch(error => {
        throw new Error(`${error.message} HAProxy says:\n${output}`)
      })
      await use({
        url,
        nodes,
        async restart(index) {
          const code = await nodes[index].end('SIGTERM')
          nodes[index] = await start(index === 0 ? first : second)
          return code
        },
      })
    } finally {
      balancer.kill('SIGKILL')
      await Promise.all(nodes.map(node => node.end('SIGKILL')))
    }
  })
}

export interface BalancedResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
}

/** Sends a request from the client address `localAddress`. */
export function getFrom(
  url: string,
  localAddress: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<BalancedResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { localAddress, headers, agent: false }, answer => {
      answer.resume()
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers }))
    })
    sent.on('error', reject).end()
  })
}
