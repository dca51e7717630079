/** Signatures of deliveries (Standard Webhooks 1.0, "Signature scheme"). */
import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

export interface SignedMessage {
  /** The same for every attempt: receivers recognise duplicates by it. */
  readonly id: string
  /** The time of this attempt, in Unix seconds: receivers refuse old messages. */
  readonly timestamp: number
  readonly body: string
}

/**
 * The headers of a signed message. `secrets`: `whsec_` and the key in base64. Each gives a signature, so that receivers with
 * the former or the new secret accept the message during a rotation.
 */
export function signatureHeaders(
  message: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map(secret => `v1,${sign(message, secret)}`)
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signatures.join(' '),
  }
}

function sign({ id, timestamp, body }: SignedMessage, secret: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
}
