/** Nodes with a webhook for posts, and its receiver. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { call } from '../../server/serve/service.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type NodeCluster, startCluster } from './cluster.ts'
import type { Node } from './node.ts'

interface ReceivedMessage {
  readonly messageId: string
  readonly headers: Record<string, string>
  readonly text: string
  readonly event: { readonly id: string; readonly item_id: number; readonly data: { readonly title: string } }
}

export interface Receiver {
  readonly url: string
  readonly received: ReceivedMessage[]
  /** Called with each message before the response. */
  onMessage: (message: ReceivedMessage) => Promise<void> | void
  close(): void
}

async function openReceiver(): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const headers = request.headers as Record<string, string>
    const message = { messageId: headers['webhook-id'] ?? '', headers, text, event: JSON.parse(text) }
    receiver.received.push(message)
    await receiver.onMessage(message)
    response.writeHead(204).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    onMessage: () => undefined,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}

export async function until(condition: () => boolean | Promise<boolean>, description: string): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`never: ${description}`)
    await sleep(50)
  }
}

async function isSender(node: Node): Promise<boolean> {
  if (!node.isUp) return false
  const metrics = await fetch(`${node.url}/metrics`).then(
    answer => answer.text(),
    () => '',
  )
  return /^portico_webhook_sender 1$/m.test(metrics)
}

export async function senderOf({ nodes }: NodeCluster): Promise<Node> {
  let sending: Node | undefined
  await until(async () => {
    for (const node of nodes) if (await isSender(node)) sending = node
    return sending !== undefined
  }, 'a node sends')
  assert.ok(sending)
  return sending
}

export interface Fixture {
  readonly cluster: NodeCluster
  readonly key: string
  readonly receiver: Receiver
  readonly secret: string
  /** Sends the write to the nodes until one has stored it. Returns the id of the item. */
  write(path: string, method: string, body: object): Promise<number>
}

export async function within(
  database: string,
  nodes: number,
  use: (fixture: Fixture) => Promise<void>,
  workers = 1,
) {
  const key = generateKey()
  const receiver = await openReceiver()
  const cluster = await startCluster({
    nodes,
    settings: { database, workers, webhooks: { allowPrivate: true } },
    environment: {
      PORTICO_ADMIN_API_KEY: key,
      PORTICO_SECRET_KEY: secretKey,
      PORTICO_RATE_LIMIT: 'off',
    },
  }).catch(error => {
    receiver.close()
    throw error
  })
  const write: Fixture['write'] = async (path, method, body) => {
    for (let tries = 0; ; tries++) {
      const up = cluster.nodes.filter(({ isUp }) => isUp)
      const node = up[tries % Math.max(1, up.length)]
      const answer = node && (await call(`${node.url}${path}`, { method, key, body }).catch(() => undefined))
      if (answer && answer.status < 300) return Number((answer.json as { id?: unknown }).id)
      assert.ok(tries < 2400, answer ? answer.text : 'no answer')
      await sleep(50)
    }
  }
  try {
    const created = await call(`${cluster.node(0).url}/api/v1/webhooks`, {
      method: 'POST',
      key,
      body: { url: receiver.url, types: ['post.*'] },
    })
    assert.equal(created.status, 201, created.text)
    const { secret } = created.json as unknown as { secret: string }
    await use({ cluster, key, receiver, secret, write })
  } finally {
    await cluster.close()
    receiver.close()
  }
}

/** Requires that each message is signed, each event has one id, and the events of an item are in order. */
export function check({ received }: Receiver, secret: string): void {
  const ids = new Map<string, string>()
  const last = new Map<number, number>()
  for (const { messageId, headers, text, event } of received) {
    new Webhook(secret).verify(text, headers)
    const knownId = ids.get(event.id)
    assert.equal(messageId, knownId ?? messageId, `event ${event.id} came with two ids`)
    if (knownId === undefined) {
      assert.ok(Number(event.id) > (last.get(event.item_id) ?? 0), `item ${event.item_id} is out of order`)
      last.set(event.item_id, Number(event.id))
    }
    ids.set(event.id, messageId)
  }
}

export const titlesOf = ({ received }: Receiver) => new Set(received.map(({ event }) => event.data?.title))
