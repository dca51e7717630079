/** Several calls as one request, `POST /api/v1/batch`: each is recorded, and settled with the answer. */
import type { Answer } from './answer.ts'
import { Reference } from './collection.ts'
import type { ApiRequest, Send } from './connection.ts'
import type { WriteOptions } from './types/options.ts'

interface Results {
  readonly results: readonly { readonly body: unknown }[]
}

type Call = (...given: readonly never[]) => unknown

export class Recorder {
  readonly #requests: ApiRequest[] = []
  readonly #settle: ((answer: Answer) => void)[] = []
  readonly #calls = new WeakMap<object, number>()

  readonly record: Send = request => {
    this.#requests.push(request)
    return new Promise(resolve => this.#settle.push(resolve))
  }

  /** The functions, with results that `reference` accepts. */
  tracked<T extends object>(functions: T): T {
    const entries = Object.entries(functions).map(([name, call]) => [name, this.trackedCall(call)])
    return Object.fromEntries(entries)
  }

  trackedCall(call: Call): Call {
    return (...given) => {
      const index = this.#requests.length
      const result = call(...given)
      this.#calls.set(Object(result), index)
      return result
    }
  }

  /** A member of the result of a call. Throws a `TypeError` for anything but a call of this batch. */
  readonly reference = (call: object, member = 'id'): Reference => {
    const index = this.#calls.get(call)
    if (index === undefined)
      throw new TypeError('Only results of earlier calls of this batch can be referred to.')
    return new Reference(`$${nameOf(index)}.${member}`)
  }

  /** If the batch fails, its calls are never settled: no rejection is left unhandled. */
  async sent(send: Send, calls: readonly unknown[], options: WriteOptions): Promise<readonly unknown[]> {
    const given = Promise.all(calls)
    if (this.#requests.length < calls.length) await Promise.race([given, turn()])
    const operations = this.#requests.map(operationOf)
    const { body } = await send({ method: 'POST', path: '/batch', body: { operations }, options })
    for (const [index, result] of (body as Results).results.entries())
      this.#settle[index]?.({ body: result.body ?? undefined, etag: undefined })
    return given
  }
}

/** By then, calls with invalid arguments have rejected. */
const turn = () => new Promise(resolve => setTimeout(resolve))

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

/** Doubles a leading `$`, so that texts are not taken for references. */
function escaped(value: unknown): unknown {
  if (value instanceof Reference) return value.text
  if (typeof value === 'string') return value.startsWith('$') ? `$${value}` : value
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, escaped(member)]))
}
