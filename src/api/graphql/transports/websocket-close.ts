/** Codes and reasons of close frames. */
import { CloseCode } from 'graphql-ws'
import { ApiError } from '../../../base/errors.ts'

/** RFC 6455, 7.4.1. */
export const goingAway = 1001
/** Not in RFC 6455, but in IANA's registry of close codes. */
export const tryAgainLater = 1013

/** A control frame has at most 125 bytes, and the code takes two of them (RFC 6455, 5.5). `ws` throws on longer reasons. */
const maxReasonBytes = 123

/** The reason as bytes, cut between two characters if it is too long. */
export function reasonBytes(reason: string): Buffer {
  const bytes = Buffer.alloc(maxReasonBytes)
  return bytes.subarray(0, new TextEncoder().encodeInto(reason, bytes).written)
}

/** The close code for an error that refuses the connection. Undefined: an internal fault, which clients must not see. */
export function closeCodeOf(error: unknown): number | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (error.code === 'RATE_LIMITED') return tryAgainLater
  if (error.status >= 500) return undefined
  return error.code === 'BAD_REQUEST' ? CloseCode.BadRequest : CloseCode.Forbidden
}
