/** Webhooks when the sending node is killed: no event is lost, duplicates have the same id, and items stay in order. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { generateKey } from '../../src/auth/keys/key.ts'
import { withPostgres } from '../databases/postgres.ts'
import { call } from '../serve/service.ts'
import { secretKey } from '../setups/postgres.ts'
import { sqlite } from '../setups/sqlite.ts'
import { type NodeCluster, startCluster } from './cluster.ts'
import type { Node } from './node.ts'

interface ReceivedMessage {
  readonly messageId: string
  readonly headers: Record<string, string>
  readonly text: string
  readonly event: { readonly id: string; readonly item_id: number; readonly data: { readonly title: string } }
}

interface Receiver {
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

async function until(condition: () => boolean | Promise<boolean>, description: string): Promise<void> {
  const deadline = performance.now() + 60_000
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

async function senderOf({ nodes }: NodeCluster): Promise<Node> {
  let sending: Node | undefined
  await until(async () => {
    for (const node of nodes) if (await isSender(node)) sending = node
    return sending !== undefined
  }, 'a node sends')
  assert.ok(sending)
  return sending
}

interface Fixture {
  readonly cluster: NodeCluster
  readonly key: string
  readonly receiver: Receiver
  readonly secret: string
  /** Sends the write to the nodes until one has stored it. Returns the id of the item. */
  write(path: string, method: string, body: object): Promise<number>
}

async function within(
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
      assert.ok(tries < 600, answer ? answer.text : 'no answer')
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
function check({ received }: Receiver, secret: string): void {
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

const titlesOf = ({ received }: Receiver) => new Set(received.map(({ event }) => event.data?.title))

/** Kills the sending node while it sends a message, and starts it again at the end. */
async function killWhileSending(fixture: Fixture): Promise<void> {
  const { cluster, receiver, write, secret } = fixture
  const sender = await senderOf(cluster)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isKilled = false
  // The receiver has the message, but the sender is killed before the response.
  receiver.onMessage = async ({ event }) => {
    if (event.data.title !== 'killed' || isKilled) return
    isKilled = true
    await sender.kill()
    resolve()
  }
  const item = await write('/api/v1/posts', 'POST', { title: 'killed', body: 'x' })
  await promise
  const others = cluster.nodes.filter(node => node !== sender)
  if (others.length === 0) await sender.start()
  await write(`/api/v1/posts/${item}`, 'PATCH', { title: 'after' })
  await until(() => titlesOf(receiver).has('after'), 'the next sender sends the rest')
  const killed = receiver.received.filter(({ event }) => event.data.title === 'killed')
  assert.ok(killed.length >= 2, 'the unacknowledged message is sent again')
  if (!sender.isUp) await sender.start()
  check(receiver, secret)
}

/** Kills the sending node repeatedly while events are written. */
async function killAtRandom(fixture: Fixture, kills: number): Promise<void> {
  const { cluster, receiver, write, secret } = fixture
  receiver.onMessage = () => sleep(5)
  const titles: string[] = []
  let isDone = false
  const items = await Promise.all(
    [1, 2, 3].map(n => write('/api/v1/posts', 'POST', { title: `item ${n}`, body: 'x' })),
  )
  const writing = Promise.all(
    items.map(async id => {
      for (let times = 0; !isDone; times++) {
        const title = `${id}/${times}`
        await write(`/api/v1/posts/${id}`, 'PATCH', { title })
        titles.push(title)
      }
    }),
  )
  for (let count = 0; count < kills; count++) {
    const before = receiver.received.length
    await until(() => receiver.received.length > before + 20, 'messages are sent')
    const sender = await senderOf(cluster)
    await sender.kill()
    await sender.start()
  }
  isDone = true
  await writing
  await until(() => titles.every(title => titlesOf(receiver).has(title)), 'every event is received')
  check(receiver, secret)
}

test('on three nodes with PostgreSQL, no webhook is lost when the sending node is killed', () =>
  withPostgres(url =>
    within(url, 3, async fixture => {
      await killWhileSending(fixture)
      await killAtRandom(fixture, 1)
    }),
  ))

test('on SQLite, no webhook is lost when the service is killed while it sends', async () => {
  const deployment = await sqlite.open()
  try {
    await within(deployment.database, 1, async fixture => {
      await killWhileSending(fixture)
      await killAtRandom(fixture, 1)
    })
  } finally {
    await deployment.close()
  }
})

test('a stopping node completes its delivery and lets another node send at once', () =>
  withPostgres(url =>
    within(url, 2, async ({ cluster, receiver, write, secret }) => {
      const sender = await senderOf(cluster)
      await write('/api/v1/posts', 'POST', { title: 'one', body: 'x' })
      await until(() => titlesOf(receiver).has('one'), 'the first is sent')
      receiver.onMessage = () => sleep(500)
      await write('/api/v1/posts', 'POST', { title: 'two', body: 'x' })
      await until(() => titlesOf(receiver).has('two'), 'the second is being sent')
      await sender.stop()
      await write('/api/v1/posts', 'POST', { title: 'three', body: 'x' })
      await until(() => titlesOf(receiver).has('three'), 'the other node sends')
      assert.equal(receiver.received.length, 3)
      check(receiver, secret)
    }),
  ))

test('only one of two workers sends webhooks, whichever stored the event', async () => {
  const deployment = await sqlite.open()
  const use = async ({ cluster, receiver, write, secret }: Fixture) => {
    await senderOf(cluster)
    const titles = Array.from({ length: 20 }, (_, index) => `post ${index}`)
    await Promise.all(titles.map(title => write('/api/v1/posts', 'POST', { title, body: 'x' })))
    await until(() => titlesOf(receiver).size === 20, 'all are sent')
    assert.equal(receiver.received.length, 20)
    check(receiver, secret)
  }
  try {
    await within(deployment.database, 1, use, 2)
  } finally {
    await deployment.close()
  }
})
