/** The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). */
import type { Call } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'

/** The header's name, as Node spells it. */
export const keyHeader = 'idempotency-key'
const maxCharacters = 255

/** RFC 8941, 3.3.3. */
const quotedKey = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** Visible ASCII without the quotation mark, and without the comma, which joins repeated headers. */
const bareKey = /^[\x21\x23-\x2b\x2d-\x7e]*$/

function invalidKey(problem: string): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    `The header Idempotency-Key ${problem}. Send it once, with 1 to ${maxCharacters} visible ASCII characters: bare without \`"\` and \`,\`, or as a quoted string, e.g. "8e03978e-40d5-43e8-bc93-6894a57f9324".`,
  )
}

function parseKey(header: string): string {
  const string = quotedKey.exec(header)?.[1]
  if (string !== undefined) return string.replaceAll(/\\(["\\])/g, '$1')
  if (bareKey.test(header)) return header
  throw invalidKey('is neither a bare key nor a quoted string, or was sent twice')
}

/** The key of a request; undefined without the header. A bare key equals the same key in quotes. Throws BAD_REQUEST. */
export function readKey({ headers }: Pick<Call, 'headers'>): string | undefined {
  const header = headers[keyHeader]
  if (header === undefined) return undefined
  const key = parseKey(String(header))
  if (key === '') throw invalidKey('is empty')
  if (key.length > maxCharacters) throw invalidKey(`has ${key.length} characters`)
  return key
}
