/** Sends several calls as one request, `POST /api/v1/batch`: each call is recorded, and settled with its result. */
import type { Answer } from './answer.ts'
import { Reference } from './collection.ts'
import type { ApiRequest, Send } from './connection.ts'
import type { WriteOptions } from './types/options.ts'

/** The body of the response. */
interface BatchBody {
  readonly results: readonly { readonly body: unknown }[]
}

type Call = (...args: readonly never[]) => unknown

export class Recorder {
  readonly #requests: ApiRequest[] = []
  readonly #settle: ((answer: Answer) => void)[] = []
  readonly #calls = new WeakMap<object, number>()

  readonly record: Send = request => {
    this.#requests.push(request)
    return new Promise(resolve => this.#settle.push(resolve))
  }

  /** Returns the functions, whose results `reference` then accepts. */
  track<T extends object>(functions: T): T {
    const entries = Object.entries(functions).map(([name, call]) => [name, this.trackCall(call)])
    return Object.fromEntries(entries)
  }

  trackCall(call: Call): Call {
    return (...args) => {
      const index = this.#requests.length
      const result = call(...args)
      this.#calls.set(Object(result), index)
      return result
    }
  }

  /** A reference to a member of a call's result. Throws a `TypeError` for anything but a call of this batch. */
  readonly reference = (call: object, member = 'id'): Reference => {
    const index = this.#calls.get(call)
    if (index === undefined) throw new TypeError('Only earlier calls of this batch can be referenced.')
    return new Reference(`$${nameOf(index)}.${member}`)
  }

  /** Sends the batch. If it fails, its calls are never settled, so that no rejection is unhandled. */
  async execute(send: Send, calls: readonly unknown[], options: WriteOptions): Promise<readonly unknown[]> {
    const settled = Promise.all(calls)
    await Promise.race([settled, nextMacrotask()])
    const operations = this.#requests.map(operationOf)
    const { body } = await send({ method: 'POST', path: '/batch', body: { operations }, options })
    for (const [index, result] of (body as BatchBody).results.entries())
      this.#settle[index]?.({ body: result.body ?? undefined, etag: undefined })
    return settled
  }
}

/** After this, calls with invalid arguments have rejected. */
const nextMacrotask = () => new Promise(resolve => setTimeout(resolve))

function operationOf({ method, path, body, ifMatch }: ApiRequest, index: number): object {
  return {
    method,
    path,
    as: nameOf(index),
    ...(body !== undefined && { body: escaped(body) }),
    ...(ifMatch !== undefined && { if_match: ifMatch }),
  }
}

const nameOf = (index: number) => `r${index}`

/** Doubles a leading `$`, so that texts do not count as references. */
function escaped(value: unknown): unknown {
  if (value instanceof Reference) return value.text
  if (typeof value === 'string') return value.startsWith('$') ? `$${value}` : value
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, escaped(member)]))
}
