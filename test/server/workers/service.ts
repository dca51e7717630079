/** A service with several workers, and connections to a particular worker. */
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import type { Service } from '../../../src/server/serve/service.ts'
import blog from '../../models/blog.ts'
import { type Backend, sqlite } from './backends.ts'

export const modelFile = fileURLToPath(new URL('../../models/blog.ts', import.meta.url))

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly json: Readonly<Record<string, unknown>>
  readonly text: string
}

/** A connection, which stays with the worker that accepted it. */
export class WorkerConnection {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #key: string | undefined
  /** The prefix of the request ids of its worker. */
  worker = ''

  constructor(url: string, key?: string) {
    this.#url = url
    this.#key = key
  }

  request(path: string, { method = 'GET', headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#url + path, {
        agent: this.#agent,
        method,
        headers: {
          ...(this.#key !== undefined && !headers.Cookie && { Authorization: `Bearer ${this.#key}` }),
          ...(text !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
      })
      outgoing.on('error', reject).on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk)).on('error', reject)
        response.on('end', () => {
          this.worker = String(response.headers['x-request-id']).split('.')[0] ?? ''
          const answer = Buffer.concat(chunks).toString()
          const json = answer.startsWith('{') ? JSON.parse(answer) : {}
          resolve({ status: response.statusCode ?? 0, headers: response.headers, json, text: answer })
        })
      })
      outgoing.end(text)
    })
  }

  async text(path: string): Promise<string> {
    return (await this.request(path)).text
  }

  close(): void {
    this.#agent.destroy()
  }
}

export interface RunningWorkers {
  readonly service: Service
  readonly url: string
  readonly key: string
  /** A connection to each worker. */
  readonly connections: readonly WorkerConnection[]
  /** Opens another connection to the worker of `connection`. */
  another(connection: WorkerConnection): Promise<WorkerConnection>
}

async function connectionTo(
  url: string,
  key: string,
  isWanted: (worker: string) => boolean,
): Promise<WorkerConnection> {
  for (;;) {
    const connection = new WorkerConnection(url, key)
    await connection.request('/healthz')
    if (isWanted(connection.worker)) return connection
    connection.close()
  }
}

/** Runs `use` with a service of `workers` workers, then closes and removes everything. */
export async function withWorkers(
  workers: number,
  use: (pool: RunningWorkers) => Promise<void>,
  settings: GivenSettings = {},
  place: Backend = sqlite,
): Promise<void> {
  const backend = await place.open()
  try {
    await withService(workers, { ...backend.settings, ...settings }, use)
  } finally {
    await backend.close()
  }
}

async function withService(
  workers: number,
  settings: GivenSettings,
  use: (pool: RunningWorkers) => Promise<void>,
): Promise<void> {
  const key = generateKey()
  const open: WorkerConnection[] = []
  const service = await serve(blog, {
    port: 0,
    host: '127.0.0.1',
    model: modelFile,
    workers,
    logLevel: 'silent',
    adminApiKey: key,
    rateLimit: 'off',
    ...settings,
  })
  const connect = async (isWanted: (worker: string) => boolean) => {
    const connection = await connectionTo(service.url, key, isWanted)
    open.push(connection)
    return connection
  }
  try {
    const connections: WorkerConnection[] = []
    while (connections.length < workers) {
      connections.push(await connect(worker => connections.every(other => other.worker !== worker)))
    }
    const another = ({ worker }: WorkerConnection) => connect(name => name === worker)
    await use({ service, url: service.url, key, connections, another })
  } finally {
    for (const connection of open) connection.close()
    await service.close()
  }
}
