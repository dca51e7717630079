/**
 * Completes values into the reply (GraphQL 6.4.3). A failed field becomes null; where it may not be null, the nearest
 * nullable parent does (6.4.4). Fields are completed in the order of graphql-js, so the order of errors is the same.
 */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError, catalogue } from '../../../base/errors.ts'
import type { Refusal } from '../../../engine/plan/guarded.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Executed, ExecutionContext } from '../engine.ts'
import { placeOf, type ReplyField } from '../plan/reply-fields.ts'
import { executed } from '../response.ts'
import { jsonInTurns } from './json-in-turns.ts'
import type { ReplySize } from './reply-size.ts'

/** The keys of a field, linked from the innermost to the outermost. */
export interface ResponsePath {
  readonly parent: ResponsePath | undefined
  readonly key: string | number
}

/** A field's error, thrown until it reaches the nearest nullable parent. */
export class FieldFailure extends Error {
  readonly formatted: GraphQLFormattedError

  constructor(formatted: GraphQLFormattedError) {
    super(formatted.message)
    this.formatted = formatted
  }
}

/** Further errors are omitted, so that they do not outgrow the data. */
const maxErrors = 1000

export type Refusals = ReadonlyMap<string, ApiError>

const noRefusals: Refusals = new Map()
const cache = new WeakMap<readonly Refusal[], Refusals>()

/** The refusals by their places in the plan. */
export function byPlace(refusals: readonly Refusal[]): Refusals {
  if (refusals.length === 0) return noRefusals
  const cached = cache.get(refusals)
  if (cached) return cached
  const errors = new Map(refusals.map(({ keys, error }) => [placeOf(keys), error]))
  cache.set(refusals, errors)
  return errors
}

/** The callbacks that are notified of errors. */
type ErrorListeners = Pick<ExecutionContext, 'onFault' | 'onError'>

export type ReplyObject = Record<string, unknown>

export class Completion {
  readonly errors: GraphQLFormattedError[]
  readonly #refusals: Refusals
  readonly #args: readonly JsonValue[]
  readonly #context: ErrorListeners
  readonly #size: ReplySize | undefined

  /** `size`: if the reply may be too large. `errors`: the list to which field errors are added. */
  constructor(
    refusals: Refusals,
    args: readonly JsonValue[],
    context: ErrorListeners,
    size: ReplySize | undefined,
    errors: GraphQLFormattedError[] = [],
  ) {
    this.errors = errors
    this.#size = size
    this.#refusals = refusals
    this.#args = args
    this.#context = context
  }

  /** A field's value in the reply. Throws a `FieldFailure` when a non-null field fails, and ANSWER_TOO_LARGE. */
  field(field: ReplyField, value: () => unknown, path: ResponsePath): unknown {
    try {
      const refusal = field.place === undefined ? undefined : this.#refusals.get(field.place)
      if (refusal) throw refusal
      const completed = this.#value(field, value(), path)
      if (completed === null && field.nonNull) throw nullError(field)
      return completed
    } catch (error) {
      if (this.#size?.isRefusal(error)) throw error
      const failure = this.#toFailure(error, field, path)
      if (field.nonNull) throw failure
      this.#fail(failure)
      return null
    }
  }

  /** The reply with the data that `complete` returns; `data` is null if a failure reached the top. */
  reply(cost: number, complete: () => unknown): Executed {
    const data = this.#attempt(complete)
    return data instanceof ApiError
      ? refusedReply(data, cost)
      : executed(JSON.stringify(data), this.errors, cost)
  }

  /** As `reply`, for data that takes long to write as JSON. */
  async replyInTurns(cost: number, complete: () => unknown): Promise<Executed> {
    const data = this.#attempt(complete)
    if (data instanceof ApiError) return refusedReply(data, cost)
    return executed(await jsonInTurns(data), this.errors, cost)
  }

  /** Returns an error that refuses the whole reply. */
  #attempt(complete: () => unknown): unknown {
    try {
      return complete()
    } catch (error) {
      if (error instanceof ApiError) return error
      if (!(error instanceof FieldFailure)) throw error
      this.#fail(error)
      return null
    }
  }

  #fail({ formatted }: FieldFailure): void {
    if (this.errors.length < maxErrors) this.errors.push(formatted)
  }

  #value(field: ReplyField, raw: unknown, path: ResponsePath): unknown {
    if (field.kind === 'constant') return field.value
    if (raw === null || raw === undefined) return null
    if (field.kind === 'leaf') {
      this.#size?.add(field, raw)
      return raw
    }
    const value = field.reshape ? field.reshape(raw, this.#args) : raw
    if (field.kind === 'object') return this.object(field.children, value, path)
    if (!Array.isArray(value)) throw new TypeError(`${field.name} must be a list`)
    return value.map((item, key) => this.object(field.children, item, { parent: path, key }))
  }

  object(children: readonly ReplyField[], value: unknown, path: ResponsePath | undefined): ReplyObject {
    const source = value as ReplyObject
    const reply: ReplyObject = Object.create(null)
    for (const field of children) {
      const read = () => (Object.hasOwn(source, field.source) ? source[field.source] : null)
      reply[field.key] = this.field(field, read, { parent: path, key: field.key })
    }
    return reply
  }

  #toFailure(error: unknown, { nodes }: ReplyField, path: ResponsePath): FieldFailure {
    if (error instanceof FieldFailure) return error
    const { message, extensions } = this.#describe(error)
    const keys = keysOf(path)
    this.#context.onError?.(error, keys)
    return new FieldFailure({ message, locations: locationsOf(nodes), path: keys, extensions })
  }

  #describe(error: unknown): { message: string; extensions: Record<string, unknown> } {
    if (!(error instanceof ApiError)) {
      this.#context.onFault(error)
      return { message: catalogue.INTERNAL_ERROR.message, extensions: { code: 'INTERNAL_ERROR' } }
    }
    if (error.code === 'INTERNAL_ERROR') this.#context.onFault(error)
    const { message, code, details } = error
    return { message, extensions: details ? { code, details } : { code } }
  }
}

function refusedReply(error: ApiError, cost: number): Executed {
  return executed('null', [formatted(error)], cost)
}

function formatted({ message, code }: ApiError): GraphQLFormattedError {
  return { message, extensions: { code } }
}

/** NOT_FOUND: the value may exist, but not for this caller. */
function nullError({ name }: ReplyField): ApiError {
  return new ApiError('NOT_FOUND', `Cannot return null for non-nullable field ${name}.`)
}

function locationsOf(nodes: ReplyField['nodes']) {
  return nodes.flatMap(({ loc }) =>
    loc ? [{ line: loc.startToken.line, column: loc.startToken.column }] : [],
  )
}

function keysOf(path: ResponsePath): readonly (string | number)[] {
  const keys: (string | number)[] = []
  for (let node: ResponsePath | undefined = path; node; node = node.parent) keys.push(node.key)
  return keys.reverse()
}
