/** The functions of one collection, which send requests. */
import type { Answer } from './answer.ts'
import { ApiError } from './api-error.ts'
import type { ApiRequest, Send } from './connection.ts'
import { filterNames, listNames, readNames } from './list-options.ts'
import { filtersOf, type Parameters, parametersOf, queryString } from './query.ts'
import type { CallOptions, ChangeOptions, WriteOptions } from './types/options.ts'

/** The options of a read, whatever the model. */
interface AnyReading extends CallOptions {
  readonly fields?: readonly string[]
  readonly include?: readonly string[]
}

/** The options of a list, whatever the model. */
export interface AnyListing extends AnyReading {
  readonly where?: unknown
  readonly perPage?: number
  readonly cursor?: string
}

type Page = { readonly data: readonly unknown[]; readonly meta: Readonly<Record<string, unknown>> }

const aggregateNames = {
  ...filterNames,
  groupBy: 'group_by',
  timeZone: 'tz',
  sum: 'sum',
  avg: 'avg',
  min: 'min',
  max: 'max',
  sort: 'sort',
  page: 'page',
  perPage: 'per_page',
}

const maxPageSize = 100

/** The entity tags of items, by the object that was returned. */
const etags = new WeakMap<object, string>()

/**
 * The entity tag of an item that `get`, `create`, `update` or `replace` returned without `fields` and `include`, for
 * `ifMatch`. Undefined for any other object, including copies.
 */
export function etagOf(item: object): string | undefined {
  return etags.get(item)
}

/** A reference to a value in the result of an earlier call of a batch. */
export class Reference {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Returns the id as a path segment. Throws a `TypeError` for anything but a whole number. */
export function idSegment(id: unknown): string {
  if (id instanceof Reference) return id.text
  if (Number.isSafeInteger(id)) return String(id)
  throw new TypeError(`An id must be a whole number, not ${JSON.stringify(id)}.`)
}

export function itemOf({ body, etag }: Answer, { fields, include }: AnyReading = {}): unknown {
  if (etag !== undefined && !fields && !include && typeof body === 'object' && body !== null)
    etags.set(body, etag)
  return body
}

export class Collection {
  readonly #send: Send
  readonly #path: string

  constructor(send: Send, name: string) {
    this.#send = send
    this.#path = `/${name}`
  }

  readonly get = async (id: number, options: AnyReading = {}): Promise<unknown> => {
    try {
      return itemOf(await this.#send(this.#read(`/${idSegment(id)}`, options)), options)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return null
      throw error
    }
  }

  readonly list = async (options: AnyListing = {}): Promise<unknown> => this.#page(options)

  readonly first = async (options: AnyListing = {}): Promise<unknown> => {
    const { data } = await this.#page({ ...options, ...{ perPage: 1, total: 'none' } })
    return data[0] ?? null
  }

  readonly all = (options: AnyListing = {}): AsyncGenerator<unknown, undefined, undefined> =>
    this.#iterate(options)

  readonly count = async (where?: unknown, options: CallOptions = {}): Promise<unknown> => {
    const { meta } = await this.#page({ ...options, where, fields: ['id'], perPage: 1 })
    return meta.total
  }

  readonly aggregate = async (options: AnyListing = {}): Promise<unknown> => {
    const parameters = [...parametersOf(options, aggregateNames), ['count', 'true'] as const]
    const query = queryString([...parameters, ...filtersOf(options.where)])
    const { body } = await this.#send({ method: 'GET', path: `${this.#path}/aggregate${query}`, options })
    return body
  }

  readonly create = async (values: unknown, options: AnyReading & WriteOptions = {}): Promise<unknown> =>
    itemOf(await this.#send(this.#write('POST', '', values, options)), options)

  readonly createMany = async (values: readonly unknown[], options: AnyReading & WriteOptions = {}) => {
    const { body } = await this.#send(this.#write('POST', '', values, options))
    return (body as Page).data
  }

  readonly update = async (id: number, values: unknown, options: AnyReading & ChangeOptions = {}) =>
    itemOf(await this.#send(this.#write('PATCH', `/${idSegment(id)}`, values, options)), options)

  readonly replace = async (id: number, values: unknown, options: AnyReading & ChangeOptions = {}) =>
    itemOf(await this.#send(this.#write('PUT', `/${idSegment(id)}`, values, options)), options)

  readonly delete = async (id: number, options: ChangeOptions = {}): Promise<void> => {
    const { ifMatch } = options
    await this.#send({ method: 'DELETE', path: `${this.#path}/${idSegment(id)}`, ifMatch, options })
  }

  /** If the first argument is a number, the action is called on the item with that id. */
  action(name: string): (...args: readonly unknown[]) => Promise<unknown> {
    return async (...args) => {
      const { id, input, options } = operationCall(args)
      const path = id === undefined ? `/${name}` : `/${id}/${name}`
      return itemOf(await this.#send(this.#write('POST', path, input, options)))
    }
  }

  async *#iterate(options: AnyListing): AsyncGenerator<unknown, undefined, undefined> {
    let cursor: string | null = ''
    while (cursor !== null) {
      const { data, meta }: Page = await this.#page({ perPage: maxPageSize, ...options, cursor })
      yield* data
      cursor = meta.next_cursor as string | null
    }
  }

  async #page(options: AnyListing): Promise<Page> {
    return (await this.#send({ method: 'GET', path: `${this.#path}${listQuery(options)}`, options }))
      .body as Page
  }

  #read(path: string, options: AnyReading): ApiRequest {
    return { method: 'GET', path: `${this.#path}${path}${selection(options)}`, options }
  }

  #write(
    method: ApiRequest['method'],
    path: string,
    body: unknown,
    options: AnyReading & ChangeOptions,
  ): ApiRequest {
    const { ifMatch } = options
    return { method, path: `${this.#path}${path}${selection(options)}`, body, ifMatch, options }
  }
}

/** Throws a `TypeError` for a condition that REST cannot express. */
export function listQuery(options: AnyListing): string {
  return queryString([...parametersOf(options, listNames), ...filtersOf(options.where)])
}

export function selection(options: AnyReading): string {
  return queryString(parametersOf(options, readNames))
}

interface OperationCall {
  /** As a path segment; undefined: the operation is not called on an item. */
  readonly id: string | undefined
  readonly input: object
  readonly options: WriteOptions
}

/** The arguments of an action or a query: the id of its item, if it has one, the input and the options. */
function operationCall(args: readonly unknown[]): OperationCall {
  const isOnItem = typeof args[0] === 'number' || args[0] instanceof Reference
  const [input = {}, options = {}] = (isOnItem ? args.slice(1) : args) as readonly [object?, WriteOptions?]
  return { id: isOnItem ? idSegment(args[0]) : undefined, input, options }
}

/** A query of the model. Its input is sent in the URL. */
export function queryCall(send: Send, name: string): (...args: readonly unknown[]) => Promise<unknown> {
  return async (...args) => {
    const { id, input, options } = operationCall(args)
    const values = Object.entries({ id, ...input })
    const parameters: Parameters = values.flatMap(([key, value]) =>
      value === undefined || value === null ? [] : [[key, textOf(value)]],
    )
    const path = `/queries/${name}${queryString(parameters)}`
    return (await send({ method: 'GET', path, options })).body
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
