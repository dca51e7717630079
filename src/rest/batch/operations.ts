/** The body of a batch → its operations. Reports all faults of their form at once. */
import { ApiError, type FieldFault } from '../../errors.ts'
import { brief } from '../../model/json-schema/faults.ts'
import { didYouMean } from '../../model/nearest.ts'
import { prefix } from '../routes.ts'
import { nameForm, type Reference, referenceOf, referencesIn } from './references.ts'

export const maxOperations = 100
export const batchMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const maxPathLength = 8000
const maxFaults = 100

export type BatchMethod = (typeof batchMethods)[number]

/** An operation as the client sent it. */
export interface BatchOperation {
  readonly method: BatchMethod
  /** After `/api/v1`, without the query. May contain references. */
  readonly path: string
  /** The part after the first `?`. */
  readonly query: string
  /** Undefined: the operation has no body. */
  readonly body: unknown
  readonly as: string | undefined
  readonly ifMatch: string | undefined
  /** Whether the body contains references, so that it is known only once the earlier operations have run. */
  readonly awaits: boolean
}

const members = ['method', 'path', 'body', 'as', 'if_match']

/** Throws BAD_REQUEST, or VALIDATION_FAILED with all faults, named `operations[3].path`. */
export function parseOperations(body: unknown): readonly BatchOperation[] {
  const form = new BatchForm()
  const operations = form.operations(listOf(body))
  form.requireNone()
  return operations
}

function listOf(body: unknown): readonly unknown[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw notABatch('The body is no object')
  const [unknown] = Object.keys(body).filter(name => name !== 'operations')
  if (unknown !== undefined) throw notABatch(`A batch has no member ${brief(unknown)}`)
  const operations: unknown = Reflect.get(body, 'operations')
  if (!Array.isArray(operations)) throw notABatch('`operations` is no array')
  if (operations.length === 0) throw notABatch('The batch is empty')
  if (operations.length <= maxOperations) return operations
  const count = operations.length.toLocaleString('en')
  throw new ApiError('BAD_REQUEST', `The batch has ${count} operations; at most ${maxOperations} are taken.`)
}

function notABatch(what: string): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    `${what}: send {"operations":[{"method":"POST","path":"/posts","body":{…}}]}.`,
  )
}

class BatchForm {
  readonly #faults: FieldFault[] = []
  /** The names of the operations so far, and those of the whole batch. */
  readonly #names = new Set<string>()
  readonly #all = new Set<unknown>()

  operations(list: readonly unknown[]): readonly BatchOperation[] {
    for (const one of list) this.#all.add(Object(one).as)
    return list.flatMap((one, index) => this.#operation(one, `operations[${index}]`) ?? [])
  }

  requireNone(): void {
    const faults = this.#faults
    if (faults.length === 0) return
    const count = faults.length < maxFaults ? faults.length : `at least ${maxFaults}`
    const first = `${faults[0]?.field}: ${faults[0]?.message}`
    const message = faults.length > 1 ? `The batch has ${count} faults. ${first}` : first
    throw new ApiError('VALIDATION_FAILED', message, { details: faults })
  }

  #fault(field: string, code: string, message: string): undefined {
    if (this.#faults.length < maxFaults) this.#faults.push({ field, code, message })
    return undefined
  }

  #operation(one: unknown, place: string): BatchOperation | undefined {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) {
      return this.#fault(place, 'wrong_type', 'An operation is an object with at least `method` and `path`.')
    }
    for (const name of Object.keys(one)) if (!members.includes(name)) this.#unknown(name, place)
    const { path: given, body, as, if_match: ifMatch } = one as Readonly<Record<string, unknown>>
    const method = this.#method(Reflect.get(one, 'method'), place)
    const [path, query] = this.#path(given, place) ?? []
    const references = [...referencesIn(body)]
    for (const reference of references) this.#reference(reference, `${place}.body`)
    if (method !== undefined) this.#body(method, Object.hasOwn(one, 'body'), place)
    if (ifMatch !== undefined) this.#ifMatch(ifMatch, method, place)
    if (as !== undefined) this.#name(as, place)
    if (method === undefined || path === undefined || query === undefined) return undefined
    return {
      ...{ method, path, query, body },
      as: as === undefined ? undefined : String(as),
      ifMatch: ifMatch === undefined ? undefined : String(ifMatch),
      awaits: references.length > 0,
    }
  }

  #unknown(name: string, place: string): void {
    const shown = brief(name)
    this.#fault(
      `${place}.${shown}`,
      'unknown_field',
      `An operation has no ${shown}.${didYouMean(name, members)}`,
    )
  }

  #method(method: unknown, place: string): BatchMethod | undefined {
    const known = batchMethods.find(one => one === method)
    if (known !== undefined) return known
    return this.#fault(`${place}.method`, 'not_a_choice', `method must be one of ${batchMethods.join(', ')}.`)
  }

  #path(path: unknown, place: string): readonly [string, string] | undefined {
    const fault = pathFault(path)
    if (fault !== undefined) return this.#fault(`${place}.path`, 'bad_format', fault)
    const [before = '', query = ''] = String(path).split(/\?(.*)/s)
    for (const segment of before.split('/')) {
      const reference = referenceOf(segment)
      if (reference !== undefined) this.#reference(reference, `${place}.path`)
    }
    return [before, query]
  }

  #reference({ name, member }: Reference, place: string): void {
    if (this.#names.has(name)) return
    const where = this.#all.has(name) ? 'a later operation' : 'no operation'
    const message = `$${brief(name)}.${brief(member)} refers to ${where}. Refer to the \`as\` of an earlier one; a text that begins with $ is written with $$.`
    this.#fault(place, 'unknown_reference', message)
  }

  #body(method: BatchMethod, isThere: boolean, place: string): void {
    const takesBody = method !== 'GET' && method !== 'DELETE'
    if (takesBody && !isThere) this.#fault(`${place}.body`, 'required', `A ${method} needs a body.`)
    if (!takesBody && isThere) this.#fault(`${place}.body`, 'not_allowed', `A ${method} takes no body.`)
  }

  #ifMatch(value: unknown, method: BatchMethod | undefined, place: string): void {
    const field = `${place}.if_match`
    if (typeof value !== 'string') {
      this.#fault(field, 'wrong_type', 'if_match must be a text, as the header If-Match.')
    } else if (method === 'GET' || method === 'POST') {
      this.#fault(field, 'not_allowed', 'if_match goes with PUT, PATCH and DELETE.')
    }
  }

  #name(as: unknown, place: string): void {
    const field = `${place}.as`
    if (typeof as !== 'string' || !nameForm.test(as)) {
      const message =
        'as must be a name of up to 63 letters, digits and underscores, not beginning with a digit.'
      this.#fault(field, 'bad_format', message)
    } else if (this.#names.has(as))
      this.#fault(field, 'taken', `An earlier operation is named ${as} as well.`)
    else this.#names.add(as)
  }
}

/** The fault of a path; undefined if there is none. */
function pathFault(path: unknown): string | undefined {
  if (typeof path !== 'string') return 'path must be a text, e.g. /posts/7?fields=id.'
  if (path.length > maxPathLength)
    return `path may have at most ${maxPathLength.toLocaleString('en')} characters.`
  if (!path.startsWith('/') || path.startsWith('//')) {
    return `path must begin with one slash, after ${prefix} of this service, e.g. /posts/7.`
  }
  if (path === prefix || path.startsWith(`${prefix}/`)) return `Leave ${prefix} out of the path.`
  if (!/^[\x21-\x7e]*$/.test(path) || path.includes('#')) {
    return 'path must be written as in a request: other characters than visible ASCII are escaped by %, and # has no meaning.'
  }
  const [before = ''] = path.split('?')
  if (/[%\\;]/.test(before)) return 'No path has escapes, backslashes or semicolons; only what follows ? may.'
  const segments = before.slice(1).split('/')
  if (segments.some(segment => /^\.*$/.test(segment)))
    return 'path may have no empty segments, and none of dots.'
  return undefined
}
