/** How many webhooks one node sends per second, from the first event to the last recorded delivery. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { startPortico } from '../servers/server.ts'

export interface SendingMeasurement {
  /** Each has its own host. */
  readonly webhooks: number
  readonly events: number
  readonly deliveries: number
  readonly seconds: number
}

const clients = 32

/** Answers every message immediately, on every loopback address. */
async function openReceiver() {
  const counted = { messages: 0 }
  const server = createServer((request, response) => {
    counted.messages++
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { counted, port, close }
}

async function measure(data: DataSet, webhooks: number, events: number): Promise<SendingMeasurement> {
  const work = copyOf(data)
  const receiver = await openReceiver()
  const running = await startPortico(work.data.database, { PORTICO_WEBHOOKS_PRIVATE: 'true' })
  const headers = { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' }
  const send = async (path: string, body: object) => {
    const url = `${running.origin}/api/v1/${path}`
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  const sentCount = async () => {
    const text = await (await fetch(`${running.origin}/metrics`)).text()
    return Number(/^portico_webhook_succeeded_total (\d+)$/m.exec(text)?.[1] ?? 0)
  }
  const post = () => send('posts', { title: 'an event', body: 'of a usual length'.repeat(20) })
  const until = async (count: number) => {
    while ((await sentCount()) < count) await wait(20)
  }
  try {
    for (let index = 1; index <= webhooks; index++) {
      await send('webhooks', { url: `http://127.0.0.${index}:${receiver.port}/`, types: ['post.created'] })
    }
    await post()
    await until(webhooks)
    const deliveries = webhooks * events
    const beganAt = performance.now()
    await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        for (let event = index; event < events; event += clients) await post()
      }),
    )
    await until(webhooks + deliveries)
    return { webhooks, events, deliveries, seconds: (performance.now() - beganAt) / 1000 }
  } finally {
    await running.stop()
    receiver.close()
    await work.remove()
  }
}

export async function measureSending(data: DataSet, events: number): Promise<readonly SendingMeasurement[]> {
  const measurements: SendingMeasurement[] = []
  for (const webhooks of [1, 10, 40]) measurements.push(await measure(data, webhooks, events))
  return measurements
}

export function sendingTable(measurements: readonly SendingMeasurement[]): string {
  const rows = measurements.map(({ webhooks, events, deliveries, seconds }) => {
    const cells = [webhooks, events, deliveries, seconds.toFixed(1), Math.round(deliveries / seconds)]
    return `| ${cells.join(' | ')} |`
  })
  return [
    'Webhooks from one node on SQLite, each to a host of its own that answers at once:',
    '',
    '| webhooks | events | deliveries | seconds | deliveries a second |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
