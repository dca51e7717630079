/** Forms that were posted: of one media type, each field once. */
import type { Call } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'

export interface FormBody {
  /** Empty where there is no such field. */
  text(name: string): string
  /** Undefined where there is no such field, or an empty one. */
  optional(name: string): string | undefined
  /** For checkboxes, of which several may be ticked. */
  list(name: string): readonly string[]
}

const maxBodyBytes = 65_536
/** A form for scopes has one field for each collection. */
const maxFields = 1000
/** Checkboxes with one name. */
const repeated = new Set(['scope', 'type', 'collection'])

const mediaType = /^application\/x-www-form-urlencoded(?:\s*;\s*charset="?utf-8"?)?\s*$/i

/** UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, or BAD_REQUEST where a field comes twice. */
export function readForm({ headers, body }: Pick<Call, 'headers' | 'body'>): FormBody {
  if (!mediaType.test(headers['content-type'] ?? '')) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the form as application/x-www-form-urlencoded.')
  }
  if (body.length > maxBodyBytes)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A form may have at most ${maxBodyBytes} bytes.`)
  return collected(new URLSearchParams(body.toString('utf8')))
}

/** The same rules for what stands behind a question mark. BAD_REQUEST where a parameter comes twice. */
export function readQuery({ query }: Pick<Call, 'query'>): FormBody {
  return collected(new URLSearchParams(query))
}

function collected(pairs: URLSearchParams): FormBody {
  const fields = new Map<string, string[]>()
  if (pairs.size > maxFields)
    throw new ApiError('BAD_REQUEST', `A form may have at most ${maxFields} fields.`)
  for (const [name, value] of pairs) {
    const known = fields.get(name)
    if (known === undefined) fields.set(name, [value])
    else if (repeated.has(name)) known.push(value)
    else
      throw new ApiError('BAD_REQUEST', `The field \`${name.slice(0, 100)}\` was given twice: send it once.`)
  }
  const text = (name: string) => fields.get(name)?.[0] ?? ''
  return {
    text,
    optional: name => text(name) || undefined,
    list: name => fields.get(name) ?? [],
  }
}
