/** A whole service behind a port. A second store seeds and reads the database as another process would. */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import type { Reply } from '../../../../src/base/call.ts'
import type { Principal } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../../src/engine/plan/run.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { generateKey, keyHash, keyPrefix } from '../../../../src/identity/keys/key.ts'
import type { Model } from '../../../../src/model/model.ts'
import { type GivenSettings, readSettings } from '../../../../src/server/config/config.ts'
import { start } from '../../../../src/server/serve/serve.ts'
import type { Service } from '../../../../src/server/serve/service.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import type { DatabaseKind } from './databases.ts'
import { dumpAll, type Harness, harnessKey, type Request, seedItem, toCall } from './harness.ts'

/** Headers that the service adds to each reply: see `Reply`. All must be present; their values are not compared. */
const alwaysAdded = ['API-Version', 'X-Request-Id']
const addedHeaders = [
  ...alwaysAdded,
  'X-Content-Type-Options',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Keep-Alive',
  'Date',
]
const added = new Set([...addedHeaders, 'Access-Control-Allow-Origin', 'Access-Control-Expose-Headers'])

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function readReply(message: IncomingMessage): Promise<Reply> {
  const sent = message.rawHeaders
  for (const name of alwaysAdded) assert.ok(sent.includes(name), `${name} is sent`)
  const headers = sent.filter((_, index) => !added.has(sent[index - (index % 2)] ?? ''))
  const bytes = await bytesOf(message)
  return { status: message.statusCode ?? 0, headers, body: bytes.length === 0 ? null : bytes.toString() }
}

/** Escapes characters that no client sends unescaped. */
function escapePath(url: string): string {
  return url.toWellFormed().replace(/[^!-~]+/g, encodeURIComponent)
}

function exchange(port: number, agent: Agent, request: Request, credential: Credential): Promise<Reply> {
  const { method, url, headers, body, requestId } = toCall(request)
  const length = body.length > 0 ? { 'content-length': String(body.length) } : {}
  const added = { 'x-request-id': requestId, ...credential, ...length }
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, agent, method, path: escapePath(url) }
    const sent = httpRequest({ ...options, headers: { ...headers, ...added } }, message =>
      readReply(message).then(resolve, reject),
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

type Credential = Readonly<Record<string, string>>

/** An API key with the scopes of the principal; no headers for an anonymous one. */
async function createCredential(model: Model, run: Run, { userId, access }: Principal): Promise<Credential> {
  if (userId === null) return {}
  const key = generateKey()
  await seedItem(run, 'api_keys', {
    user_id: userId,
    name: harnessKey,
    scopes:
      access.scopes === 'all'
        ? ['*']
        : [...access.scopes].filter(name => name === '*' || model.scopes.has(name)),
    prefix: keyPrefix(key),
    hash: keyHash(key),
  })
  return { authorization: `Bearer ${key}` }
}

function settingsFor(database: string): GivenSettings {
  return {
    port: 0,
    host: '127.0.0.1',
    database,
    databaseConnections: 4,
    secretKeys: ['a key that only the harnesses of this contract have'.replaceAll(' ', '-')],
    logLevel: 'silent',
    rateLimit: 'off',
  }
}

interface ServedHarness {
  readonly model: Model
  /** The database, read by a second process. */
  readonly store: Store
  /** The URL of the service, requested once the database is seeded. */
  url(): Promise<string>
  close(): Promise<void>
}

/** A harness whose requests go to a service over HTTP. */
export function httpHarness({ model, store, url, close }: ServedHarness): Harness {
  const run = createRun(createGuard(model), store)
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const credentials = new Map<Principal, Promise<Credential>>()

  const credentialOf = (principal: Principal) => {
    const credential = credentials.get(principal) ?? createCredential(model, run, principal)
    credentials.set(principal, credential)
    return credential
  }
  /** A caller who has just revoked the harness's key gets another one, unless the account is deleted, too. */
  const renew = (principal: Principal, revoked: Credential) => {
    credentials.set(
      principal,
      createCredential(model, run, principal).catch(() => revoked),
    )
  }
  return {
    run,
    seed: (collection, values) => seedItem(run, collection, values),
    dump: () => dumpAll(model, run),
    async send(request, principal) {
      const port = Number(new URL(await url()).port)
      const credential = await credentialOf(principal)
      const reply = await exchange(port, agent, request, credential)
      if (reply.status === 401 && credential.authorization !== undefined) renew(principal, credential)
      return reply
    },
    async close() {
      agent.destroy()
      await close()
    },
  }
}

/** Starts the service with the first request, when the database is seeded. */
export async function openHttpHarness(model: Model, kind: DatabaseKind): Promise<Harness> {
  const database = await kind.create(model)
  const store = await database.open(model)
  let started: Promise<Service> | undefined
  return httpHarness({
    model,
    store,
    async url() {
      started ??= start(model, readSettings({ given: settingsFor(database.url), environment: {} }))
      return (await started).url
    },
    async close() {
      await started?.then(
        service => service.close(),
        () => undefined,
      )
      await store.close()
      await database.drop()
    },
  })
}
