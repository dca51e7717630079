/** What a client says over WebSocket, in the words of `graphql-transport-ws`. */
import { ApiError } from '../errors.ts'
import type { CredentialHeaders } from './clients.ts'

const MAX_ID = 128

export type Message = { readonly type: string; readonly id: string; readonly payload: unknown }

/** The answer to a ping. */
export function pong(payload: unknown): string {
  return JSON.stringify({ type: 'pong', payload })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const withoutId = new Set(['connection_init', 'ping', 'pong'])

/** Undefined: the protocol has no such message. */
export function parseMessage(text: string): Message | undefined {
  const value = parsed(text)
  if (!isObject(value) || typeof value.type !== 'string') return undefined
  const { type, id, payload } = value
  if (withoutId.has(type)) {
    const fits = payload === undefined || payload === null || isObject(payload)
    return fits ? { type, id: '', payload: payload ?? undefined } : undefined
  }
  if (type !== 'subscribe' && type !== 'complete') return undefined
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID) return undefined
  return type === 'complete' || isObject(payload) ? { type, id, payload } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `connection_init` carries what would be headers: their names in any case. */
export function credentialOf(payload: unknown): CredentialHeaders | undefined {
  if (!isObject(payload)) return undefined
  const found: { authorization?: string; 'x-api-key'?: string } = {}
  for (const [name, value] of Object.entries(payload)) {
    const header = name.toLowerCase()
    if (header !== 'authorization' && header !== 'x-api-key') continue
    if (typeof value !== 'string' || found[header] !== undefined) {
      throw new ApiError('BAD_REQUEST', `\`${name}\` must be one string.`)
    }
    found[header] = value
  }
  return Object.keys(found).length === 0 ? undefined : found
}
