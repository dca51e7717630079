/** Posted forms: one media type, each field once. */
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'

export interface FormBody {
  /** Empty if there is no such field. */
  text(name: string): string
  /** Undefined if there is no such field, or if it is empty. */
  optional(name: string): string | undefined
  /** All values of a field, for checkboxes with one name. */
  list(name: string): readonly string[]
}

const maxBodyBytes = 65_536
/** The forms with scopes have a field for each collection. */
const maxFields = 1000
/** The fields that a form may contain several times: checkboxes. */
const repeatableFields = new Set(['scope', 'type', 'collection'])

const mediaType = /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i

/** Throws UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, or BAD_REQUEST if a field occurs twice. */
export function readForm({ headers, body }: Pick<Call, 'headers' | 'body'>): FormBody {
  if (!mediaType.test(headers['content-type'] ?? '')) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the form as application/x-www-form-urlencoded.')
  }
  if (body.length > maxBodyBytes)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A form may have at most ${maxBodyBytes} bytes.`)
  return parsePairs(new URLSearchParams(body.toString('utf8')))
}

/** Reads the query by the same rules. Throws BAD_REQUEST if a parameter occurs twice. */
export function readQuery({ query }: Pick<Call, 'query'>): FormBody {
  return parsePairs(new URLSearchParams(query))
}

function parsePairs(pairs: URLSearchParams): FormBody {
  const fields = new Map<string, string[]>()
  if (pairs.size > maxFields)
    throw new ApiError('BAD_REQUEST', `A form may have at most ${maxFields} fields.`)
  for (const [name, value] of pairs) {
    const values = fields.get(name)
    if (values === undefined) fields.set(name, [value])
    else if (repeatableFields.has(name)) values.push(value)
    else throw new ApiError('BAD_REQUEST', `The field \`${name.slice(0, 100)}\` occurs twice: send it once.`)
  }
  const text = (name: string) => fields.get(name)?.[0] ?? ''
  return {
    text,
    optional: name => text(name) || undefined,
    list: name => fields.get(name) ?? [],
  }
}
