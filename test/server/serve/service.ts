/** A whole service on a database of its own, for tests over HTTP. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import type { ServeOptions, Service } from '../../../src/server/serve/service.ts'
import blog from '../../models/blog.ts'

export interface TestService {
  readonly service: Service
  readonly url: string
  readonly port: number
  readonly file: string
  /** The administrator's key. */
  readonly key: string
  call(path: string, options?: CallOptions): Promise<Answer>
}

export interface CallOptions {
  readonly method?: string
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The error's code; undefined for a response without an error. */
  readonly code: string | undefined
  readonly json: Readonly<Record<string, unknown>>
}

function parsed(text: string): Readonly<Record<string, never>> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export async function call(
  url: string,
  { method = 'GET', key, headers, body }: CallOptions = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = parsed(text)
  const { code }: { code?: string } = json.error ?? {}
  return { status: response.status, headers: response.headers, text, code, json }
}

/** Runs `use` with a service of the reference model; closes and removes everything afterwards. */
export async function withService(
  options: ServeOptions,
  use: (service: TestService) => Promise<void>,
  declaration: Declaration = blog,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-serve-'))
  const file = join(folder, 'test.db')
  const key = generateKey()
  const service = await serve(declaration, {
    port: 0,
    host: '127.0.0.1',
    database: file,
    logLevel: 'silent',
    adminApiKey: key,
    adminEmail: 'admin@example.com',
    ...options,
  })
  const { url } = service
  try {
    await use({
      service,
      url,
      port: Number(new URL(url).port),
      file,
      key,
      call: (path, options) => call(url + path, options),
    })
  } finally {
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** One service for all tests of a file. Returns its accessor, to be called inside tests. */
export function serviceOfFile(options: ServeOptions): () => TestService {
  let service: TestService | undefined
  let close = () => {}
  let serving: Promise<void> | undefined
  before(async () => {
    const started = Promise.withResolvers<void>()
    serving = withService(options, async opened => {
      service = opened
      started.resolve()
      await new Promise<void>(resolve => {
        close = resolve
      })
    })
    await Promise.race([started.promise, serving])
  })
  after(() => {
    close()
    return serving
  })
  return () => service ?? assert.fail('The service is available inside tests only.')
}
