/** The REST handler on a store of its own, with a view of everything that the store contains. */

import { randomUUID } from 'node:crypto'
import { createRest, errorReply } from '../../../../src/api/rest/rest.ts'
import { then } from '../../../../src/base/awaitable.ts'
import type { Call, Reply } from '../../../../src/base/call.ts'
import { type Principal, system } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import { orderById } from '../../../../src/engine/plan/order.ts'
import type { ListShape } from '../../../../src/engine/plan/plan.ts'
import type { CreateHook, CreateHooks, Run } from '../../../../src/engine/plan/run.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { newAppHook } from '../../../../src/identity/server/clients/app-hooks.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import type { Model } from '../../../../src/model/model.ts'
import { createRun } from '../../../../src/server/serve/store.ts'
import { idempotencyOf } from '../../../engine/idempotency/of-store.ts'
import { eventsOf } from '../../events/parts.ts'

export type OpenStore = (model: Model) => Promise<{ readonly store: Store; close(): Promise<void> }>

/** The same contract runs on several harnesses: the handler alone, or a whole service behind a port. */
export type OpenHarness = (model: Model) => Promise<Harness>

export interface Request {
  readonly method?: string
  /** Path and query. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is when a string or a buffer; otherwise as JSON, with its media type. */
  readonly body?: unknown
}

export interface Harness {
  readonly run: Run
  send(request: Request, principal: Principal): Promise<Reply>
  /** Adds an item as Portico itself; its id. */
  seed(collection: string, values: Readonly<Record<string, JsonValue>>): Promise<number>
  /** Every item with every field, by collection, as JSON. */
  dump(): Promise<ReadonlyMap<string, string>>
  close(): Promise<void>
}

/** The hooks of keys, apps and their secrets, without random values except where they must be unique. */
const hooks: CreateHooks = new Map<string, CreateHook>([
  [
    'api_keys',
    () => ({
      computed: { prefix: 'pk_test', hash: 'hashed', scopes: ['*'] },
      revealed: { key: 'pk_test_secret' },
    }),
  ],
  [
    'oauth_apps',
    (values, principal) =>
      then(newAppHook('Portico')(values, principal), ({ computed, revealed }) => ({ computed, revealed })),
  ],
  [
    'oauth_app_secrets',
    () => ({ computed: { prefix: 'test', hash: randomUUID() }, revealed: { client_secret: 'test_secret' } }),
  ],
])

function toBuffer(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

let count = 0

export function toCall({ method = 'GET', url, headers = {}, body }: Request): Call {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const json = body !== undefined && !Buffer.isBuffer(body) && typeof body !== 'string'
  const type = json ? { 'content-type': 'application/json' } : {}
  count += 1
  return {
    method,
    url,
    path,
    query,
    headers: { ...type, ...headers },
    address: '192.0.2.1',
    requestId: `test-${count}`,
    body: toBuffer(body),
  }
}

const notHarnessKey = { kind: 'compare', field: 'name', operator: 'ne', param: 2 } as const

/** The name of the API keys that a harness creates for its callers. A dump leaves these out. */
export const harnessKey = "the harness's own"

/** Every item with every field, by collection, as JSON. */
export async function dumpAll(model: Model, run: Run): Promise<ReadonlyMap<string, string>> {
  const names = [...model.collections.keys()]
  return new Map(
    await Promise.all(names.map(async name => [name, await dumpCollection(model, run, name)] as const)),
  )
}

/** Adds an item as Portico itself; its id. */
export async function seedItem(
  run: Run,
  collection: string,
  values: Readonly<Record<string, JsonValue>>,
): Promise<number> {
  const names = Object.keys(values)
  const computed = names.map((field, param) => ({ field, param }))
  const shape = { kind: 'create', collection, set: [], computed, select: [] } as const
  return (await run.write({ shape, args: Object.values(values) }, system)).id
}

/** A list of every item with every field, for `dumpBy`. */
export function dumpShape(model: Model, name: string): ListShape {
  const fields = [...(model.collections.get(name)?.fields.keys() ?? [])]
  return {
    kind: 'list',
    collection: name,
    within: undefined,
    filter: name === 'api_keys' ? notHarnessKey : undefined,
    search: undefined,
    sort: orderById,
    window: { kind: 'page', offset: 0, limit: 1, total: 'exact' },
    select: fields.map(field => ({ kind: 'field', key: field, field }) as const),
  }
}

/** The total, and the items as JSON. Where the shape was asked for before, they may come from memory. */
export async function dumpBy(run: Run, shape: ListShape): Promise<string> {
  const answer = await run.list({ shape, args: [0, 100_000, harnessKey] }, system)
  return `${answer.total} ${answer.text}`
}

export function dumpCollection(model: Model, run: Run, name: string): Promise<string> {
  return dumpBy(run, dumpShape(model, name))
}

/** The REST handler alone, on a store of its own. */
export async function openHarness(model: Model, openStore: OpenStore): Promise<Harness> {
  const { store, close } = await openStore(model)
  const run = createRun(createGuard(model), store)
  const idempotency = idempotencyOf(store, run)
  const rest = createRest({ model, run, hooks, idempotency, baseUrl: undefined, events: eventsOf(store) })
  return {
    run,
    close,
    async send(request, principal) {
      const call = toCall(request)
      try {
        return await rest(call, principal)
      } catch (error) {
        return errorReply(error, call)
      }
    },
    seed: (collection, values) => seedItem(run, collection, values),
    dump: () => dumpAll(model, run),
  }
}
