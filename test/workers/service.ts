/** A service of several workers, and connections of which one knows which worker answers. */
import { Agent, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { generateKey } from '../../src/auth/key.ts'
import type { GivenSettings } from '../../src/config.ts'
import type { Service } from '../../src/serve/service.ts'
import { serve } from '../../src/serve.ts'
import blog from '../models/blog.ts'
import { type Backend, sqlite } from './backends.ts'

export const modelFile = fileURLToPath(new URL('../models/blog.ts', import.meta.url))

export interface Asked {
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

/** One connection, which stays with the worker that took it. */
export class Lane {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #key: string | undefined
  /** What the request ids of its worker begin with. */
  worker = ''

  constructor(url: string, key?: string) {
    this.#url = url
    this.#key = key
  }

  ask(path: string, { method = 'GET', headers = {}, body }: Asked = {}): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const asked = request(this.#url + path, {
        agent: this.#agent,
        method,
        headers: {
          ...(this.#key !== undefined && !headers.Cookie && { Authorization: `Bearer ${this.#key}` }),
          ...(text !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
      })
      asked.on('error', reject).on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk)).on('error', reject)
        response.on('end', () => {
          this.worker = String(response.headers['x-request-id']).split('.')[0] ?? ''
          const answer = Buffer.concat(chunks).toString()
          const json = answer.startsWith('{') ? JSON.parse(answer) : {}
          resolve({ status: response.statusCode ?? 0, headers: response.headers, json, text: answer })
        })
      })
      asked.end(text)
    })
  }

  async text(path: string): Promise<string> {
    return (await this.ask(path)).text
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
  readonly lanes: readonly Lane[]
  /** A further connection to the worker that has `lane`. */
  beside(lane: Lane): Promise<Lane>
}

async function laneTo(url: string, key: string, isWanted: (worker: string) => boolean): Promise<Lane> {
  for (;;) {
    const lane = new Lane(url, key)
    await lane.ask('/healthz')
    if (isWanted(lane.worker)) return lane
    lane.close()
  }
}

/** Runs `use` with a service of so many workers; everything is closed and removed afterwards. */
export async function withWorkers(
  workers: number,
  use: (pool: RunningWorkers) => Promise<void>,
  given: GivenSettings = {},
  place: Backend = sqlite,
): Promise<void> {
  const opened = await place.open()
  try {
    await withService(workers, { ...opened.settings, ...given }, use)
  } finally {
    await opened.close()
  }
}

async function withService(
  workers: number,
  given: GivenSettings,
  use: (pool: RunningWorkers) => Promise<void>,
): Promise<void> {
  const key = generateKey()
  const open: Lane[] = []
  const service = await serve(blog, {
    port: 0,
    host: '127.0.0.1',
    model: modelFile,
    workers,
    logLevel: 'silent',
    adminApiKey: key,
    rateLimit: 'off',
    ...given,
  })
  const lane = async (isWanted: (worker: string) => boolean) => {
    const made = await laneTo(service.url, key, isWanted)
    open.push(made)
    return made
  }
  try {
    const lanes: Lane[] = []
    while (lanes.length < workers) {
      lanes.push(await lane(worker => lanes.every(other => other.worker !== worker)))
    }
    const beside = ({ worker }: Lane) => lane(found => found === worker)
    await use({ service, url: service.url, key, lanes, beside })
  } finally {
    for (const each of open) each.close()
    await service.close()
  }
}
