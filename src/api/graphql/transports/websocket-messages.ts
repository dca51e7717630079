/** The messages of `graphql-transport-ws`, from and to clients. */

import { ApiError } from '../../../base/errors.ts'
import { isObject, parseJson } from '../../../base/json.ts'
import type { CredentialHeaders } from '../../events/credential-monitor.ts'

const maxIdCharacters = 128

export interface ProtocolMessage {
  readonly type: string
  readonly id: string
  readonly payload: unknown
}

const typesWithoutId = new Set(['connection_init', 'ping', 'pong'])

/** Returns undefined for a text that is not a message of the protocol. */
export function parseMessage(text: string): ProtocolMessage | undefined {
  const value = parseJson(text)
  if (!isObject(value) || typeof value.type !== 'string') return undefined
  const { type, id, payload } = value
  if (typesWithoutId.has(type)) {
    const isValid = payload === undefined || payload === null || isObject(payload)
    return isValid ? { type, id: '', payload: payload ?? undefined } : undefined
  }
  if (type !== 'subscribe' && type !== 'complete') return undefined
  if (typeof id !== 'string' || id === '' || id.length > maxIdCharacters) return undefined
  return type === 'complete' || isObject(payload) ? { type, id, payload } : undefined
}

export function pongMessage(payload: unknown): string {
  return payload === undefined ? '{"type":"pong"}' : JSON.stringify({ type: 'pong', payload })
}

export const ackMessage = '{"type":"connection_ack"}'

/** The text before the JSON text of a reply. `}` follows the reply. */
export function nextPrefix(id: string): string {
  return `{"id":${JSON.stringify(id)},"type":"next","payload":`
}

export function completeMessage(id: string): string {
  return `{"id":${JSON.stringify(id)},"type":"complete"}`
}

export function errorMessage(id: string, errors: readonly unknown[]): string {
  return `{"id":${JSON.stringify(id)},"type":"error","payload":${JSON.stringify(errors)}}`
}

/** The credential in the payload of `connection_init`, under the names of its HTTP headers, in any letter case. */
export function credentialOf(payload: unknown): CredentialHeaders | undefined {
  if (!isObject(payload)) return undefined
  const credential: { authorization?: string; 'x-api-key'?: string } = {}
  for (const [name, value] of Object.entries(payload)) {
    const header = name.toLowerCase()
    if (header !== 'authorization' && header !== 'x-api-key') continue
    if (typeof value !== 'string' || credential[header] !== undefined) {
      throw new ApiError('BAD_REQUEST', `\`${name}\` must be one string.`)
    }
    credential[header] = value
  }
  return Object.keys(credential).length === 0 ? undefined : credential
}
