/**
 * References from one operation of a batch to the results of earlier ones: `$post.id` is the `id` in the result of the
 * operation with `"as": "post"`.
 */
import { ApiError } from '../../../base/errors.ts'

export const nameForm = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
const referenceForm = /^\$([A-Za-z_][A-Za-z0-9_]{0,62})\.([A-Za-z_][A-Za-z0-9_]*)$/

export interface Reference {
  /** The `as` of an earlier operation. */
  readonly name: string
  /** A member of its body. */
  readonly member: string
}

/** Parses a whole path segment, or a whole text of a body; undefined if it is not a reference. */
export function referenceOf(text: string): Reference | undefined {
  if (!text.startsWith('$')) return undefined
  const [, name, member] = referenceForm.exec(text) ?? []
  return name === undefined || member === undefined ? undefined : { name, member }
}

/** The characters that the references of one batch may copy: otherwise, one long text could be multiplied. */
const maxCopiedCharacters = 1024 * 1024

/** The results so far, by `as`. */
export class Results {
  readonly #texts = new Map<string, string | null>()
  readonly #bodies = new Map<string, unknown>()
  #copied = 0

  /** `body`: of the operation's answer, as JSON. */
  add(name: string, body: string | null): void {
    this.#texts.set(name, body)
  }

  /** The value of a reference. Throws BAD_REQUEST if the result has no such member, or if too much is copied. */
  valueOf({ name, member }: Reference): string | number | boolean | null {
    const body = this.#bodyOf(name)
    const value: unknown =
      typeof body === 'object' && body !== null && Object.hasOwn(body, member)
        ? Reflect.get(body, member)
        : undefined
    if (!isScalar(value)) {
      const fault = value === undefined ? 'has no member' : 'has no string, number or boolean in'
      throw new ApiError('BAD_REQUEST', `$${name}.${member}: the result of ${name} ${fault} ${member}.`)
    }
    this.#copied += String(value).length
    if (this.#copied <= maxCopiedCharacters) return value
    const limit = maxCopiedCharacters.toLocaleString('en')
    throw new ApiError(
      'BAD_REQUEST',
      `The references of a batch may copy at most ${limit} characters in total.`,
    )
  }

  #bodyOf(name: string): unknown {
    if (!this.#bodies.has(name)) this.#bodies.set(name, JSON.parse(this.#texts.get(name) ?? 'null'))
    return this.#bodies.get(name)
  }
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return (
    value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  )
}

const placeholder = 1

/** The path with its references replaced; without results, by a placeholder. Throws BAD_REQUEST for a value that is no id. */
export function resolvePath(path: string, results?: Results): string {
  if (!path.includes('$')) return path
  return path
    .split('/')
    .map(segment => {
      const reference = referenceOf(segment)
      if (reference === undefined) return segment
      const value = results === undefined ? placeholder : results.valueOf(reference)
      if (Number.isSafeInteger(value)) return String(value)
      throw new ApiError('BAD_REQUEST', `${segment} in the path is not an id.`)
    })
    .join('/')
}

/** A copy of the body with its references replaced. Texts that begin with `$$` lose one `$`. */
export function resolveBody(value: unknown, results: Results): unknown {
  if (typeof value === 'string') {
    if (value.startsWith('$$')) return value.slice(1)
    const reference = referenceOf(value)
    return reference === undefined ? value : results.valueOf(reference)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => resolveBody(item, results))
  // `Object.fromEntries` defines members, so that `__proto__` becomes an ordinary one.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolveBody(item, results)]))
}

/** All references in a body. */
export function* referencesIn(value: unknown): Generator<Reference> {
  if (typeof value === 'string') {
    const reference = referenceOf(value)
    if (reference !== undefined) yield reference
  } else if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) yield* referencesIn(item)
  }
}
