/** W8: one created post to a thousand subscribers over WebSocket. */
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { type Running, residentMiB, startPortico, startServer } from '../servers/server.ts'
import { median } from '../workloads/measure.ts'

export const subscriberCount = 1000

export interface Delivery {
  readonly server: 'Portico' | 'graphql-ws' | 'ws'
  /** From the request that creates a post to the last subscriber's message, by post. */
  readonly milliseconds: readonly number[]
  /** The growth of the server's memory per subscriber. */
  readonly kibEach: number
}

const starts: Readonly<Record<Delivery['server'], (data: DataSet) => Promise<Running>>> = {
  ws: () => startServer(['bench/servers/graphql-ws.mjs'], { PLAIN: '1' }, '/'),
  'graphql-ws': () => startServer(['bench/servers/graphql-ws.mjs'], {}, '/'),
  Portico: ({ database }) =>
    startPortico(database, {
      PORTICO_QUOTAS: 'subscriptions=100000, connections=100000',
    }),
}

interface Audience {
  /** Resolves when every subscriber has received this many posts. */
  received(posts: number): Promise<void>
  close(): void
}

const query = 'subscription { newPost { id title } }'

function join(url: string, key: string, onNext: () => void): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false })
    socket.on('error', reject)
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } })),
    )
    socket.on('message', data => {
      const text = String(data)
      if (text.includes('"next"')) return onNext()
      if (!text.includes('connection_ack')) return reject(new Error(text))
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
      resolve(socket)
    })
  })
}

async function audience({ origin }: Running, key: string): Promise<Audience> {
  const url = `${origin.replace('http', 'ws')}/graphql`
  const sockets: WebSocket[] = []
  let count = 0
  let expected = Number.POSITIVE_INFINITY
  let onComplete = () => {}
  const onNext = () => {
    count++
    if (count >= expected) onComplete()
  }
  while (sockets.length < subscriberCount) {
    sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => join(url, key, onNext)))))
  }
  return {
    received(posts) {
      expected = posts * subscriberCount
      return count >= expected
        ? Promise.resolve()
        : new Promise(resolve => {
            onComplete = resolve
          })
    },
    close: () => {
      for (const socket of sockets) socket.terminate()
    },
  }
}

export async function deliver(server: Delivery['server'], data: DataSet, posts: number): Promise<Delivery> {
  const work = copyOf(data)
  const running = await starts[server](work.data)
  const headers = { Authorization: `Bearer ${data.key}`, 'Content-Type': 'application/json' }
  const create = async (title: string) => {
    const body = JSON.stringify({ title })
    await (await fetch(`${running.origin}/api/v1/posts`, { method: 'POST', headers, body })).arrayBuffer()
  }
  try {
    // The first subscriber loads modules, which are not part of the cost per subscriber.
    ;(await join(`${running.origin.replace('http', 'ws')}/graphql`, data.key, () => {})).terminate()
    await create('the first')
    await wait(500)
    const before = residentMiB(running.pid) ?? 0
    const all = await audience(running, data.key)
    await wait(1000)
    const kibEach = (((residentMiB(running.pid) ?? 0) - before) * 1024) / subscriberCount
    const milliseconds: number[] = []
    for (let post = 1; post <= posts; post++) {
      const start = performance.now()
      const received = all.received(post)
      await Promise.all([create(`to all, ${post}`), received])
      milliseconds.push(performance.now() - start)
      await wait(50)
    }
    all.close()
    return { server, milliseconds, kibEach }
  } finally {
    await running.stop()
    await work.remove()
  }
}

export function deliveryTable(deliveries: readonly Delivery[]): string {
  const rows = deliveries.map(({ server, milliseconds, kibEach }) => {
    const low = Math.min(...milliseconds).toFixed(1)
    const cells = [server, median(milliseconds).toFixed(1), low, Math.round(kibEach)]
    return `| ${cells.join(' | ')} |`
  })
  return [
    `W8 · one created post to ${subscriberCount.toLocaleString('en')} subscribers, from its request to the last message:`,
    '',
    '| server | ms, median | ms, least | KiB a subscriber |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}
