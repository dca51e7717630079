/** The client of a long-lived connection: its credential, which is checked again later, and the end of its connection. */

import type { CredentialHeaders } from '../../../api/events/credential-monitor.ts'
import type { EventClient } from '../../../api/rest/events/parts.ts'
import type { Call } from '../../../base/call.ts'
import { isAnonymous, type Principal } from '../../../base/principal.ts'
import { budgetAddress } from '../../../engine/cluster/rate-limits.ts'
import { findCredential } from '../../../identity/credentials.ts'
import { Exchange } from '../../http/exchange.ts'

/** The caller's credential, for later checks. `api_key` was removed from the query, but not from the URL of Node's request. */
export function credentialOf(
  { headers, req }: Exchange,
  principal: Principal,
): CredentialHeaders | undefined {
  if (isAnonymous(principal.access)) return undefined
  const { authorization } = headers
  if (authorization !== undefined) return { authorization, proven: true }
  const key = headers['x-api-key'] ?? keyInQuery(req.url ?? '')
  return key === undefined ? { cookie: headers.cookie } : { 'x-api-key': String(key) }
}

function keyInQuery(url: string): string | undefined {
  const queryMark = url.indexOf('?')
  return queryMark === -1 ? undefined : findCredential({ headers: {}, query: url.slice(queryMark + 1) })?.text
}

/** `call`: an `Exchange`, as every call of the HTTP server is. */
export function clientOf(call: Call, principal: Principal): EventClient {
  if (!(call instanceof Exchange)) throw new TypeError('Only a call of the HTTP server has a connection.')
  return {
    credential: credentialOf(call, principal),
    address: budgetAddress(call.address),
    onGone: listener => call.onGone(listener),
  }
}
