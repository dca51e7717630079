/** A service with the reference model and a real store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import blog from '../../models/blog.ts'

export const adminKey = 'pk_0123456789abcdefghij'
export const admin = { Authorization: `Bearer ${adminKey}` }

export interface Blog {
  readonly url: string
  readonly graphql: string
  readonly socket: string
  readonly database: string
  /** Sends a REST request as the administrator, or with another key. */
  rest(
    method: string,
    path: string,
    body?: unknown,
    key?: string,
  ): Promise<{ readonly [name: string]: unknown }>
  /** Creates a user with a key. */
  newUser(name: string): Promise<{ readonly id: number; readonly key: string; readonly keyId: number }>
  close(): Promise<void>
}

export async function openBlog(settings: GivenSettings = {}): Promise<Blog> {
  const folder = mkdtempSync(join(tmpdir(), 'portico-graphql-'))
  const database = join(folder, 'blog.db')
  const service = await serve(blog, {
    port: 0,
    host: '127.0.0.1',
    database,
    adminApiKey: adminKey,
    rateLimit: 'off',
    logLevel: 'silent',
    ...settings,
  })
  const rest: Blog['rest'] = async (method, path, body, key = adminKey) => {
    const response = await fetch(`${service.url}/api/v1/${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  return {
    url: service.url,
    graphql: `${service.url}/graphql`,
    socket: `${service.url.replace('http', 'ws')}/graphql`,
    database,
    rest,
    async newUser(name) {
      const user = await rest('POST', 'users', { name, email: `${name}@example.com` })
      const { createKey } = await import('../../../src/identity/bootstrap.ts')
      const key = await withStore(database, run => createKey(run, Number(user.id), { name, scopes: ['*'] }))
      const { data } = (await rest('GET', 'api_keys', undefined, key)) as { data: readonly { id: number }[] }
      return { id: Number(user.id), key, keyId: data[0]?.id ?? 0 }
    },
    async close() {
      await service.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Run = import('../../../src/engine/plan/run.ts').Run

/** Uses the database at the same time as the service, as the command line does. */
export async function withStore<T>(file: string, use: (run: Run) => Promise<T>): Promise<T> {
  const { openSqlite } = await import('../../../src/engine/store/sqlite/sqlite.ts')
  const { createRun } = await import('../../../src/server/serve/store.ts')
  const { createGuard } = await import('../../../src/engine/plan/guard/guard.ts')
  const { checkModel } = await import('../../../src/model/check/check.ts')
  const model = checkModel(blog)
  const store = openSqlite(model, { file })
  try {
    return await use(createRun(createGuard(model), store))
  } finally {
    await store.close()
  }
}
