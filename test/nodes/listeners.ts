/** Open subscriptions on a node, over each transport. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { type Wire, wire } from '../transports/service.ts'

const query = 'subscription { newPost { id } }'

/** A token, or the headers that carry another credential. */
export type Sent = string | Readonly<Record<string, string>>

export function headersOf(sent: Sent): Readonly<Record<string, string>> {
  return typeof sent === 'string' ? { Authorization: `Bearer ${sent}` } : sent
}

/** Opens a subscription over a WebSocket. */
export async function listen(url: string, sent: Sent): Promise<Wire> {
  const isToken = typeof sent === 'string'
  const opened = await wire(`${url.replace('http', 'ws')}/graphql`, undefined, isToken ? {} : sent)
  opened.say({ type: 'connection_init', ...(isToken && { payload: headersOf(sent) }) })
  while (opened.heard.length === 0) await wait(5)
  assert.match(opened.heard[0] ?? '', /connection_ack/)
  opened.say({ id: '1', type: 'subscribe', payload: { query } })
  return opened
}

/** Opens a subscription over server-sent events; `ended` resolves when the stream ends. */
export async function stream(url: string, sent: Sent): Promise<{ readonly ended: Promise<string> }> {
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
  return { ended: answer.text() }
}
