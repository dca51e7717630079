/** Subscriptions that are open on a node, over each transport. */
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { type Wire, wire } from '../transports/service.ts'

const query = 'subscription { newPost { id } }'

/** A WebSocket with a subscription. */
export async function listen(url: string, token: string): Promise<Wire> {
  const opened = await wire(`${url.replace('http', 'ws')}/graphql`)
  opened.say({ type: 'connection_init', payload: { Authorization: `Bearer ${token}` } })
  while (opened.heard.length === 0) await wait(5)
  assert.match(opened.heard[0] ?? '', /connection_ack/)
  opened.say({ id: '1', type: 'subscribe', payload: { query } })
  return opened
}

/** A stream of server-sent events; `ended` resolves when it is over. */
export async function stream(url: string, token: string): Promise<{ readonly ended: Promise<string> }> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ query }),
  })
  assert.equal(answer.status, 200)
  return { ended: answer.text() }
}
