/** The bodies of the JSON operations on accounts, and their faults. */

import { ApiError, type FieldFault } from '../../base/errors.ts'
import { isObject, type UncheckedObject } from '../../base/json.ts'

/** `value`: a value of one of the model's fields. */
type MemberKind = 'text' | 'flag' | 'object' | 'value'

const kinds: Readonly<
  Record<MemberKind, { readonly is: (value: unknown) => boolean; readonly name: string }>
> = {
  text: { is: value => typeof value === 'string' && value.isWellFormed(), name: 'a string' },
  flag: { is: value => typeof value === 'boolean', name: 'true or false' },
  object: { is: isObject, name: 'an object' },
  value: {
    is: value => ['number', 'boolean'].includes(typeof value) || kinds.text.is(value),
    name: 'a string, a number, true or false',
  },
}

/** VALIDATION_FAILED with these faults. */
export function invalid(details: readonly FieldFault[]): ApiError {
  const message = details.map(fault => fault.message).join(' ')
  return new ApiError('VALIDATION_FAILED', message, { details })
}

function faultOf(name: string, value: unknown, kind: MemberKind | undefined): FieldFault[] {
  const field = name.slice(0, 100).toWellFormed()
  if (kind === undefined) {
    return [{ field, code: 'unknown_field', message: `There is no field \`${field}\`.` }]
  }
  if (kinds[kind].is(value)) return []
  return [{ field, code: 'wrong_type', message: `\`${field}\` must be ${kinds[kind].name}.` }]
}

/** The members of a body. Throws VALIDATION_FAILED for members that are not in `fields`, or of another type. */
export class JsonBody {
  readonly #members: UncheckedObject

  constructor(body: unknown, fields: Readonly<Record<string, MemberKind>>) {
    if (!isObject(body)) throw new ApiError('BAD_REQUEST', 'The body must be an object.')
    const kindOf = (name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined)
    const faults = Object.entries(body).flatMap(([name, value]) => faultOf(name, value, kindOf(name)))
    if (faults.length > 0) throw invalid(faults.slice(0, 20))
    this.#members = body
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#members, name)
  }

  get(name: string): unknown {
    return this.has(name) ? this.#members[name] : undefined
  }

  /** Empty if there is no such member. */
  text(name: string): string {
    return String(this.get(name) ?? '')
  }

  /** Throws VALIDATION_FAILED if any of them is missing or blank. */
  require(...names: readonly string[]): void {
    const missing = names.filter(name => this.text(name).trim() === '')
    if (missing.length === 0) return
    throw invalid(missing.map(field => ({ field, code: 'required', message: `\`${field}\` is required.` })))
  }
}
