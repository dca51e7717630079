/** The mixed load of a soak test: each lane does one kind of work without pauses until it is stopped. */
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Awaitable } from '../../src/base/awaitable.ts'
import { Browser } from '../../test/identity/conformance/browser.ts'
import { authorizationUrl, authorize, post } from '../../test/identity/conformance/server.ts'

export interface Target {
  readonly origin: string
  /** The key of an administrator. */
  readonly key: string
  readonly rows: number
}

/** How often each request was sent; a name with `!` had an unexpected response. */
export type Tally = Map<string, number>

type Work = (target: Target, tally: Tally) => Promise<void>

function count(tally: Tally, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1)
}

const randomInteger = (below: number) => Math.floor(Math.random() * below)

interface SentRequest {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly key?: string
  readonly expected: number
}

async function send({ origin, key: own }: Target, sent: SentRequest, tally: Tally): Promise<string> {
  const { method = 'GET', path, body, key = own, expected } = sent
  const response = await fetch(origin + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const route = path.split('?', 1)[0]?.replace(/\/\d+/, '/{id}')
  count(tally, `${response.status === expected ? '' : '! '}${method} ${route} ${response.status}`)
  return text
}

const list = '/api/v1/posts'

const reads: Work = async (target, tally) => {
  const id = 1 + randomInteger(target.rows)
  await send(target, { path: `${list}/${id}`, expected: 200 }, tally)
  await send(target, { path: `${list}?page=${1 + randomInteger(100)}&include=author`, expected: 200 }, tally)
  const first = await send(target, { path: `${list}?cursor=&per_page=5`, expected: 200 }, tally)
  const cursor = encodeURIComponent(JSON.parse(first).meta.next_cursor)
  await send(target, { path: `${list}?cursor=${cursor}&per_page=5`, expected: 200 }, tally)
  await send(target, { path: `${list}?author_id=${1 + randomInteger(1000)}&sort=-id`, expected: 200 }, tally)
}

const writes: Work = async (target, tally) => {
  const body = { title: `Soak ${randomInteger(1e9)}`, body: 'x'.repeat(randomInteger(5000)) }
  const { id } = JSON.parse(await send(target, { method: 'POST', path: list, body, expected: 201 }, tally))
  const path = `${list}/${id}`
  await send(target, { method: 'PATCH', path, body: { title: 'Changed' }, expected: 200 }, tally)
  await send(target, { method: 'DELETE', path, expected: 204 }, tally)
}

/** Many documents, some of them repeated, so that the document cache evicts entries. */
const graphql: Work = async (target, tally) => {
  const name = `n${randomInteger(5000)}`
  const queries = [
    `{ ${name}: posts(limit: ${1 + randomInteger(50)}) { id title author { name posts(limit: 3) { id } } } }`,
    `query Posts($limit: Int) { posts(limit: $limit) { id title } }`,
    `mutation { createPost(input: { title: "${name}" }) { id } }`,
    `{ nothing${name} }`,
  ]
  const query = queries[randomInteger(queries.length)]
  const body = { query, variables: { limit: 1 + randomInteger(20) } }
  await send(target, { method: 'POST', path: '/graphql', body, expected: 200 }, tally)
}

const errors: Work = async (target, tally) => {
  await send(target, { path: `/nothing/${randomInteger(1e9)}`, expected: 404 }, tally)
  await send(target, { path: `${list}?sort=none${randomInteger(1e6)}`, expected: 400 }, tally)
  await send(
    target,
    { path: list, key: `pk_${randomInteger(1e15).toString(36).padEnd(40, 'x')}`, expected: 401 },
    tally,
  )
  await send(target, { method: 'POST', path: list, body: { titel: randomInteger(9) }, expected: 400 }, tally)
  const body = { title: 'x', body: 'x'.repeat(1_100_000) }
  await send(target, { method: 'POST', path: list, body, expected: 413 }, tally)
}

/** Requests that the client aborts: before the response, during it, and within its own body. */
const aborts: Work = ({ origin, key }, tally) =>
  new Promise(resolve => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const uploads = randomInteger(2) === 0
    const length = { ...headers, 'Content-Length': '10000' }
    const sent = request(`${origin}${list}?per_page=100`, {
      method: uploads ? 'POST' : 'GET',
      headers: uploads ? length : headers,
      agent: false,
    })
    sent.on('error', () => {})
    sent.on('response', answer => answer.on('error', () => {}).resume())
    sent.on('close', () => {
      count(tally, 'aborted')
      resolve()
    })
    if (uploads) sent.write('{"title":"half')
    else sent.end()
    setTimeout(() => sent.destroy(), randomInteger(10))
  })

const subscription = 'subscription { newPost { id title author { name } } }'

function subscribe({ origin, key }: Target, tally: Tally): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const url = `${origin.replace('http', 'ws')}/graphql`
    const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false })
    socket.on('error', reject)
    socket.on('close', code => reject(new Error(`A subscriber was disconnected: ${code}`)))
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } })),
    )
    socket.on('message', data => {
      if (String(data).includes('"next"')) return count(tally, 'delivered')
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: subscription } }))
      resolve(socket)
    })
  })
}

/** Some close the connection, some end the subscription first, and some drop the connection without a close frame. */
const subscribers: Work = async (target, tally) => {
  const socket = await subscribe(target, tally)
  await wait(randomInteger(1500))
  const endings = [
    () => socket.close(1000),
    () => socket.terminate(),
    () => {
      socket.send(JSON.stringify({ id: '1', type: 'complete' }))
      socket.close(1000)
    },
  ]
  const closed = new Promise(resolve => socket.on('close', resolve))
  endings[randomInteger(endings.length)]?.()
  await closed
  count(tally, 'subscribed')
}

const streams: Work = async ({ origin, key }, tally) => {
  const stop = new AbortController()
  const response = await fetch(`${origin}/graphql`, {
    method: 'POST',
    signal: stop.signal,
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
    },
    body: JSON.stringify({ query: subscription }),
  })
  await wait(randomInteger(1000))
  stop.abort()
  await response.text().catch(() => {})
  count(tally, 'streamed')
}

const redirectUri = 'https://app.example.com/callback'
const scope = 'offline_access read:post'
export const person = { email: 'admin@example.com', password: 'not a secret, only a bench' }

/** The whole life of a grant: code, tokens, a read, a refresh, an introspection, a revocation. */
async function grants(target: Target): Promise<Work> {
  const app = { name: 'Soak', type: 'confidential', redirect_uris: [redirectUri], scopes: scope.split(' ') }
  const created = await send(
    target,
    { method: 'POST', path: '/api/v1/oauth_apps', body: app, expected: 201 },
    new Map(),
  )
  const { client_id, client_secret } = JSON.parse(created)
  const client = { client_id, client_secret }
  const browser = new Browser(target.origin)
  const address = authorizationUrl(target.origin, {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri,
    scope,
    state: 's',
  })
  const form = (values: Record<string, string>) => new URLSearchParams({ ...client, ...values }).toString()
  return async ({ origin }, tally) => {
    const code = (await authorize(browser, new URL(address), person)).searchParams.get('code') ?? ''
    const postForm = async (path: string, values: Record<string, string>) => {
      const { status, json } = await post(`${origin}/oauth/${path}`, form(values))
      count(tally, `${status === 200 ? '' : '! '}POST /oauth/${path} ${status}`)
      return json as Record<string, string>
    }
    const first = await postForm('token', {
      grant_type: 'authorization_code',
      redirect_uri: redirectUri,
      code,
    })
    const read: SentRequest = { path: `${list}/1`, key: first.access_token ?? '', expected: 200 }
    await send(target, read, tally)
    const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' }
    const second = await postForm('token', refresh)
    await postForm('introspect', { token: second.access_token ?? '' })
    await postForm('revoke', { token: second.refresh_token ?? '' })
  }
}

/** The lanes: how many of each name run, and what each does. */
const lanes: readonly (readonly [name: string, count: number, act: (target: Target) => Awaitable<Work>])[] = [
  ['reads', 4, () => reads],
  ['writes', 3, () => writes],
  ['graphql', 3, () => graphql],
  ['errors', 1, () => errors],
  ['aborts', 2, () => aborts],
  ['subscribers', 20, () => subscribers],
  ['streams', 3, () => streams],
  ['grants', 1, grants],
]

/** Throws for an unknown name: without load, the test would pass. */
export function requireLanes(names: readonly string[]): void {
  const laneNames = lanes.map(([name]) => name)
  const unknown = names.filter(name => !laneNames.includes(name))
  if (unknown.length === 0) return
  throw new RangeError(`There is no lane ${unknown.join(', ')}. The lanes are ${laneNames.join(', ')}.`)
}

/** Runs the named lanes (without names: all of them) until `stopped`, and counts what they do. */
export async function soakLoad(
  target: Target,
  names: readonly string[],
  stopped: () => boolean,
  tally: Tally,
): Promise<void> {
  const lane = async (work: Work) => {
    while (!stopped()) {
      await work(target, tally).catch(error => {
        if (!stopped()) count(tally, `! ${error instanceof Error ? error.message : error}`)
      })
      // A load that fills the machine would measure the machine.
      await wait(randomInteger(20))
    }
  }
  const chosen = lanes.filter(([name]) => names.length === 0 || names.includes(name))
  await Promise.all(
    chosen.flatMap(([, count, work]) => Array.from({ length: count }, async () => lane(await work(target)))),
  )
}
