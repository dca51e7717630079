/** The body of a batch → its operations. Reports all syntax faults at once. */
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import { brief } from '../../../model/json-schema/faults.ts'
import { didYouMean } from '../../../model/suggest.ts'
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
    throw notABatch('The body is not an object')
  const [unknown] = Object.keys(body).filter(name => name !== 'operations')
  if (unknown !== undefined) throw notABatch(`A batch has no member ${brief(unknown)}`)
  const operations: unknown = Reflect.get(body, 'operations')
  if (!Array.isArray(operations)) throw notABatch('`operations` is not an array')
  if (operations.length === 0) throw notABatch('The batch is empty')
  if (operations.length <= maxOperations) return operations
  const count = operations.length.toLocaleString('en')
  throw new ApiError(
    'BAD_REQUEST',
    `The batch has ${count} operations; at most ${maxOperations} are allowed.`,
  )
}

function notABatch(fault: string): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    `${fault}: send {"operations":[{"method":"POST","path":"/posts","body":{…}}]}.`,
  )
}

class BatchForm {
  readonly #faults: FieldFault[] = []
  /** The names of the operations so far, and those of the whole batch. */
  readonly #names = new Set<string>()
  readonly #allNames = new Set<unknown>()

  operations(list: readonly unknown[]): readonly BatchOperation[] {
    for (const operation of list) this.#allNames.add(Object(operation).as)
    return list.flatMap((operation, index) => this.#operation(operation, `operations[${index}]`) ?? [])
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

  #operation(operation: unknown, place: string): BatchOperation | undefined {
    if (typeof operation !== 'object' || operation === null || Array.isArray(operation)) {
      return this.#fault(place, 'wrong_type', 'An operation is an object with at least `method` and `path`.')
    }
    for (const name of Object.keys(operation)) if (!members.includes(name)) this.#unknown(name, place)
    const { path: sentPath, body, as, if_match: ifMatch } = operation as Readonly<Record<string, unknown>>
    const method = this.#method(Reflect.get(operation, 'method'), place)
    const [path, query] = this.#path(sentPath, place) ?? []
    const references = [...referencesIn(body)]
    for (const reference of references) this.#reference(reference, `${place}.body`)
    const hasBody = Object.hasOwn(operation, 'body')
    const mayOmitBody = method === 'POST' && isBelowCollection(path)
    if (method !== undefined && (hasBody || !mayOmitBody)) this.#body(method, hasBody, place)
    if (ifMatch !== undefined) this.#ifMatch(ifMatch, method, place)
    if (as !== undefined) this.#name(as, place)
    if (method === undefined || path === undefined || query === undefined) return undefined
    return {
      ...{ method, path, query },
      body: hasBody || !mayOmitBody ? body : {},
      as: as === undefined ? undefined : String(as),
      ifMatch: ifMatch === undefined ? undefined : String(ifMatch),
      awaits: references.length > 0,
    }
  }

  #unknown(name: string, place: string): void {
    const shownName = brief(name)
    this.#fault(
      `${place}.${shownName}`,
      'unknown_field',
      `An operation has no ${shownName}.${didYouMean(name, members)}`,
    )
  }

  #method(method: unknown, place: string): BatchMethod | undefined {
    const batchMethod = batchMethods.find(candidate => candidate === method)
    if (batchMethod !== undefined) return batchMethod
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
    const target = this.#allNames.has(name) ? 'a later operation' : 'no operation'
    const message = `$${brief(name)}.${brief(member)} refers to ${target}. Refer to the \`as\` of an earlier one; a text that begins with $ is written with $$.`
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
      this.#fault(field, 'not_allowed', 'if_match can only be used with PUT, PATCH and DELETE.')
    }
  }

  #name(as: unknown, place: string): void {
    const field = `${place}.as`
    if (typeof as !== 'string' || !nameForm.test(as)) {
      const message =
        'as must have at most 63 letters, digits and underscores, and must not begin with a digit.'
      this.#fault(field, 'bad_format', message)
    } else if (this.#names.has(as))
      this.#fault(field, 'taken', `An earlier operation has the name ${as} too.`)
    else this.#names.add(as)
  }
}

/** Whether a POST to the path runs an action, which needs no body if its whole input is optional. */
function isBelowCollection(path: string | undefined): boolean {
  return path !== undefined && path.lastIndexOf('/') > 0
}

/** The fault of a path; undefined if there is none. */
function pathFault(path: unknown): string | undefined {
  if (typeof path !== 'string') return 'path must be a text, e.g. /posts/7?fields=id.'
  if (path.length > maxPathLength)
    return `path may have at most ${maxPathLength.toLocaleString('en')} characters.`
  if (!path.startsWith('/') || path.startsWith('//')) {
    return `path must begin with one slash, after ${prefix} of this service, e.g. /posts/7.`
  }
  if (path === prefix || path.startsWith(`${prefix}/`)) return `Omit ${prefix} from the path.`
  if (!/^[\x21-\x7e]*$/.test(path) || path.includes('#')) {
    return 'path must be written as in a request: characters other than visible ASCII must be percent-encoded, and # is not allowed.'
  }
  const [before = ''] = path.split('?')
  if (/[%\\;]/.test(before)) return 'path may not contain escapes, backslashes or semicolons before the ?.'
  const segments = before.slice(1).split('/')
  if (segments.some(segment => /^\.*$/.test(segment)))
    return 'path may not contain empty segments or segments of dots.'
  return undefined
}
