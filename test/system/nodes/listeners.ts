/** Open subscriptions on a node, over each transport. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { openWebSocket, type RawWebSocket } from '../../api/transports/service.ts'

const query = 'subscription { newPost { id } }'

/** A token, or the headers that carry another credential. */
export type CredentialHeaders = string | Readonly<Record<string, string>>

export function headersOf(credential: CredentialHeaders): Readonly<Record<string, string>> {
  return typeof credential === 'string' ? { Authorization: `Bearer ${credential}` } : credential
}

/** Opens a subscription over a WebSocket. */
export async function listen(url: string, credential: CredentialHeaders): Promise<RawWebSocket> {
  const isToken = typeof credential === 'string'
  const connection = await openWebSocket(
    `${url.replace('http', 'ws')}/graphql`,
    undefined,
    isToken ? {} : credential,
  )
  connection.send({ type: 'connection_init', ...(isToken && { payload: headersOf(credential) }) })
  while (connection.messages.length === 0) await wait(5)
  assert.match(connection.messages[0] ?? '', /connection_ack/)
  connection.send({ id: '1', type: 'subscribe', payload: { query } })
  return connection
}

/** Opens a subscription over server-sent events; `ended` resolves when the stream ends. */
export async function stream(
  url: string,
  credential: CredentialHeaders,
): Promise<{ readonly end: Promise<string> }> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      ...headersOf(credential),
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ query }),
  })
  assert.equal(answer.status, 200)
  return { end: answer.text() }
}
