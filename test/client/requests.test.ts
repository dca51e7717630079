/** The requests that the client sends, and those that it refuses to send. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { StreamParser } from '../../src/client/event-stream.ts'
import { pauseAfter } from '../../src/client/retry.ts'
import { ApiError, createClient } from '../../src/client.ts'
import { testService } from '../../src/testing.ts'
import tracker from '../models/tracker.ts'

/** A client, and the requests that it has sent. */
function recording(answer = () => Response.json({ data: [], meta: {} })) {
  const sent: Request[] = []
  const api = createClient<typeof tracker>({
    baseUrl: 'https://api.example.com/shop/',
    token: 'key',
    fetch: async (url, init) => {
      sent.push(new Request(url, init))
      return answer()
    },
  })
  return { api, sent, url: () => decodeURIComponent(sent.at(-1)?.url ?? '') }
}

const here = 'https://api.example.com/shop/api/v1'

test('conditions become filters, always with an operator', async () => {
  const { api, url } = recording()
  await api.tasks.list({
    where: {
      status: ['open', 'doing'],
      points: { gte: 1, lt: 5 },
      due_on: null,
      assignee_id: { ne: null },
      project: { name: { contains: 'a&b=c' }, organization: { name: 'x' } },
      urgent: false,
      title: undefined as never,
      not: [{ status: 'done' }, { project: { name: 'y' } }],
      or: [{ points: 1, not: { urgent: true } }, { project: { name: 'z' } }],
    },
    sort: ['-points', 'id'],
    include: ['project.organization'],
    page: 2,
  })
  const filters = [
    'status[in]=open,doing&points[gte]=1&points[lt]=5&due_on[null]=true&assignee_id[null]=false',
    'project.name[contains]=a&b=c&project.organization.name[eq]=x&urgent[eq]=false',
    'not[status][eq]=done&not[project.name][eq]=y',
    'or[1][points][eq]=1&or[1][not][urgent][eq]=true&or[2][project.name][eq]=z',
  ]
  assert.equal(
    url(),
    `${here}/tasks?include=project.organization&sort=-points,id&page=2&${filters.join('&')}`,
  )
})

test('an empty text is a value, also as the only one of a list', async () => {
  const { api, url } = recording()
  await api.tasks.list({
    where: { title: '', not: [{ title: { ne: '' } }, { title: [''] }], or: [{ title: { in: [''] } }] },
  })
  assert.equal(url(), `${here}/tasks?title[eq]=&not[title][ne]=&not[title][eq]=&or[1][title][eq]=`)
})

test('a related field whose name is an operator gets an explicit operator', async () => {
  const { api, url } = recording()
  await api.tasks.list({ where: { project: { contains: { eq: 'x' } } } as never })
  assert.equal(url(), `${here}/tasks?project.contains[eq]=x`)
})

test('a condition that REST cannot express is refused with its place before it is sent', async () => {
  const { api, sent } = recording()
  const refused: readonly [where: object, message: RegExp][] = [
    [{ title: ['a,b'] }, /^where\.title cannot list "a,b"/],
    [{ assignee_id: [null] }, /^where\.assignee_id cannot list null/],
    [{ assignee_id: [undefined] }, /^where\.assignee_id cannot list undefined/],
    [{ id: [] }, /^where\.id lists no value/],
    [{ or: [] }, /^where\.or lists no alternative/],
    [{ not: { status: 'done', urgent: true } }, /^where\.not takes one condition/],
    [{ or: [{ status: 'done' }, {}] }, /^where\.or\[1\] has no condition/],
    [{ or: { status: 'done' } }, /^where\.or must be an array/],
    [{ created_at: { gte: new Date(0) } }, /^where\.created_at\.gte must be an object of conditions/],
    [{ created_at: new Date(0) }, /^where\.created_at must be an object of conditions/],
    [new Map([['status', 'done']]), /^where must be an object of conditions/],
  ]
  for (const [where, message] of refused)
    await assert.rejects(api.tasks.list({ where } as never), { name: 'TypeError', message })
  for (const id of ['1', '../users', 1.5, Number.NaN, undefined])
    await assert.rejects(api.tasks.get(id as never), /^TypeError: An id must be a whole number/)
  assert.equal(sent.length, 0)
  assert.throws(() => createClient({ baseUrl: 'api' }), /`baseUrl` must be the address of the service/)
  assert.throws(() => createClient(), /`baseUrl` must be the address of the service/)
})

test('a batch with an invalid call sends nothing, even if it has other calls than those that it returns', async () => {
  const { api, sent } = recording(() => Response.json({ results: [] }))
  const calls = api.batch(tx => {
    tx.labels.create({ organization_id: 1, name: 'a' })
    return [tx.labels.update('1' as never, { name: 'b' })]
  })
  await assert.rejects(calls, /^TypeError: An id must be a whole number/)
  assert.equal(sent.length, 0)
})

test('a header of a call replaces that of the client, whatever its case', async () => {
  const sent: Request[] = []
  const api = createClient<typeof tracker>({
    baseUrl: 'https://api.example.com',
    token: 'key',
    headers: { Authorization: 'Bearer other', Accept: 'text/html', 'X-Tenant': 'a' },
    fetch: async (url, init) => {
      sent.push(new Request(url, init))
      return Response.json({ data: [], meta: {} })
    },
  })
  await api.tasks.list()
  const names = ['authorization', 'accept', 'x-tenant']
  assert.deepEqual(
    names.map(name => sent[0]?.headers.get(name)),
    ['Bearer key', 'application/json', 'a'],
  )
})

test('each write has its own Idempotency-Key, and its retries the same', async () => {
  const answers = [503, 201, 201].map(status => Response.json({ id: 1 }, { status }))
  const { api, sent } = recording(() => answers.shift() ?? Response.error())
  await api.labels.create({ organization_id: 1, name: 'a' })
  await api.labels.create({ organization_id: 1, name: 'a' })
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  assert.deepEqual([keys.length, keys[0] === keys[1], keys[1] === keys[2]], [3, true, false])
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
  assert.equal(sent[0]?.headers.get('authorization'), 'Bearer key')
})

test('only temporary errors are retried, and not before Retry-After', () => {
  const pause = (status: number, retryAfter?: number) =>
    pauseAfter(new ApiError({ status, code: 'X', message: '', retryAfter }), 0)
  for (const status of [400, 401, 403, 404, 409, 412, 422, 500]) assert.equal(pause(status), undefined)
  for (const status of [0, 408, 429, 502, 503, 504]) assert.ok((pause(status) ?? 1e9) <= 250)
  for (const status of [409, 429, 503]) assert.ok((pause(status, 2) ?? 0) >= 2_000)
  assert.equal(pause(429, 3_600), undefined)
})

test('a response that is not from the service is an error', async () => {
  const page = () => new Response('<h1>Welcome</h1>', { headers: { 'content-type': 'text/html' } })
  await assert.rejects(recording(page).api.tasks.list(), { code: 'UNEXPECTED_ANSWER', status: 200 })
  const { api } = recording(() =>
    Response.json(
      { error: { code: 'CONFLICT', message: 'Taken.', explain: 'Why.' } },
      { status: 409, headers: { 'x-request-id': 'r1' } },
    ),
  )
  const fault = { name: 'ApiError', code: 'CONFLICT', message: 'Taken.', status: 409 }
  const faultWithReserved = { ...fault, explain: 'Why.', requestId: 'r1' }
  await assert.rejects(api.tasks.trash(1), faultWithReserved)
})

test('the client imports only types of the model', () => {
  const folder = join(import.meta.dirname, '..', '..', 'src')
  const files = readdirSync(join(folder, 'client'), { recursive: true, encoding: 'utf8' })
  const sources = files
    .filter(file => file.endsWith('.ts'))
    .map(file => readFileSync(join(folder, 'client', file), 'utf8'))
  assert.ok(sources.length > 15)
  for (const source of sources) assert.doesNotMatch(source, /^import (?!type )[^\n]*\/model\//m)
})

test('a redirect is not followed', async () => {
  const redirect = new Response(null, { status: 302, headers: { location: 'https://evil.example.com' } })
  const { api, sent } = recording(() => redirect)
  await assert.rejects(api.tasks.list(), { code: 'REDIRECTED', status: 302 })
  assert.deepEqual([sent.length, sent[0]?.redirect], [1, 'manual'])
})

test('the client is not a promise, and has only names that a model can have', async () => {
  const { api, sent } = recording()
  assert.equal(await api, api)
  assert.equal(await api.tasks, api.tasks)
  assert.equal(api.projects.archive, api.projects.archive)
  const strange: readonly (string | symbol)[] = [
    ...[
      'then',
      'toJSON',
      'constructor',
      'prototype',
      '__proto__',
      '$$typeof',
      'Tasks',
      'a/b',
      '',
      'toString',
    ],
    Symbol.iterator,
  ]
  for (const name of strange) assert.equal(Reflect.get(api, name), undefined, String(name))
  for (const name of strange) assert.equal(Reflect.get(api.tasks, name), undefined, String(name))
  assert.throws(() => Object.assign(api, { tasks: 1 }), TypeError)
  assert.throws(() => Object.setPrototypeOf(api, { polluted: true }), TypeError)
  assert.equal(JSON.stringify(api.tasks), '{}')
  assert.ok(inspect(api).length > 0)
  assert.equal(sent.length, 0)
})

test('a stream is parsed wherever its chunks end', () => {
  const text =
    ':\n\n:\nid: 7\n\nid: 8\r\nevent: task.created\r\ndata: {"a":\r\ndata: "ü\u2028"}\r\n\r\ndata:x\n\n'
  const expected = [
    { id: undefined, type: '', data: '' },
    { id: '7', type: '', data: '' },
    { id: '8', type: 'task.created', data: '{"a":\n"ü\u2028"}' },
    { id: undefined, type: '', data: 'x' },
  ]
  for (let size = 1; size <= text.length; size++) {
    const parser = new StreamParser()
    const blocks = []
    for (let index = 0; index < text.length; index += size)
      blocks.push(...parser.push(text.slice(index, index + size)))
    assert.deepEqual(blocks, expected, `pieces of ${size}`)
  }
})

test('an endless block is refused, in time linear in its length', () => {
  for (const piece of ['x'.repeat(4_096), `data: ${'x'.repeat(4_090)}\n`]) {
    const parser = new StreamParser()
    const pushBlock = () => {
      for (let count = 0; count <= 2 ** 14; count++) parser.push(piece)
    }
    assert.throws(pushBlock, RangeError)
  }
  const parser = new StreamParser()
  for (let count = 0; count <= 2 ** 14; count++) parser.push(`data: ${'x'.repeat(4_090)}\n\n`)
})

test('waiting for a token counts towards the time limit', async () => {
  const token = () => new Promise<string>(() => undefined)
  const api = createClient<typeof tracker>({ baseUrl: 'https://api.example.com', token })
  await assert.rejects(api.tasks.list({ timeoutMs: 5, retries: 0 }), { code: 'TIMEOUT' })
  const signal = AbortSignal.abort(new Error('left'))
  await assert.rejects(api.tasks.list({ signal }), { message: 'left' })
})

test('a time limit may be longer than a timer can run', async () => {
  const api = createClient<typeof tracker>({
    baseUrl: 'https://api.example.com',
    timeoutMs: Number.POSITIVE_INFINITY,
    retries: 0,
    fetch: (_, init) =>
      new Promise((resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
        setTimeout(() => resolve(Response.json({ data: [], meta: {} })), 20)
      }),
  })
  assert.deepEqual((await api.tasks.list()).data, [])
})

test('a base URL that browsers would resolve as a path of the page is refused', () => {
  for (const baseUrl of ['localhost:3000', 'javascript:alert(1)', 'data:text/html,x', '/api', ''])
    assert.throws(() => createClient({ baseUrl }), TypeError, baseUrl)
})

test('a service in memory can be subscribed to', async () => {
  const service = await testService(tracker)
  const ada = await service.users.create()
  const api = service.as(ada)
  const organization = await api.organizations.found({ name: 'Ours' })
  const { meta } = await api.events.list()
  await api.projects.create({ organization_id: organization.id, name: 'Garden' })
  for await (const event of api.projects.subscribe({ after: meta.next_after })) {
    assert.deepEqual([event.type, event.data?.name], ['project.created', 'Garden'])
    break
  }
  await service.close()
})
