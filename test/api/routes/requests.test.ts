/** Requests to routes: paths, methods, callers, inputs, and what the code gets of them. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  anyone,
  boolean,
  integer,
  nobody,
  refuse,
  role,
  route,
  scope,
  signedIn,
  text,
} from '../../../src/index.ts'
import { code, type LooseContext, withRoutes } from './fixture.ts'

/** Answers with what `show` returns, as JSON. */
const showing = (show: (context: LooseContext) => unknown) =>
  code(context => ({ body: { shown: show(context) } }))

const shownIn = (answer: { readonly json: Readonly<Record<string, unknown>> }) => answer.json['shown']

test('a path below /hooks by the name, a given one, and one from the root', () =>
  withRoutes(
    {
      by_name: route({ access: anyone, run: showing(() => 'name') }),
      given: route({ path: 'a/b.c', access: anyone, run: showing(() => 'given') }),
      root: route({ path: '/feeds/all', access: anyone, run: showing(() => 'root') }),
    },
    async ({ call }) => {
      const post = async (path: string) => {
        const answer = await call(path, { method: 'POST' })
        return answer.status === 200 ? shownIn(answer) : answer.status
      }
      assert.equal(await post('/hooks/by_name'), 'name')
      assert.equal(await post('/hooks/by_name?x=1'), 'name')
      assert.equal(await post('/hooks/a/b.c'), 'given')
      assert.equal(await post('/feeds/all'), 'root')
      for (const path of [
        ...['/hooks', '/hooks/', '/hooks/other', '/hooks/by_name/', '/hooks//by_name', '//hooks/by_name'],
        ...['/Hooks/by_name', '/hooks/By_name', '/hooks/by%5Fname', '/hooks/by_name;x', '/hooks/a%2fb.c'],
        ...['/feeds', '/feeds/all/', '/by_name', '/api/v1/hooks/by_name', '/hooks/x/../by_name/x'],
      ]) {
        assert.equal(await post(path), 404, path)
      }
    },
  ))

test('parameters are decoded, are never empty, and reach no prototype', () =>
  withRoutes(
    {
      both: route({
        method: 'GET',
        path: ':first/of/:constructor',
        access: anyone,
        run: showing(({ request }) => [request.params['first'], request.params['constructor'], request.path]),
      }),
    },
    async ({ call }) => {
      const answer = await call('/hooks/%C3%A4%2F%20/of/__proto__')
      assert.deepEqual(shownIn(answer), ['ä/ ', '__proto__', '/hooks/%C3%A4%2F%20/of/__proto__'])
      for (const path of [
        '/hooks//of/x',
        '/hooks/x/of/',
        '/hooks/%ff/of/x',
        '/hooks/%/of/x',
        '/hooks/x/OF/y',
      ]) {
        assert.equal((await call(path)).status, 404, path)
      }
    },
  ))

test('HEAD, OPTIONS and 405 with the methods of all routes at the path', () =>
  withRoutes(
    {
      read: route({ method: 'GET', path: 'one', access: anyone, run: () => ({ body: 'four' }) }),
      write: route({ method: 'PUT', path: 'one', access: signedIn, run: () => undefined }),
    },
    async ({ call, key }) => {
      const head = await call('/hooks/one', { method: 'HEAD' })
      assert.deepEqual([head.status, head.text, head.headers.get('content-length')], [200, '', '4'])
      const options = await call('/hooks/one', { method: 'OPTIONS' })
      assert.deepEqual([options.status, options.headers.get('allow')], [204, 'GET, HEAD, PUT, OPTIONS'])
      const other = await call('/hooks/one', { method: 'DELETE' })
      assert.deepEqual(
        [other.code, other.headers.get('allow')],
        ['METHOD_NOT_ALLOWED', 'GET, HEAD, PUT, OPTIONS'],
      )
      const empty = await call('/hooks/one', { method: 'PUT', key })
      assert.deepEqual([empty.status, empty.text], [204, ''])
    },
  ))

test('the code gets the request as it was sent', () =>
  withRoutes(
    {
      all: route({
        access: anyone,
        run: showing(({ request }) => ({
          ...{ method: request.method, text: request.text, ip: request.ip },
          bytes: [...request.bytes],
          query: [...request.query],
          header: request.headers['x-own'],
          isFrozen: Object.isFrozen(request) && Object.isFrozen(request.headers),
        })),
      }),
    },
    async ({ send }) => {
      const answer = await send('/hooks/all?a=1&a=2&b=%2B', Buffer.from([0xff, 0x00, 0x41]), {
        'X-Own': 'yes',
        'Content-Type': 'anything/at-all',
      })
      assert.deepEqual(shownIn(answer), {
        ...{ method: 'POST', text: '\ufffd\0A', ip: '127.0.0.1', bytes: [255, 0, 65] },
        query: [
          ['a', '1'],
          ['a', '2'],
          ['b', '+'],
        ],
        ...{ header: 'yes', isFrozen: true },
      })
    },
  ))

test('the input: JSON or a form, with defaults, and all faults at once', () =>
  withRoutes(
    {
      typed: route({
        input: { n: integer({ max: 9 }), on: boolean({ default: false }), note: text({ optional: true }) },
        access: anyone,
        run: showing(({ input, request }) => [input, request.text.length]),
      }),
      free: route({
        input: { n: integer({ default: 7 }) },
        access: anyone,
        run: showing(({ input }) => input),
      }),
      none: route({ access: anyone, run: showing(({ input }) => input) }),
    },
    async ({ call, send }) => {
      const form = (body: string) =>
        send('/hooks/typed', body, { 'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8' })
      const json = (body: unknown) => call('/hooks/typed', { method: 'POST', body })
      assert.deepEqual(shownIn(await json({ n: 3, on: true })), [{ n: 3, on: true, note: null }, 17])
      assert.deepEqual(shownIn(await form('n=3&note=a+%C3%A4')), [{ n: 3, on: false, note: 'a ä' }, 17])
      const wrong = await json({ n: 10, other: 1, on: 'yes' })
      assert.deepEqual([wrong.status, wrong.code], [400, 'VALIDATION_FAILED'])
      const { details } = wrong.json['error'] as { readonly details: readonly { readonly field: string }[] }
      assert.deepEqual(details.map(({ field }) => field).toSorted(), ['n', 'on', 'other'])
      for (const body of [
        'n=10',
        'n=',
        'on=true',
        'n=1&n=2',
        'n=1&x=1',
        'n=%',
        'n=%ff',
        '__proto__=1&n=1',
        '',
      ]) {
        const answer = await form(body)
        assert.equal(answer.status, 400, `${body}: ${answer.text}`)
      }
      const many = Array.from({ length: 200 }, (_, index) => `x${index}=1`).join('&')
      assert.equal((await form(many)).status, 400)
      const invalid = await send('/hooks/typed', Buffer.from('n=1&note=\xff', 'latin1'), {
        'Content-Type': 'application/x-www-form-urlencoded',
      })
      assert.equal(invalid.code, 'BAD_REQUEST')
      for (const [body, type] of [
        ['{"n":1}', 'text/plain'],
        ['{"n":1}', 'application/json;charset=latin1'],
        ['n=1', 'multipart/form-data; boundary=x'],
      ] as const) {
        const answer = await send('/hooks/typed', body, { 'Content-Type': type })
        assert.equal(answer.code, 'UNSUPPORTED_MEDIA_TYPE', type)
      }
      for (const body of ['{"n":1,"n":2}', '[1]', '{', '"n"', 'null', `${'['.repeat(50)}`]) {
        const answer = await send('/hooks/typed', body, { 'Content-Type': 'application/json' })
        assert.equal(answer.status, 400, body)
      }
      assert.deepEqual(shownIn(await send('/hooks/free', '')), { n: 7 })
      assert.deepEqual(shownIn(await send('/hooks/none', '{"n":1}')), {})
    },
  ))

test('a body beyond the bound is refused before the code runs', () => {
  let calls = 0
  const counted = code(() => {
    calls++
  })
  return withRoutes(
    { raw: route({ raw: true, access: anyone, run: counted }) },
    async ({ send }) => {
      assert.equal((await send('/hooks/raw', 'x'.repeat(100))).status, 204)
      assert.equal((await send('/hooks/raw', 'x'.repeat(101))).code, 'PAYLOAD_TOO_LARGE')
      assert.equal(calls, 1)
    },
    { settings: { bodyLimit: '100 B' } },
  )
})

test('`access` decides who may call, before the body is read and the code runs', () => {
  const who = showing(({ caller }) => caller && { id: caller.id, role: caller.role, scopes: caller.scopes })
  const get = { method: 'GET', run: who } as const
  return withRoutes(
    {
      open: route({ ...get, access: anyone }),
      signed: route({ ...get, access: signedIn }),
      admins: route({ ...get, access: role('admin') }),
      scoped: route({ ...get, access: scope('write:note') }),
      closed: route({ ...get, access: nobody }),
    },
    async ({ call, key }) => {
      const reader = await call('/api/v1/api_keys', {
        ...{ method: 'POST', key, body: { name: 'reader', scopes: ['read:note'] } },
      })
      const readerKey = String(reader.json['key'])
      const statuses = async (path: string) => [
        (await call(path)).status,
        (await call(path, { key: readerKey })).status,
        (await call(path, { key })).status,
        (await call(path, { key: 'pk_wrong' })).status,
      ]
      assert.deepEqual(await statuses('/hooks/open'), [200, 200, 200, 401])
      assert.deepEqual(await statuses('/hooks/signed'), [401, 200, 200, 401])
      assert.deepEqual(await statuses('/hooks/admins'), [401, 200, 200, 401])
      assert.deepEqual(await statuses('/hooks/scoped'), [401, 403, 200, 401])
      assert.deepEqual(await statuses('/hooks/closed'), [401, 403, 403, 401])
      assert.deepEqual(shownIn(await call('/hooks/open')), null)
      assert.deepEqual(shownIn(await call('/hooks/signed', { key: readerKey })), {
        ...{ id: 1, role: 'admin', scopes: ['read:note'] },
      })
      const challenge = (await call('/hooks/signed')).headers.get('www-authenticate')
      assert.match(challenge ?? '', /^Bearer /)
    },
  )
})

test('`data` acts as the caller, with the scopes of the credential; `asSystem` as the service; transactions alike', () => {
  const created = code(async ({ data, request }) => {
    const body = request.text
    const kinds = {
      caller: () => data['notes']?.create({ body, owner_id: 1 }),
      inTransaction: () => data.transaction(inner => inner['notes']?.create({ body, owner_id: 1 })),
      system: () => data.asSystem['notes']?.create({ body }),
      systemInTransaction: () => data.transaction(inner => inner.asSystem['notes']?.create({ body })),
    }
    await kinds[request.params['kind'] as keyof typeof kinds]()
  })
  return withRoutes(
    { create: route({ path: 'create/:kind', access: anyone, run: created }) },
    async ({ call, send, key, notes }) => {
      const keyWith = async (scopes: readonly string[]) =>
        String(
          (await call('/api/v1/api_keys', { method: 'POST', key, body: { name: 'k', scopes } })).json['key'],
        )
      const [reader, writer] = [await keyWith(['read:note']), await keyWith(['write:note'])]
      const outcomes = async (kind: string) => {
        const results: (number | string)[] = []
        for (const own of [undefined, reader, writer]) {
          const headers = own === undefined ? {} : { 'X-API-Key': own }
          const answer = await send(`/hooks/create/${kind}`, kind, headers)
          results.push(answer.code ?? answer.status)
        }
        return results
      }
      for (const kind of ['caller', 'inTransaction']) {
        assert.deepEqual(await outcomes(kind), ['UNAUTHORIZED', 'INSUFFICIENT_SCOPE', 204], kind)
      }
      for (const kind of ['system', 'systemInTransaction']) {
        assert.deepEqual(await outcomes(kind), [204, 204, 204], kind)
      }
      assert.deepEqual(await notes(), [
        ...['caller', 'inTransaction'],
        ...Array(3).fill('system'),
        ...Array(3).fill('systemInTransaction'),
      ])
      const events = await call('/api/v1/events?after=0&types=note.created', { key })
      const actors = (
        events.json['data'] as readonly { readonly actor?: { readonly user_id: number | null } | null }[]
      ).map(({ actor }) => actor?.user_id ?? null)
      assert.deepEqual(actors, [1, 1, ...Array(6).fill(null)])
    },
  )
})

test('`actions` act as the caller, `asSystem` as the service, and within `once` as a part of it', () => {
  const calling = code(async ({ actions, once, request }) => {
    const body = request.text
    const kinds = {
      caller: () => actions['note']?.({ body }),
      system: () => actions.asSystem['note']?.({ body }),
      once: () => once('key', (_, inner) => inner.actions.asSystem['note']?.({ body })),
      undone: () =>
        once('other', async (_, inner) => {
          await inner.actions.asSystem['note']?.({ body })
          refuse('Not today.')
        }),
    }
    await kinds[request.params['kind'] as keyof typeof kinds]()
  })
  return withRoutes(
    { call: route({ path: 'call/:kind', access: anyone, run: calling }) },
    async ({ send, key, notes }) => {
      const codeOf = async (kind: string, headers = {}) => {
        const answer = await send(`/hooks/call/${kind}`, kind, headers)
        return answer.code ?? answer.status
      }
      assert.equal(await codeOf('caller'), 'UNAUTHORIZED')
      assert.equal(await codeOf('caller', { 'X-API-Key': key }), 204)
      assert.equal(await codeOf('undone'), 'CONFLICT')
      for (const kind of ['system', 'once', 'once']) assert.equal(await codeOf(kind), 204)
      assert.deepEqual(await notes(), ['caller', 'system', 'once'])
    },
  )
})

test('a session cookie is a credential for pages of the own origin only', () =>
  withRoutes(
    { mine: route({ access: anyone, run: showing(({ caller }) => caller?.id ?? null) }) },
    async ({ url, send, call }) => {
      const account = { email: 'ada@example.com', password: 'a rather long password' }
      const headers = { Origin: url, 'Sec-Fetch-Site': 'same-origin' }
      await call('/account/sign-up', { method: 'POST', body: { name: 'Ada', ...account }, headers })
      const signIn = await call('/account/sign-in', { method: 'POST', body: account, headers })
      const cookie = signIn.headers
        .getSetCookie()
        .map(each => each.split(';')[0])
        .join('; ')
      assert.match(cookie, /portico_session=/, signIn.text)
      const as = (headers: Readonly<Record<string, string>>) =>
        send('/hooks/mine', '', { Cookie: cookie, ...headers })
      assert.notEqual(shownIn(await as({ Origin: url, 'Sec-Fetch-Site': 'same-origin' })), null)
      assert.equal(
        shownIn(await as({ Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' })),
        null,
      )
      assert.equal(shownIn(await as({})), null)
    },
    { settings: { 'accounts.signUp': 'open' } },
  ))

const moved = route({
  ...{ method: 'GET', path: '/feeds/:name', access: anyone },
  run: ({ request }) => ({ status: 303, headers: { Location: `/hooks/${request.params.name}` } }),
})

test('below a base path, with it and without it; an address in Location gets it', () =>
  withRoutes(
    { moved },
    async ({ url }) => {
      for (const path of ['/backend/feeds/a', '/feeds/a']) {
        const answer = await fetch(url + path, { redirect: 'manual' })
        assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/backend/hooks/a'], path)
      }
      assert.equal((await fetch(`${url}/backend/backend/feeds/a`)).status, 404)
    },
    { settings: { baseUrl: 'https://example.com/backend' } },
  ))

test('a base path with which a route begins is refused', async () => {
  for (const baseUrl of ['https://example.com/feeds', 'https://example.com/feeds/:name']) {
    await assert.rejects(
      withRoutes({ moved }, async () => assert.fail(), { settings: { baseUrl } }),
      /`baseUrl`: its path is the beginning of \/feeds\/:name, the path of `routes.moved`/,
    )
  }
  await withRoutes({ moved }, async () => undefined, { settings: { baseUrl: 'https://example.com/feed' } })
})

test('within a server of the program', () =>
  withRoutes(
    { echo: route({ access: anyone, run: showing(({ request }) => request.text) }), moved },
    async ({ service, log }) => {
      const server = createServer(service.handler)
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      try {
        const answer = await fetch(`http://127.0.0.1:${port}/hooks/echo`, {
          method: 'POST',
          body: 'as it was sent',
        })
        assert.deepEqual(await answer.json(), { shown: 'as it was sent' })
        const feed = await fetch(`http://127.0.0.1:${port}/feeds/a-secret`, { redirect: 'manual' })
        assert.equal(feed.status, 303)
        assert.doesNotMatch(JSON.stringify(log), /a-secret/, 'parameters may be secrets')
        assert.match(JSON.stringify(log), /"path":"\/feeds\/:name"/)
      } finally {
        server.closeAllConnections()
        await new Promise(resolve => server.close(resolve))
      }
    },
  ))

test('metrics count the requests of a route under its declared path', () =>
  withRoutes({ moved }, async ({ url, call }) => {
    for (const name of ['a', 'b']) await fetch(`${url}/feeds/${name}`, { redirect: 'manual' })
    const { text: metrics } = await call('/metrics')
    assert.match(
      metrics,
      /portico_http_request_duration_seconds_count\{method="GET",route="\/feeds\/:name",status="3xx"\} 2/,
    )
  }))
