/** Open subscriptions on a node, over each transport. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { type Wire, wire } from '../transports/service.ts'

const query = 'subscription { newPost { id } }'

/** A token, or the headers that carry another credential. */
export type CredentialHeaders = string | Readonly<Record<string, string>>

export function headersOf(sent: CredentialHeaders): Readonly<Record<string, string>> {
  return typeof sent === 'string' ? { Authorization: `Bearer ${sent}` } : sent
}

/** Opens a subscription over a WebSocket. */
export async function listen(url: string, sent: CredentialHeaders): Promise<Wire> {
  const isToken = typeof sent === 'string'
  const connection = await wire(`${url.replace('http', 'ws')}/graphql`, undefined, isToken ? {} : sent)
  connection.say({ type: 'connection_init', ...(isToken && { payload: headersOf(sent) }) })
  while (connection.messages.length === 0) await wait(5)
  assert.match(connection.messages[0] ?? '', /connection_ack/)
  connection.say({ id: '1', type: 'subscribe', payload: { query } })
  return connection
}

/** Opens a subscription over server-sent events; `ended` resolves when the stream ends. */
export async function stream(
  url: string,
  sent: CredentialHeaders,
): Promise<{ readonly end: Promise<string> }> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      ...headersOf(sent),
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ query }),
  })
  assert.equal(answer.status, 200)
  return { end: answer.text() }
}
