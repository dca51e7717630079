/** What routes answer: bodies, headers, errors, streams, and their ends. */
import assert from 'node:assert/strict'
import { ReadableStream } from 'node:stream/web'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { anyone, type RouteAnswer, refuse, route } from '../../../src/index.ts'
import { openConnection, readToEnd, sendRaw } from '../../server/http/raw-client.ts'
import { code, withRoutes } from './fixture.ts'

/** The stack of the last error that the log has. */
function lastErrorIn(log: readonly Record<string, unknown>[]): string {
  const { err = {} } = log.findLast(({ msg }) => msg === 'request failed') ?? {}
  return String((err as { readonly stack?: string }).stack)
}

const get = (path: string) => ({ method: 'GET', path, access: anyone }) as const

/** A route at `answer/{index}` for each answer. */
const answering = (answers: readonly unknown[]) =>
  Object.fromEntries(
    answers.map((answer, index) => [
      `answer_${index}`,
      route({ ...get(`answer/${index}`), run: () => answer as RouteAnswer }),
    ]),
  )

async function* words() {
  yield 'one '
  await new Promise(resolve => setTimeout(resolve, 1))
  yield Buffer.from('two')
}

test('texts, bytes, JSON and streams, with their media types', () => {
  const bytes = new Uint8Array([1, 2, 0xff])
  const rows: readonly (readonly [answer: unknown, status: number, type: string | null, text: string])[] = [
    [undefined, 204, null, ''],
    [{}, 204, null, ''],
    [{ status: 200 }, 200, null, ''],
    [{ body: null }, 204, null, ''],
    [{ body: '' }, 200, 'text/plain; charset=utf-8', ''],
    [{ body: 'ä€' }, 200, 'text/plain; charset=utf-8', 'ä€'],
    [{ status: 299, body: 'x' }, 299, 'text/plain; charset=utf-8', 'x'],
    [{ status: 404, body: { a: [1] } }, 404, 'application/json', '{"a":[1]}'],
    [{ body: [] }, 200, 'application/json', '[]'],
    [{ body: bytes }, 200, 'application/octet-stream', '\x01\x02\ufffd'],
    [{ body: bytes.buffer }, 200, 'application/octet-stream', '\x01\x02\ufffd'],
    [{ body: new Uint16Array([0x4142]).subarray(0, 1) }, 200, 'application/octet-stream', 'BA'],
    [{ body: words() }, 200, 'application/octet-stream', 'one two'],
    [{ body: new Set(['a', 'b']) }, 200, 'application/octet-stream', 'ab'],
    [{ body: ReadableStream.from(['r', 's']) }, 200, 'application/octet-stream', 'rs'],
    [
      { headers: { 'content-type': 'text/calendar', 'X-Own': undefined }, body: words() },
      200,
      'text/calendar',
      'one two',
    ],
  ]
  return withRoutes(answering(rows.map(([answer]) => answer)), async ({ call }) => {
    for (const [index, [answer, status, type, text]] of rows.entries()) {
      const got = await call(`/hooks/answer/${index}`)
      assert.deepEqual(
        [got.status, got.headers.get('content-type'), got.text],
        [status, type, text],
        String(answer),
      )
    }
  })
})

test('headers: several of a name, safe defaults, and what a route may replace', () =>
  withRoutes(
    answering([
      { body: 'x' },
      {
        status: 302,
        headers: {
          Location: '/feed',
          'Set-Cookie': ['a=1; HttpOnly', 'portico=2'],
          'cache-control': 'public, max-age=60',
          Vary: 'Accept-Language',
          'Content-Security-Policy': "default-src 'self'",
          ETag: '"\u00e4"',
        },
      },
    ]),
    async ({ url, call }) => {
      const plain = await call('/hooks/answer/0')
      assert.equal(plain.headers.get('cache-control'), 'no-store')
      assert.equal(plain.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(plain.headers.get('vary'), 'Authorization, X-API-Key, Cookie, Accept')
      assert.equal(
        plain.headers.get('content-security-policy'),
        "default-src 'none'; frame-ancestors 'none'; sandbox",
      )
      for (const name of plain.headers.keys()) assert.doesNotMatch(name, /ratelimit/, 'others caused it')
      const own = await fetch(`${url}/hooks/answer/1`, { redirect: 'manual' })
      assert.equal(own.status, 302)
      assert.equal(own.headers.get('location'), '/feed')
      assert.deepEqual(own.headers.getSetCookie(), ['a=1; HttpOnly', 'portico=2'])
      assert.equal(own.headers.get('cache-control'), 'public, max-age=60')
      assert.equal(own.headers.get('vary'), 'Accept-Language')
      assert.equal(own.headers.get('content-security-policy'), "default-src 'self'")
    },
  ))

test('an answer that does not fit is a 500, and the log says what is wrong', () => {
  const header = (name: string, value: unknown = 'x') => ({ headers: { [name]: value } })
  const rows: readonly (readonly [answer: unknown, reason: RegExp])[] = [
    ['text', /must return `\{ status, headers, body \}`, not 'text'/],
    [null, /not null/],
    [[1], /not \[/],
    [new Response('x'), /not Response/],
    [{ ok: true }, /without `ok`/],
    [{ status: 199 }, /`status` must be/],
    [{ status: 600 }, /`status` must be/],
    [{ status: '200' }, /`status` must be/],
    [{ status: 204, body: 'x' }, /status 204 has no body/],
    [{ status: 304, body: '' }, /status 304 has no body/],
    [{ body: 7 }, /`body` must be/],
    [{ body: () => 'x' }, /`body` must be/],
    [{ body: { toJSON: () => undefined } }, /`body` must be/],
    [{ body: { n: 1n } }, /BigInt/],
    [{ body: Promise.resolve([]) }, /`body` is a promise: `await` it/],
    [{ body: new Blob(['x']) }, /`body` must be/],
    [{ body: new Map([[1, 2]]).entries }, /`body` must be/],
    [{ headers: 'x' }, /`headers` must be a plain object/],
    [{ headers: null }, /`headers` must be a plain object/],
    [{ headers: new Headers() }, /`headers` must be a plain object/],
    [header('X-Own', 'a\r\nSet-Cookie: portico_session=x'), /contains a character/],
    [header('X-Own', 'a\nb'), /contains a character/],
    [header('X-Own', 'a\0'), /contains a character/],
    [header('X-Own', '€'), /contains a character/],
    [header('X-Own', 7), /must be a text, not 7/],
    [header('X-Own', [['x']]), /must be a text/],
    [header('X Own'), /not the name of a header/],
    [header('X-Own\r\nX-Other'), /not the name of a header/],
    [header(''), /not the name of a header/],
    ...['Connection', 'transfer-encoding', 'Content-Length', 'Upgrade', 'Trailer', 'TE', 'Date'].map(
      name => [header(name), /the service decides it/] as const,
    ),
    ...['X-Request-Id', 'Access-Control-Allow-Origin', 'X-RateLimit-Limit', 'RateLimit'].map(
      name => [header(name), /the service decides it/] as const,
    ),
    [header('Set-Cookie', 'portico_session=x'), /belong to the account pages/],
    // A browser sends a cookie without a name as if its value began with one.
    [header('Set-Cookie', ' =portico_session=x'), /belong to the account pages/],
    [header('set-cookie', ['a=1', ' __Host-Portico_session=x']), /belong to the account pages/],
    [{ body: 'x'.repeat(65_537) }, /65537 bytes, more than 65536 .*return a stream/],
  ]
  return withRoutes(
    answering(rows.map(([answer]) => answer)),
    async ({ call, log }) => {
      for (const [index, [answer, reason]] of rows.entries()) {
        const got = await call(`/hooks/answer/${index}`)
        assert.deepEqual([got.status, got.code], [500, 'INTERNAL_ERROR'], String(answer))
        assert.doesNotMatch(got.text, /answer_/)
        assert.equal(got.headers.get('set-cookie'), null)
        const stack = lastErrorIn(log)
        assert.match(stack, reason)
        assert.match(stack, new RegExp(`routes\\.answer_${index} has failed`))
      }
    },
    { settings: { maxAnswer: '64 KiB' } },
  )
})

test('what the code throws: refusals and errors of `data` reach the client, all else is a 500 with its place in the log', () => {
  const throwing = (error: unknown) => ({
    ...get('unused'),
    run: code(() => {
      throw error
    }),
  })
  const at = (path: string, value: object) => route({ ...value, path } as Parameters<typeof route>[0])
  return withRoutes(
    {
      error: at('error', throwing(new Error('the reason'))),
      text: at('text', throwing('only a text')),
      nothing: at('nothing', throwing(undefined)),
      refused: route({ ...get('refused'), run: () => refuse('Not today.') }),
      missing: route({
        ...get('missing'),
        run: code(({ data }) => data.asSystem['notes']?.update(99, { body: 'x' })),
      }),
      mistake: route({
        ...get('mistake'),
        run: code(({ data }) => data.asSystem['notes']?.list({ where: { nope: 1 } })),
      }),
      unawaited: route({
        ...get('unawaited'),
        run: code(({ data }) => {
          void data.asSystem['notes']?.delete(99)
        }),
      }),
    },
    async ({ call, log }) => {
      const codeOf = async (path: string) => (await call(`/hooks/${path}`)).code
      assert.equal(await codeOf('refused'), 'CONFLICT')
      assert.equal(await codeOf('missing'), 'NOT_FOUND')
      assert.equal(await codeOf('unawaited'), 'NOT_FOUND')
      for (const [path, reason] of [
        ['error', /the reason/],
        ['text', /It threw 'only a text'/],
        ['nothing', /It threw undefined/],
        ['mistake', /data\.notes\.list: where\.nope/],
      ] as const) {
        const answer = await call(`/hooks/${path}`, { headers: { Accept: 'application/problem+json' } })
        assert.equal(answer.status, 500, path)
        assert.equal(answer.json['code'], 'INTERNAL_ERROR')
        assert.doesNotMatch(answer.text, reason)
        const stack = lastErrorIn(log)
        assert.match(stack, reason)
        assert.match(stack, new RegExp(`routes\\.${path} has failed`))
      }
    },
  )
})

test('lines of `log` name the route and the request', () =>
  withRoutes(
    {
      logged: route({
        ...get('logged'),
        run: code(({ log }) => log.info('a line', { own: 1, route: 'not this' })),
      }),
    },
    async ({ call, log }) => {
      const { headers } = await call('/hooks/logged')
      const line = log.find(({ msg }) => msg === 'a line')
      assert.deepEqual([line?.['own'], line?.['route']], [1, 'logged'])
      assert.equal(line?.['request_id'], headers.get('x-request-id'))
    },
  ))

test('`later` takes effect with the answer, and not if the route fails', () => {
  const started: unknown[] = []
  return withRoutes(
    {
      starts: route({
        ...get('starts'),
        run: code(({ later, now, request }) => {
          later(now, 'echo')
          if (request.query.has('fail')) throw new Error('on purpose')
        }),
      }),
    },
    async ({ call, until }) => {
      assert.equal((await call('/hooks/starts?fail')).status, 500)
      assert.equal((await call('/hooks/starts')).status, 204)
      await until(() => started.length > 0, 'the job has run')
      assert.equal(started.length, 1)
    },
    { jobs: { echo: { kind: 'job', run: () => started.push(1) } as never } },
  )
})

test('a client that ends its side once it has sent the request gets the answer', () =>
  withRoutes(
    { slow: route({ ...get('slow'), run: code(() => sleep(50).then(() => ({ body: 'here' }))) }) },
    async ({ port }) => {
      const socket = await openConnection(port)
      socket.end('GET /hooks/slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      assert.match(await readToEnd(socket), /^HTTP\/1\.1 200 [\s\S]*here/)
    },
  ))

test('a call in a stream that is not awaited belongs to it: if it fails, the stream does', () =>
  withRoutes(
    {
      feed: route({
        ...get('feed'),
        run: code(({ data }) => {
          async function* lines() {
            void data.asSystem['notes']?.delete(99)
            yield 'a line'
          }
          return { body: lines() }
        }),
      }),
    },
    async ({ call, log }) => {
      await assert.rejects(call('/hooks/feed'))
      assert.ok(log.some(({ err }) => /routes\.feed has failed/.test(JSON.stringify(err))))
    },
  ))

test('an unknown action is a mistake that the code meets where it calls it', () =>
  withRoutes(
    {
      typo: route({ ...get('typo'), run: code(({ actions }) => void actions['typo']?.()) }),
      logged: route({
        ...get('logged'),
        run: code(({ actions }) => ({ body: JSON.stringify({ actions, none: actions.asSystem }) })),
      }),
    },
    async ({ call, log }) => {
      const answer = await call('/hooks/typo')
      assert.equal(answer.status, 400, answer.text)
      assert.equal((await call('/hooks/logged')).text, '{"actions":{},"none":{}}')
      assert.deepEqual(
        log.filter(({ level }) => Number(level) >= 50),
        [],
      )
    },
  ))

test('`fetch` reaches no private address', () =>
  withRoutes(
    {
      fetching: route({
        ...get('fetching'),
        run: code(async ({ fetch }) => {
          const error = await fetch('http://127.0.0.1:1/').catch(({ message }) => message)
          return { body: String(error) }
        }),
      }),
    },
    async ({ call }) => {
      assert.match((await call('/hooks/fetching')).text, /does not have a public address/)
    },
  ))

test('a stream reads as its caller, part by part, and its jobs start with its end', () => {
  let started = 0
  return withRoutes(
    {
      feed: route({
        ...get('feed'),
        run: code(({ data, later, now }) => ({
          async *body() {
            for await (const { body } of data['notes']?.all() ?? []) yield `${body}\n`
            later(now, 'echo')
          },
        })),
      }),
      streamed: route({
        ...get('streamed'),
        run: code(({ data, later, now }) => {
          async function* lines() {
            for await (const { body } of data['notes']?.all() ?? []) yield `${body}\n`
            later(now, 'echo')
          }
          return { body: lines() }
        }),
      }),
    },
    async ({ call, service, until }) => {
      assert.equal((await call('/hooks/feed')).status, 500, 'a function is no stream')
      for (const body of ['a', 'b', 'c']) await service.data['notes']?.create({ body })
      assert.equal((await call('/hooks/streamed')).text, 'a\nb\nc\n')
      await until(() => started > 0, 'the job has run')
      assert.equal((await call('/hooks/streamed', { method: 'HEAD' })).text, '')
    },
    { jobs: { echo: { kind: 'job', run: () => started++ } as never } },
  )
})

test('a stream that fails, or yields what is no part, ends the connection before its end', () =>
  withRoutes(
    {
      failing: route({
        ...get('failing'),
        run: () => ({
          body: (async function* () {
            yield 'begun'
            throw new Error('in the middle')
          })(),
        }),
      }),
      nonsense: route({ ...get('nonsense'), run: () => ({ body: new Set(['begun', 7]) }) }),
      missing: route({
        ...get('missing'),
        run: code(({ data }) => ({
          body: (async function* () {
            yield 'begun'
            await data.asSystem['notes']?.delete(99)
          })(),
        })),
      }),
      too_long: route({ ...get('too_long'), run: () => ({ body: new Set(['begun', 'x'.repeat(70_000)]) }) }),
    },
    async ({ port, log, call }) => {
      for (const [path, reason] of [
        ['failing', /in the middle/],
        ['missing', /NOT_FOUND|There is no|nothing here/],
        ['nonsense', /A stream yields texts or bytes, not 7/],
        ['too_long', /70000 bytes, more than 65536/],
      ] as const) {
        const output = await sendRaw(port, `GET /hooks/${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
        assert.match(output, /^HTTP\/1\.1 200 /)
        assert.match(output, /begun/)
        assert.doesNotMatch(output, /\r\n0\r\n\r\n$/, 'the client sees that the end is missing')
        const stack = lastErrorIn(log)
        assert.match(stack, reason)
      }
      assert.equal((await call('/healthz')).status, 200)
    },
    { settings: { maxAnswer: '64 KiB' } },
  ))

test('code that takes too long is ended: before the answer with 500, a stream with its connection', () => {
  const ends: string[] = []
  const waitFor = (signal: AbortSignal, name: string) =>
    new Promise<void>((_, reject) =>
      signal.addEventListener('abort', () => {
        ends.push(name)
        reject(signal.reason)
      }),
    )
  return withRoutes(
    {
      hangs: route({ ...get('hangs'), run: code(({ signal }) => waitFor(signal, 'hangs')) }),
      deaf: route({
        ...get('deaf'),
        run: code(async ({ data }) => {
          await new Promise(resolve => setTimeout(resolve, 1500))
          const refused = await data.asSystem['notes']
            ?.create({ body: 'late' })
            .catch(({ message }) => message)
          ends.push(String(refused))
        }),
      }),
      endless: route({
        ...get('endless'),
        run: code(({ signal }) => ({
          body: (async function* () {
            try {
              for (;;) {
                yield 'more '
                await new Promise(resolve => setTimeout(resolve, 5))
              }
            } finally {
              ends.push(`endless ${signal.aborted}`)
            }
          })(),
        })),
      }),
    },
    async ({ call, port, log, notes, until }) => {
      const hanging = await call('/hooks/hangs')
      assert.deepEqual([hanging.status, ends], [500, ['hangs']])
      assert.match(lastErrorIn(log), /It took longer than 1 s \(`route` of `logic.limits`\)/)
      assert.equal((await call('/hooks/deaf')).status, 500)
      await until(() => ends.length === 2, 'the deaf code has gone on')
      assert.match(ends[1] ?? '', /The code has ended/)
      assert.deepEqual(await notes(), [])
      const output = await sendRaw(port, 'GET /hooks/endless HTTP/1.1\r\nHost: x\r\n\r\n')
      assert.match(output, /more /)
      assert.doesNotMatch(output, /\r\n0\r\n\r\n$/)
      await until(() => ends.length === 3, 'the stream has cleaned up')
      assert.equal(ends[2], 'endless true')
      assert.match(lastErrorIn(log), /It took longer than 1 s/)
    },
    { settings: { 'logic.limits': { route: '1 s' } } },
  )
})

test('a client that goes away ends a stream, and not the code before the answer; it is no error', () => {
  const seen: string[] = []
  const gone = Promise.withResolvers<void>()
  return withRoutes(
    {
      waits: route({
        ...get('waits'),
        run: code(async ({ signal, data, request }) => {
          seen.push('begun')
          await gone.promise
          await data.asSystem['notes']?.create({ body: request.path })
          seen.push(`aborted: ${signal.aborted}`)
        }),
      }),
      streams: route({
        ...get('streams'),
        run: () => ({
          body: (async function* () {
            try {
              for (;;) {
                yield 'x'.repeat(1000)
                await new Promise(resolve => setTimeout(resolve, 1))
              }
            } finally {
              seen.push('cleaned up')
            }
          })(),
        }),
      }),
    },
    async ({ port, notes, log, until }) => {
      for (const [path, count] of [
        ['waits', 2],
        ['streams', 3],
      ] as const) {
        const socket = await openConnection(port)
        socket.write(`GET /hooks/${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
        await until(() => seen.length > 0, 'the code has begun')
        if (path === 'streams') await new Promise(resolve => socket.once('data', resolve))
        socket.destroy()
        if (path === 'waits') setTimeout(gone.resolve, 100)
        await until(() => seen.length === count, `the code of ${path} has ended`)
      }
      assert.deepEqual(seen, ['begun', 'aborted: false', 'cleaned up'])
      assert.deepEqual(await notes(), ['/hooks/waits'])
      assert.deepEqual(
        log.filter(({ level }) => Number(level) >= 40),
        [],
      )
    },
  )
})

test('a client that reads slowly holds a bounded amount of a stream', () => {
  let yielded = 0
  const part = 'x'.repeat(64 * 1024)
  const total = 400
  return withRoutes(
    {
      large: route({
        ...get('large'),
        run: () => ({
          body: (function* () {
            for (; yielded < total; yielded++) yield part
          })(),
        }),
      }),
    },
    async ({ port, until }) => {
      const socket = await openConnection(port)
      socket.pause()
      socket.write('GET /hooks/large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      let [before, unchanged] = [-1, 0]
      await until(() => {
        unchanged = yielded > 0 && yielded === before ? unchanged + 1 : 0
        before = yielded
        return unchanged > 50
      }, 'the stream waits for its reader')
      assert.ok(yielded < total, `${yielded} parts are in memory`)
      const output = readToEnd(socket)
      socket.resume()
      assert.ok((await output).length >= total * part.length)
    },
  )
})
