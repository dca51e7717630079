/**
 * `handler` and `upgrade` behind the frameworks of Node: Koa itself, installed with oidc-provider, and two hosts that pass
 * requests on as Express 5 (`lib/application.js`, `router`) and Fastify 5 (`reply.hijack()`) do.
 */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Service } from '../../../src/server/serve/service.ts'
import { formWithField, newestLink, open, page } from '../../identity/accounts/mail-fixture.ts'
import { Browser } from '../../identity/conformance/browser.ts'
import { withSmtp } from '../../identity/smtp.ts'
import { call, serviceOfFile, withService } from './service.ts'

type Next = () => void
type Middleware = (req: Routed, res: ServerResponse, next: Next) => unknown

interface Routed extends IncomingMessage {
  originalUrl?: string
  baseUrl?: string
  body?: unknown
}

interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  respond: boolean
  body: unknown
  set(name: string, value: string): void
}

type KoaMiddleware = (context: KoaContext, next: () => Promise<void>) => unknown
type Koa = new () => { use(middleware: KoaMiddleware): void; callback(): RequestListener }

const KoaApp = createRequire(import.meta.resolve('oidc-provider'))('koa') as Koa

/** Middlewares in order; a prefix is removed from the path, as `app.use('/prefix', …)` does. */
function express(...used: readonly (readonly [prefix: string, Middleware])[]): RequestListener {
  return (req: Routed, res) => {
    req.originalUrl = req.url ?? '/'
    res.setHeader('X-Powered-By', 'Express')
    const originalUrl = req.originalUrl
    const go = (index: number): unknown => {
      const [prefix, middleware] = used[index] ?? []
      if (prefix === undefined || middleware === undefined) return res.writeHead(404).end('Cannot GET')
      if (!originalUrl.startsWith(prefix)) return go(index + 1)
      req.baseUrl = prefix
      const rest = originalUrl.slice(prefix.length)
      req.url = rest.startsWith('/') ? rest : `/${rest}`
      return middleware(req, res, () => void go(index + 1))
    }
    go(0)
  }
}

/** Like `express.json()`. */
const parsesJson: Middleware = async (req, _, next) => {
  if (req.headers['content-type']?.startsWith('application/json')) req.body = JSON.parse(await text(req))
  next()
}

/** Asynchronous hooks, then a route that hijacks the request before its body is read. */
function fastify(hook: () => Promise<unknown>, route: RequestListener): RequestListener {
  return (req, res) => void hook().then(() => route(req, res))
}

function koa(service: Service): RequestListener {
  const app = new KoaApp()
  app.use((context, next) => {
    context.set('X-Host', 'koa')
    if (context.path !== '/mine') return next()
    context.body = 'mine'
    return undefined
  })
  app.use(context => {
    context.respond = false
    service.handler(context.req, context.res)
  })
  return app.callback()
}

interface Host {
  readonly url: string
  readonly close: () => Promise<void>
}

async function listening(service: Service, listener: RequestListener): Promise<Host> {
  const server = createServer(listener)
  server.on('upgrade', service.upgrade)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

/** Opens `/graphql` as a WebSocket and resolves with the response to a query. */
function overWebSocket(url: string, key: string, query: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const send = (message: object) => socket.send(JSON.stringify(message))
    socket.once('error', reject)
    socket.once('open', () => send({ type: 'connection_init', payload: { Authorization: `Bearer ${key}` } }))
    socket.on('message', data => {
      const { type, payload } = JSON.parse(String(data))
      if (type === 'connection_ack') send({ id: '1', type: 'subscribe', payload: { query } })
      if (type !== 'next') return
      socket.close()
      resolve(payload.data)
    })
  })
}

/** The first event of a stream, which is then closed. */
async function firstEvent(url: string, key: string, onOpen: () => unknown): Promise<string> {
  const controller = new AbortController()
  const headers = { authorization: `Bearer ${key}`, accept: 'text/event-stream' }
  const answer = await fetch(`${url}/api/v1/events`, { headers, signal: controller.signal })
  assert.equal(answer.status, 200)
  void onOpen()
  let output = ''
  for await (const part of answer.body ?? []) {
    output += Buffer.from(part).toString()
    if (output.includes('\ndata:')) break
  }
  controller.abort()
  return output
}

describe('behind a framework', () => {
  const opened = serviceOfFile({ listen: false, baseUrl: 'https://api.example.com', rateLimit: 'off' })
  const pass: Middleware = (req, res) => opened().service.handler(req, res)
  const mine: Middleware = (req, res, next) => (req.url === '/mine' ? void res.end('mine') : next())
  const hosts: Readonly<Record<string, (service: Service) => RequestListener>> = {
    Koa: koa,
    Express: () => express(['', mine], ['', pass]),
    'Express, after an asynchronous middleware': () =>
      express(
        [
          '',
          (_, __, next) =>
            void turn()
              .then(() => turn())
              .then(next),
        ],
        ['', mine],
        ['', pass],
      ),
    Fastify: service =>
      fastify(turn, (req, res) => (req.url === '/mine' ? void res.end('mine') : service.handler(req, res))),
  }

  for (const [name, host] of Object.entries(hosts)) {
    test(`${name}: reads, writes, pages, event streams and WebSockets work, and so do the host’s own routes`, async () => {
      const { service, key } = opened()
      const { url, close } = await listening(service, host(service))
      try {
        assert.equal((await call(`${url}/mine`)).text, 'mine')
        const title = `By ${name}`
        const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title } })
        assert.deepEqual([created.status, created.json['title']], [201, title], created.text)
        const { status, json } = await call(`${url}${created.headers.get('location')}`)
        assert.deepEqual([status, json['title']], [200, title])
        // Larger than the part that arrives with the headers.
        const body = { title: 'long', body: 'x'.repeat(300_000) }
        assert.equal((await call(`${url}/api/v1/posts`, { method: 'POST', key, body })).status, 201)
        const form = {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'authorization_code', code: 'x' }),
        }
        const token = await fetch(`${url}/oauth/token`, form)
        assert.equal(token.status, 400, await token.text())
        assert.equal((await call(`${url}/account/sign-in`)).status, 200)
        assert.equal((await call(`${url}/nothing`)).code, 'NOT_FOUND')
        assert.equal((await call(`${url}/api/v1/posts`, { method: 'POST', body: {} })).status, 401)
        const create = () => service.data.posts?.create({ title: 'Streamed', author_id: 1 })
        assert.match(await firstEvent(url, key, create), /"title":"Streamed"/)
        assert.deepEqual(await overWebSocket(url, key, '{ me { id } }'), { me: { id: '1' } })
      } finally {
        await close()
      }
    })
  }

  test('a request whose body was already parsed is refused immediately; one without a body is answered', async () => {
    const { service, key } = opened()
    const { url, close } = await listening(service, express(['', parsesJson], ['', pass]))
    try {
      const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title: 'Parsed' } })
      assert.deepEqual([created.status, created.code], [500, 'INTERNAL_ERROR'])
      assert.equal((await call(`${url}/api/v1/posts`)).status, 200)
      // The parser ignores other media types.
      const form = { method: 'POST', body: new URLSearchParams({ grant_type: 'x' }) }
      assert.equal((await fetch(`${url}/oauth/token`, form)).status, 400)
    } finally {
      await close()
    }
  })

  test('a body parser after the service gets the bodies of the host’s own routes', async () => {
    const { service, key } = opened()
    const own: Middleware = (req, res) => void res.end(JSON.stringify(req.body))
    const first: Middleware = (req, res, next) =>
      req.url?.startsWith('/own') ? next() : service.handler(req, res)
    const { url, close } = await listening(service, express(['', first], ['', parsesJson], ['/own', own]))
    try {
      const answer = await call(`${url}/own/route`, { method: 'POST', body: { a: 1 } })
      assert.equal(answer.text, '{"a":1}')
      const created = await call(`${url}/api/v1/posts`, { method: 'POST', key, body: { title: 'Before' } })
      assert.equal(created.status, 201)
    } finally {
      await close()
    }
  })

  test('a prefix that the host removes is refused, because links would be wrong', async () => {
    const { service } = opened()
    const { url, close } = await listening(service, express(['/portico', pass]))
    try {
      for (const path of ['/portico', '/portico/api/v1/posts', '/portico/api/v1/posts?page=1']) {
        assert.equal((await call(`${url}${path}`)).status, 500, path)
      }
      assert.equal((await call(`${url}/api/v1/posts`)).text, 'Cannot GET')
    } finally {
      await close()
    }
  })

  test('a path that the host has rewritten is answered', async () => {
    const { service } = opened()
    const rewrites: Middleware = (req, res) => {
      req.url = `/api/v1${req.url}`
      service.handler(req, res)
    }
    const { url, close } = await listening(service, express(['', rewrites]))
    try {
      assert.equal((await call(`${url}/posts?per_page=1`)).status, 200)
    } finally {
      await close()
    }
  })

  test('passing on a request that the host has answered costs at most its connection', async () => {
    const { service } = opened()
    const answers: Middleware = (req, res) => {
      res.end('first')
      service.handler(req, res)
    }
    const { url, close } = await listening(service, express(['/twice', answers], ['', pass]))
    try {
      await call(`${url}/twice`).catch(() => {})
      assert.equal((await call(`${url}/api/v1/posts`)).status, 200)
    } finally {
      await close()
    }
  })

  test('data accesses the database as the service and as the user who signed in to the host', async () => {
    const { service } = opened()
    const counts: Middleware = async (_, res) => {
      const created = await service.data.posts?.create({ title: 'By a route', author_id: 1 })
      const own = await service.data.as(1).posts?.get(Number(created?.['id']))
      res.end(JSON.stringify(own))
    }
    const { url, close } = await listening(service, express(['/route', counts], ['', pass]))
    try {
      assert.equal((await call(`${url}/route`)).json['title'], 'By a route')
      const refused = service.data.as(1).posts?.update(99_999, { title: 'x' })
      await assert.rejects(refused ?? Promise.resolve(), { code: 'NOT_FOUND' })
    } finally {
      await close()
    }
  })
})

describe('behind a framework that has the service below the path of its `baseUrl`', () => {
  // Express removes the prefix from the URL, Fastify keeps it; a proxy has removed it before the framework.
  const hosts: Readonly<Record<string, (service: Service) => RequestListener>> = {
    Express: ({ handler }) => express(['/backend', handler]),
    Fastify: ({ handler }) => fastify(turn, handler),
    'a proxy and Koa': service => {
      const listener = koa(service)
      return (req, res) => {
        req.url = req.url?.replace(/^\/backend/, '') || '/'
        listener(req, res)
      }
    },
  }

  for (const [name, host] of Object.entries(hosts)) {
    test(`${name}: links, mails, cookies, event streams and WebSockets have the path once`, () =>
      withSmtp(async (smtp, received) => {
        const server = createServer()
        await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
        const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        const base = `${origin}/backend`
        const settings = { rateLimit: 'off', 'mail.smtp': smtp } as const
        await withService({ ...settings, listen: false, baseUrl: base }, async ({ service, key }) => {
          const cookiesOutside: unknown[] = []
          server.on('request', ({ url, headers }) => {
            if (!url?.startsWith('/backend')) cookiesOutside.push(headers.cookie)
          })
          server.on('request', host(service)).on('upgrade', service.upgrade)
          const created = await call(`${base}/api/v1/posts`, { method: 'POST', key, body: { title: 'One' } })
          const location = created.headers.get('location') ?? ''
          assert.equal(location, `/backend/api/v1/posts/${created.json['id']}`)
          assert.equal((await call(origin + location)).json['title'], 'One')

          const create = () => service.data.posts?.create({ title: 'Streamed', author_id: 1 })
          assert.match(await firstEvent(base, key, create), /"title":"Streamed"/)
          const subscription = 'subscription { newPost(after: "0") { title } }'
          for (const url of [base, origin])
            assert.deepEqual(await overWebSocket(url, key, subscription), { newPost: { title: 'One' } })

          const browser = new Browser(origin)
          const values = { name: 'Eve', email: 'eve@example.com', password: 'a long enough one' }
          const signUp = formWithField(await open(browser, `${base}/account/sign-up`), 'password')
          page(await browser.submit(signUp, values))
          const anyLink = /https?:\/\/[\w.:]+\/[\w/.?=-]*/g
          const link = await newestLink(received, anyLink)
          assert.ok(link.startsWith(`${base}/account/verify?account=`), link)
          const account = page(
            await browser.submit(formWithField(await open(browser, link), 'password'), values),
          )
          assert.deepEqual([account.status, account.url.pathname], [200, '/backend/account'])
          for (const links of received.data.replace(/=\n/g, '').match(anyLink) ?? [])
            assert.match(links.slice(origin.length), /^\/backend\/account\//)
          await browser.send(new URL('/mine', origin))
          assert.deepEqual(cookiesOutside, [undefined])
          browser.close()
        }).finally(() => {
          server.closeAllConnections()
          server.close()
        })
      }))
  }
})
