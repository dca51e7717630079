/** Two nodes behind the load balancer of `deploy/`: its effects for clients, and replacing one node after the other. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { catalogue } from '../../../src/base/errors.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { call } from '../../server/serve/service.ts'
import type { Process } from '../processes/portico.ts'
import { type BalancedNodes, getFrom, key, withBalancer } from './haproxy.ts'

const query = 'subscription { newPost { title } }'

/** Creates posts until it is stopped; stopping waits for the last one. */
function posting({ url }: BalancedNodes): () => Promise<void> {
  let stopped = false
  const post = async () => {
    for (let index = 0; !stopped; index++) {
      const body = { title: `post ${index}` }
      await call(`${url}/api/v1/posts`, { method: 'POST', key, body })
      await wait(100)
    }
  }
  const posted = post()
  return () => {
    stopped = true
    return posted
  }
}

describe('behind the load balancer', () => {
  it('a client is identified by its own address, whatever headers it sends', () =>
    withBalancer({ PORTICO_RATE_LIMIT: 'address=3' }, async ({ url }) => {
      const list = `${url}/api/v1/posts`
      await earlyInMinute()
      let first = await getFrom(list, '127.0.0.2')
      for (let tries = 0; tries < 20 && first.status !== 429; tries++)
        first = await getFrom(list, '127.0.0.2')
      assert.equal(first.status, 429)
      // Each node has a budget for it: both are used up first.
      for (let tries = 0; tries < 8; tries++) await getFrom(list, '127.0.0.2')
      const forged = { 'X-Forwarded-For': '198.51.100.7' }
      assert.equal((await getFrom(list, '127.0.0.2', forged)).status, 429)
      assert.equal((await getFrom(list, '127.0.0.3')).status, 200)
    }))

  it('the metrics are not public', () =>
    withBalancer({}, async ({ url, nodes }) => {
      assert.equal((await call(`${url}/metrics`)).status, 404)
      assert.equal((await nodes[0].call('/metrics')).status, 200)
      assert.equal((await call(`${url}/api/v1/openapi.json`)).status, 200)
    }))

  it('clients get a 503 in the error format while no node is running', () =>
    withBalancer({}, async ({ url, nodes }) => {
      await Promise.all(nodes.map(node => node.end('SIGKILL')))
      const answer = await call(`${url}/api/v1/posts`)
      assert.equal(answer.status, 503)
      assert.deepEqual(answer.json, {
        error: { code: 'UNAVAILABLE', message: catalogue.UNAVAILABLE.message },
      })
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.equal(answer.headers.get('retry-after'), '1')
      assert.equal(answer.headers.get('access-control-allow-origin'), '*')
    }))

  it('subscriptions over WebSocket and server-sent events deliver while they are open', () =>
    withBalancer({}, async balanced => {
      const { url } = balanced
      const client = createClient({ url: `${url.replace('http', 'ws')}/graphql`, webSocketImpl: WebSocket })
      const stream = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: JSON.stringify({ query }),
      })
      const stop = posting(balanced)
      try {
        for await (const { data } of client.iterate({ query })) {
          assert.match(JSON.stringify(data), /post \d+/)
          break
        }
        assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8')
        let text = ''
        for await (const chunk of stream.body ?? []) {
          text += Buffer.from(chunk).toString()
          if (text.includes('post ')) break
        }
        assert.match(text, /event: next\ndata: .*post \d+/)
      } finally {
        await stop()
        await client.dispose()
      }
    }))
})

interface Attempt {
  readonly outcome: string
  readonly node: string
}

/** Sends a request; `what` is its status, or its error. */
function send(agent: Agent, url: string, title: string | undefined): Promise<Attempt> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const method = title === undefined ? 'GET' : 'POST'
  return new Promise(resolve => {
    const sent = request(`${url}/api/v1/posts`, { agent, method, headers }, answer => {
      answer.resume()
      answer.on('end', () => resolve({ outcome: String(answer.statusCode), node: method }))
      answer.on('error', error => resolve({ outcome: error.message, node: method }))
    })
    sent.on('error', error => resolve({ outcome: error.message, node: method }))
    sent.end(title === undefined ? undefined : JSON.stringify({ title }))
  })
}

const clientCount = 12

/** Reads and writes continuously until `stopped`; counts each outcome. */
async function load(url: string, stopped: () => boolean): Promise<ReadonlyMap<string, number>> {
  const outcomes = new Map<string, number>()
  const lane = async (index: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let count = 0; !stopped(); count++) {
      const { outcome, node } = await send(
        agent,
        url,
        count % 2 === 0 ? `lane ${index}, ${count}` : undefined,
      )
      outcomes.set(`${node} ${outcome}`, (outcomes.get(`${node} ${outcome}`) ?? 0) + 1)
      await wait(5)
    }
    agent.destroy()
  }
  await Promise.all(Array.from({ length: clientCount }, (_, index) => lane(index)))
  return outcomes
}

/** Waits until the balancer sends requests to a restarted node. */
async function serving(node: Process): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const { text } = await node.call('/metrics')
    if (/_count\{method="POST",route="\/api\/v1\/posts",status="2xx"\} \d/.test(text)) return
    await wait(100)
  }
  throw new Error('The balancer sends no requests to the restarted node.')
}

describe('an upgrade without downtime', () => {
  it('replaces one node after the other under load, and no request fails', context =>
    withBalancer(
      { PORTICO_SHUTDOWN: 'delay=4 s', PORTICO_RATE_LIMIT: 'off' },
      async ({ url, nodes, restart }) => {
        let stopped = false
        const running = load(url, () => stopped)
        const codes: unknown[] = []
        try {
          await wait(500)
          for (const index of [0, 1] as const) {
            codes.push(await restart(index))
            await serving(nodes[index])
          }
        } finally {
          stopped = true
        }
        const outcomes = await running
        assert.deepEqual(codes, [0, 0])
        assert.deepEqual([...outcomes.keys()].sort(), ['GET 200', 'POST 201'])
        const stored = await nodes[0].call('/api/v1/posts?per_page=1')
        const { total } = stored.json.meta as { total: number }
        assert.equal(total, outcomes.get('POST 201'))
        context.diagnostic(`${[...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', ')}`)
      },
    ))

  it('closes WebSockets with 1001, and their clients reconnect to the other node', () =>
    withBalancer({ PORTICO_SHUTDOWN: 'delay=3 s' }, async ({ url, nodes }) => {
      const open = () =>
        new Promise<WebSocket>((resolve, reject) => {
          const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
          socket.on('error', reject)
          socket.on('open', () => socket.send('{"type":"connection_init"}'))
          socket.on('message', () => resolve(socket))
        })
      const sockets = await Promise.all([open(), open(), open(), open()])
      const closed = sockets.map(socket => new Promise<number>(resolve => socket.on('close', resolve)))
      await nodes[0].end('SIGTERM')
      const code = await Promise.race(closed)
      assert.equal(code, 1001)
      const again = await open()
      again.terminate()
      for (const socket of sockets) socket.terminate()
    }))
})
