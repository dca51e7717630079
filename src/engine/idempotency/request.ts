/** Identifies requests with an `Idempotency-Key`. */
import { hash } from 'node:crypto'
import type { Call } from '../../base/call.ts'
import type { Principal } from '../../base/principal.ts'
import { readKey } from './key.ts'

export interface KeyedRequest {
  /** The id of its record: equal for the same key of the same caller. */
  readonly id: string
  /** Equal for equal requests. */
  readonly fingerprint: string
  /** The caller to which the key belongs. */
  readonly scope: string
}

function digest(parts: readonly (string | undefined)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url')
}

/**
 * The request with its key; undefined without the header. A key has the same scope as the rate limit: the user and the
 * app, the client-credentials app, or the address of an anonymous caller. `variant`: what else the response depends on, e.g. its
 * media type. Throws BAD_REQUEST.
 */
export function keyedRequest(
  call: Pick<Call, 'headers' | 'method' | 'path' | 'query' | 'body'>,
  { budgetKey: scope }: Principal,
  variant?: string,
): KeyedRequest | undefined {
  const key = readKey(call)
  if (key === undefined) return undefined
  const { method, path, query, headers, body } = call
  const { 'content-type': type, 'if-match': ifMatch } = headers
  const content = hash('sha256', body, 'base64url')
  return {
    id: digest([scope, key]),
    fingerprint: digest([method, path, query, type?.toLowerCase(), ifMatch, variant, content]),
    scope,
  }
}
