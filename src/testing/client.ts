/** What a user does, as functions: items by `data`, actions and queries by the requests that REST takes. */
import type { Call, Reply } from '../call.ts'
import { createData, type DataParts } from '../logic/data/create-data.ts'
import type { CollectionData } from '../logic/data.ts'
import type { Operation } from '../model/model.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'

export interface ClientParts {
  readonly data: DataParts
  readonly rest: (call: Call, principal: Principal) => Awaitable<Reply>
  /** The caller, asked for before each call. */
  readonly principal: () => Awaitable<Principal>
}

type Operate = (...given: readonly unknown[]) => Promise<unknown>

/** By collection, and by the name of an operation. */
type Client = Readonly<Record<string, object>>

export function createClient(parts: ClientParts): Client {
  const { model } = parts.data
  const collections = [...model.collections.keys()].map(name => [
    name,
    { ...collectionData(parts, name), ...actionsOf(parts, name) },
  ])
  return Object.freeze({
    ...Object.fromEntries(collections),
    actions: actionsOf(parts, undefined),
    queries: operations(parts, [...model.logic.queries.values()], queryCall),
  })
}

function collectionData(parts: ClientParts, name: string): CollectionData {
  const opened = async (): Promise<CollectionData> => {
    const found = createData(parts.data, await parts.principal())[name]
    if (found === undefined) throw new TypeError(`the model has no collection ${name}`)
    return found
  }
  return {
    get: async (...given) => (await opened()).get(...given),
    first: async (...given) => (await opened()).first(...given),
    list: async (...given) => (await opened()).list(...given),
    all: async function* (...given) {
      yield* (await opened()).all(...given)
    },
    count: async (...given) => (await opened()).count(...given),
    create: async (...given) => (await opened()).create(...given),
    update: async (...given) => (await opened()).update(...given),
    delete: async (...given) => (await opened()).delete(...given),
  }
}

/** The actions of a collection; undefined: those of none. */
function actionsOf(parts: ClientParts, collection: string | undefined) {
  const all = [...parts.data.model.logic.actions.values()]
  return operations(
    parts,
    all.filter(action => action.collection === collection),
    actionCall,
  )
}

type Request = Pick<Call, 'method' | 'path' | 'query' | 'parsed'>

function operations(
  parts: ClientParts,
  all: readonly Operation[],
  requestOf: (operation: Operation, id: unknown, input: unknown) => Request,
): Readonly<Record<string, Operate>> {
  const operate = (operation: Operation): Operate => {
    return async (...given) => {
      const [id, input] = operation.target === 'item' ? given : [undefined, ...given]
      return send(parts, requestOf(operation, id, input))
    }
  }
  return Object.freeze(Object.fromEntries(all.map(operation => [operation.name, operate(operation)])))
}

function actionCall(
  { name, collection = 'actions', target }: Operation,
  id: unknown,
  input: unknown,
): Request {
  const path = target === 'item' ? `${collection}/${id}/${name}` : `${collection}/${name}`
  return { method: 'POST', path: `/api/v1/${path}`, query: '', parsed: { body: input ?? {} } }
}

function queryCall({ name, target }: Operation, id: unknown, input: unknown): Request {
  const values = Object.entries({ ...(target === 'item' && { id }), ...Object(input) })
  const given = values.filter(([, value]) => value !== undefined && value !== null)
  const query = given.map(([key, value]) => `${key}=${encodeURIComponent(textOf(value))}`).join('&')
  return { method: 'GET', path: `/api/v1/queries/${name}`, query }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const nothing = Buffer.alloc(0)

/** Rejects with an `ApiError`. */
async function send({ rest, principal }: ClientParts, request: Request): Promise<unknown> {
  const call = {
    ...request,
    url: request.query === '' ? request.path : `${request.path}?${request.query}`,
    headers: request.parsed ? { 'content-type': 'application/json' } : {},
    address: '127.0.0.1',
    requestId: 'test',
    body: nothing,
    // Carries the headers of the budget.
    added: '',
  }
  const { body } = await rest(call, await principal())
  return body === null ? undefined : JSON.parse(String(body))
}
