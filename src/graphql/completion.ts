/**
 * Values become the reply, with an error where a field failed, and a null carried up to the next place that may
 * be null (GraphQL 6.4.4): field by field as graphql-js does it, so errors and their order are the same.
 */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError, catalogue } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Refusal } from '../plan/guarded.ts'
import type { Executed } from './engine.ts'
import { type Picked, placeOf } from './picked.ts'
import { executed } from './reply.ts'

/** Keys from the innermost to the outermost. */
export interface Path {
  readonly before: Path | undefined
  readonly key: string | number
}

/** An error on its way to the next place that may be null. */
export class FieldFailure extends Error {
  readonly formatted: GraphQLFormattedError

  constructor(formatted: GraphQLFormattedError) {
    super(formatted.message)
    this.formatted = formatted
  }
}

/** More errors than this are counted, not told: a reply is not to grow beyond its data. */
const MAX_ERRORS = 1000

export type Refusals = ReadonlyMap<string, ApiError>

const none: Refusals = new Map()
const known = new WeakMap<readonly Refusal[], Refusals>()

/** By place. */
export function byPlace(refusals: readonly Refusal[]): Refusals {
  if (refusals.length === 0) return none
  const found = known.get(refusals)
  if (found) return found
  const made = new Map(refusals.map(({ keys, error }) => [placeOf(keys), error]))
  known.set(refusals, made)
  return made
}

export type ReplyObject = Record<string, unknown>

export class Completion {
  readonly errors: GraphQLFormattedError[]
  readonly #refusals: Refusals
  readonly #args: readonly JsonValue[]
  readonly #onFault: (error: unknown) => void

  /** `errors`: where those of fields are added. */
  constructor(
    refusals: Refusals,
    args: readonly JsonValue[],
    onFault: (error: unknown) => void,
    errors: GraphQLFormattedError[] = [],
  ) {
    this.errors = errors
    this.#refusals = refusals
    this.#args = args
    this.#onFault = onFault
  }

  /** The reply's value of a field. Throws a `FieldFailure` when it fails and cannot be null. */
  field(picked: Picked, value: () => unknown, path: Path): unknown {
    try {
      const refused = picked.at === undefined ? undefined : this.#refusals.get(picked.at)
      if (refused) throw refused
      const completed = this.#value(picked, value(), path)
      if (completed === null && picked.nonNull) throw missing(picked)
      return completed
    } catch (error) {
      const failure = this.#located(error, picked, path)
      if (picked.nonNull) throw failure
      this.#fail(failure)
      return null
    }
  }

  /** The reply whose data `make` gives; null where a failure has reached the top. */
  reply(cost: number, make: () => unknown): Executed {
    try {
      return executed(JSON.stringify(make()), this.errors, cost)
    } catch (error) {
      if (!(error instanceof FieldFailure)) throw error
      this.#fail(error)
      return executed('null', this.errors, cost)
    }
  }

  #fail({ formatted }: FieldFailure): void {
    if (this.errors.length < MAX_ERRORS) this.errors.push(formatted)
  }

  #value(picked: Picked, raw: unknown, path: Path): unknown {
    if (picked.kind === 'constant') return picked.value
    if (raw === null || raw === undefined) return null
    if (picked.kind === 'leaf') return raw
    const value = picked.reshape ? picked.reshape(raw, this.#args) : raw
    if (picked.kind === 'object') return this.object(picked.children, value, path)
    if (!Array.isArray(value)) throw new TypeError(`${picked.name} must be a list`)
    return value.map((item, key) => this.object(picked.children, item, { before: path, key }))
  }

  object(children: readonly Picked[], value: unknown, path: Path | undefined): ReplyObject {
    const source = value as ReplyObject
    const reply: ReplyObject = Object.create(null)
    for (const picked of children) {
      const read = () => (Object.hasOwn(source, picked.source) ? source[picked.source] : null)
      reply[picked.key] = this.field(picked, read, { before: path, key: picked.key })
    }
    return reply
  }

  #located(error: unknown, { nodes }: Picked, path: Path): FieldFailure {
    if (error instanceof FieldFailure) return error
    const { message, extensions } = this.#told(error)
    return new FieldFailure({ message, locations: locationsOf(nodes), path: keysOf(path), extensions })
  }

  #told(error: unknown): { message: string; extensions: Record<string, unknown> } {
    if (!(error instanceof ApiError)) {
      this.#onFault(error)
      return { message: catalogue.INTERNAL_ERROR.message, extensions: { code: 'INTERNAL_ERROR' } }
    }
    if (error.code === 'INTERNAL_ERROR') this.#onFault(error)
    const { message, code, details } = error
    return { message, extensions: details ? { code, details } : { code } }
  }
}

/** What is missing may be there, only not for this caller. */
function missing({ name }: Picked): ApiError {
  return new ApiError('NOT_FOUND', `Cannot return null for non-nullable field ${name}.`)
}

function locationsOf(nodes: Picked['nodes']) {
  return nodes.flatMap(({ loc }) =>
    loc ? [{ line: loc.startToken.line, column: loc.startToken.column }] : [],
  )
}

function keysOf(path: Path): readonly (string | number)[] {
  const keys: (string | number)[] = []
  for (let at: Path | undefined = path; at; at = at.before) keys.push(at.key)
  return keys.reverse()
}
