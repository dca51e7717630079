/** A service with files, on each kind of database, over HTTP. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKey } from '../../../../src/identity/bootstrap.ts'
import {
  anyone,
  boolean,
  collection,
  currentUser,
  field,
  file,
  integer,
  json,
  model,
  owner,
  relation,
  role,
  signedIn,
  string,
  users,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { type GivenSettings, readSettings, type Settings } from '../../../../src/server/config/config.ts'
import { createLog } from '../../../../src/server/observability/log.ts'
import { open } from '../../../../src/server/serve/serve.ts'
import type { OpenService } from '../../../../src/server/serve/service.ts'
import type { DatabaseKind, TestDatabase } from '../../../engine/store/databases.ts'

export const declared = model({
  users: users({ fields: { email: { access: { read: owner('id').or(role('admin')) } } } }),
  albums: collection({
    fields: { name: string(), owner_id: relation('users', { default: currentUser, inverse: 'albums' }) },
    access: { read: anyone, create: signedIn, update: owner('owner_id'), delete: owner('owner_id') },
  }),
  photos: collection({
    fields: {
      title: string({ default: 'untitled' }),
      stars: integer({ optional: true }),
      hidden: boolean({ default: false }),
      labels: json({ optional: true }),
      image: file({ optional: true, max: '200 kB', types: ['image/*', 'application/pdf'] }),
      note: file({
        optional: true,
        max: '1 MB',
        access: { read: owner('owner_id'), write: owner('owner_id') },
      }),
      logo: file({ optional: true, public: true, types: ['image/png'] }),
      album_id: relation('albums', { optional: true, inverse: 'photos', onDelete: 'cascade' }),
      owner_id: relation('users', { default: currentUser, inverse: 'photos' }),
    },
    access: {
      read: field('hidden').eq(false).or(owner('owner_id')),
      create: signedIn,
      update: owner('owner_id'),
      delete: owner('owner_id'),
    },
  }),
  scans: collection({
    fields: {
      scan: file({ optional: true }),
      of_id: relation('users', { personal: true, default: currentUser }),
    },
    access: { read: owner('of_id'), create: signedIn, update: owner('of_id') },
  }),
  drafts: collection({
    fields: {
      title: string(),
      a: file({ optional: true }),
      b: file({ optional: true }),
      cover: file({ optional: true, public: true, types: ['image/png'] }),
      locked: file({ optional: true, max: '60 MB', access: { write: role('admin') } }),
    },
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
    prepare: ({ next }) => (next.title === 'strip' ? { a: null } : { a: next.a }),
  }),
  papers: collection({
    fields: { content: file({ max: 5_000_000 }) },
    access: { read: anyone, create: signedIn, update: signedIn, delete: signedIn },
  }),
})

export interface Sent {
  readonly as?: Person | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Person {
  readonly id: number
  readonly key: string
}

export interface Files {
  readonly service: OpenService
  readonly folder: string
  readonly ada: Person
  readonly bob: Person
  person(name: string, scopes?: readonly string[]): Promise<Person>
  /** Sends a request to a path below `/api/v1`, or to an address of the service. */
  send(line: string, sent?: Sent): Promise<Response>
  /** The same; the answer must have the status, and is parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes.
  ok(line: string, sent?: Sent, status?: number): Promise<any>
  readonly database: TestDatabase
  /** Of the objects, in the order of their ids. */
  states(): Promise<readonly string[]>
  restart(): Promise<void>
}

/** The smallest PNG: one pixel. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function settingsOf(given: GivenSettings): Settings {
  const quiet = {
    host: '127.0.0.1',
    port: 0,
    logLevel: 'silent',
    rateLimit: 'off',
    maxDelay: '60 s',
  } as const
  const secretKeys = ['the-key-of-services-that-test-files-0000000']
  return readSettings({ given: { ...quiet, secretKeys, ...given } })
}

/** Opens the service. */
export function openFiles(given: GivenSettings): Promise<OpenService> {
  const settings = settingsOf(given)
  return open(checkModel(declared), settings, createLog(settings), {})
}

const isJson = (body: unknown) =>
  body !== undefined &&
  typeof body !== 'string' &&
  ![FormData, Uint8Array, ReadableStream].some(type => body instanceof type)

export async function withFiles(
  kind: DatabaseKind,
  use: (files: Files) => Promise<void>,
  overrides: GivenSettings = {},
): Promise<void> {
  await kind.within(async database => {
    await database.create()
    const folder = mkdtempSync(join(tmpdir(), 'portico-files-'))
    const rowSecurity = kind.name.endsWith('row security')
    const given = { database: database.url, rowSecurity, 'files.url': join(folder, 'files'), ...overrides }
    const settings = settingsOf(given)
    const start = () => openFiles(given)
    let opened = await start()
    const person = async (name: string, scopes: readonly string[] = ['*']) => {
      const { users: accounts } = opened.service.data
      assert.ok(accounts)
      const { id } = await accounts.create({ name, email: `${name}@example.com` })
      return { id: Number(id), key: await createKey(opened.run, Number(id), { name, scopes }) }
    }
    const send = async (line: string, { as, headers, body }: Sent = {}) => {
      const [method = '', path = ''] = line.split(' ')
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const target = /^\/(?:api|graphql|account)/.test(path) ? path : `/api/v1${path}`
      return fetch(opened.service.url + target, {
        method,
        headers: {
          ...(as && { authorization: `Bearer ${as.key}` }),
          ...(isJson(body) && { 'content-type': type }),
          ...headers,
        },
        ...(body !== undefined && { body: isJson(body) ? JSON.stringify(body) : (body as string) }),
        ...(body instanceof ReadableStream && { duplex: 'half' as const }),
      })
    }
    const ok = async (line: string, sent?: Sent, status?: number) => {
      const response = await send(line, sent)
      const text = await response.text()
      const isExpected = status === undefined ? response.ok : response.status === status
      assert.ok(isExpected, `${line}: ${response.status} ${text}`)
      return text === '' ? undefined : JSON.parse(text)
    }
    try {
      await use({
        get service() {
          return opened
        },
        folder: settings['files.url'],
        ...{ ada: await person('ada'), bob: await person('bob') },
        ...{ person, send, ok, database },
        states: async () =>
          (await database.rows('SELECT "state" FROM "uploads" ORDER BY "id"')).map(({ state }) =>
            String(state),
          ),
        async restart() {
          await opened.service.close()
          opened = await start()
        },
      })
    } finally {
      await opened.service.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
}
