import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, model, relation } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { createLog, redact } from '../../../src/server/observability/log.ts'
import { openStore } from '../../../src/server/serve/store.ts'
import { Client } from '../../engine/store/blog.ts'

const key = 'pk_0123456789abcdefghijklmnopqrstuvABCDEF'

function open(logLevel: 'trace' | 'info' | 'warn' = 'trace') {
  const lines: string[] = []
  const log = createLog({ logLevel }, { write: line => void lines.push(line) })
  return { log, lines }
}

const request = { method: 'GET', path: '/api/v1/posts', requestId: 'r.1', userId: 7 }

test('a request is one line of JSON', () => {
  const { log, lines } = open()
  const before = Date.now()
  log.access(request, 200, 1.23456, 320)
  assert.equal(lines.length, 1)
  const { time, ...entry } = JSON.parse(lines[0] ?? '')
  assert.ok(time >= before && time <= Date.now())
  assert.deepEqual(entry, {
    level: 30,
    request_id: 'r.1',
    method: 'GET',
    path: '/api/v1/posts',
    status: 200,
    ms: 1.23,
    user_id: 7,
    bytes: 320,
    msg: 'request',
  })
  assert.ok(lines[0]?.endsWith('}\n'))
})

test('the user of an anonymous request and the size of a streamed body are omitted', () => {
  const { log, lines } = open()
  log.access({ ...request, userId: null }, 200, 1, undefined)
  const entry = JSON.parse(lines[0] ?? '')
  assert.ok(!('user_id' in entry) && !('bytes' in entry))
})

test('a hostile path cannot break out of its line', () => {
  const { log, lines } = open()
  for (const path of ['/"},{"a":"', '/\\', '/\n{"level":60}', '/\u2028é', `/${'x'.repeat(10_000)}`]) {
    log.access({ ...request, path }, 200, 1, 1)
  }
  for (const line of lines) {
    assert.equal(line.indexOf('\n'), line.length - 1)
    assert.ok(JSON.parse(line).path.length <= 2000)
  }
})

test('successful health checks are logged at debug only', () => {
  for (const [level, lineCount] of [
    ['info', 0],
    ['trace', 3],
  ] as const) {
    const { log, lines } = open(level)
    for (const path of ['/readyz', '/healthz', '/metrics']) log.access({ ...request, path }, 200, 1, 1)
    assert.deepEqual(
      lines.map(line => JSON.parse(line).level),
      Array(lineCount).fill(20),
    )
    log.access({ ...request, path: '/readyz' }, 503, 1, 1)
    log.access({ ...request, path: '/readyz/' }, 200, 1, 1)
    assert.deepEqual(
      lines.slice(lineCount).map(line => JSON.parse(line).level),
      [30, 30],
    )
  }
})

test('a client secret in a path is not logged', () => {
  const { log, lines } = open()
  const secret = `ps_${'aB3-_'.repeat(9).slice(0, 43)}`
  log.access({ ...request, path: `/oauth/${secret}` }, 404, 1, 1)
  assert.equal(JSON.parse(lines[0] ?? '').path, '/oauth/ps_[hidden]')
})

test('requests are not logged below info', () => {
  const { log, lines } = open('warn')
  log.access(request, 200, 1, 1)
  log.logger.info('x')
  assert.deepEqual(lines, [])
})

test('a deletion that affects many items is one line with their numbers by collection', async () => {
  const { log, lines } = open()
  const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
  const boxes = collection({
    access,
    fields: { within_id: relation('boxes', { optional: true, onDelete: 'cascade' }) },
  })
  const declared = checkModel(model({ boxes }))
  const settings = { ...readSettings({ environment: {} }), database: ':memory:' }
  const store = await openStore(declared, settings, { log })
  try {
    const client = new Client(store, declared)
    const { id } = await client.create('boxes', {})
    await Promise.all(Array.from({ length: 1001 }, () => client.create('boxes', { within_id: id })))
    await client.remove('boxes', id)
    const { time, ms, ...entry } = JSON.parse(lines[0] ?? '')
    assert.ok(time > 0 && ms >= 0)
    assert.deepEqual(entry, {
      level: 40,
      collection: 'boxes',
      item_id: id,
      removed: { boxes: 1002 },
      cleared: {},
      msg: 'a deletion also deleted or changed many other items: other writes waited meanwhile, and on SQLite all requests of this thread',
    })
    assert.equal(lines.length, 1)
  } finally {
    await store.close()
  }
})

test('an error is logged with its stack', () => {
  const { log, lines } = open()
  log.logger.error({ err: new Error('boom'), request_id: 'r.2' }, 'request failed')
  const entry = JSON.parse(lines[0] ?? '')
  assert.equal(entry.request_id, 'r.2')
  assert.match(entry.err.stack, /Error: boom\n +at /)
})

const secrets: readonly (readonly [string, (log: ReturnType<typeof open>['log']) => void])[] = [
  ['in a path', log => log.access({ ...request, path: `/api/v1/${key}` }, 404, 1, 1)],
  ['in a message', log => log.logger.info(`got ${key}`)],
  ['in an error', log => log.logger.error({ err: new Error(`bad ${key}`) }, 'x')],
  ['in an authorization field', log => log.logger.info({ headers: { authorization: `Bearer ${key}` } }, 'x')],
  ['in a header field', log => log.logger.debug({ req: { headers: { 'x-api-key': key } } }, 'x')],
  ['in a key field', log => log.logger.trace({ key }, 'x')],
  ['deep in an object', log => log.logger.fatal({ a: { b: { c: { d: { e: key } } } } }, 'x')],
  ['in a URL', log => log.logger.warn({ url: `/x?api_key=${key}` }, 'x')],
  ['in a cookie field', log => log.logger.warn({ req: { headers: { cookie: key } } }, 'x')],
  ['as a request id', log => log.logger.warn({ request_id: key }, 'x')],
]

for (const [where, write] of secrets) {
  test(`an API key ${where} is not logged`, () => {
    const { log, lines } = open()
    write(log)
    assert.equal(lines.length, 1)
    assert.doesNotMatch(lines.join(''), /0123456789abcdef/)
    JSON.parse(lines[0] ?? '')
  })
}

test('passwords and tokens are not logged', () => {
  const { log, lines } = open()
  log.logger.info({ password: 'hunter2', user: { password_hash: 'hunter2', token: 'hunter2' } }, 'x')
  for (const scheme of ['Bearer', 'DPoP', 'Basic'])
    log.logger.error({ err: new Error(`Authorization: ${scheme} hunter2`) }, 'x')
  assert.equal(lines.length, 4)
  assert.doesNotMatch(lines.join(''), /hunter2/)
})

const redacted = [
  [`a ${key} b`, 'a pk_[hidden] b'],
  ['Authorization: bearer abc.def', 'Authorization: bearer [hidden]'],
  ['/x?api_key=abc&y=1', '/x?api_key=[hidden]&y=1'],
  ['?access_token=a&refresh_token=b', '?access_token=[hidden]&refresh_token=[hidden]'],
  ['Cookie: a=b; __Host-portico_session=c; d=e', 'Cookie: a=b; __Host-portico_session=[hidden]; d=e'],
  ['nothing secret here', 'nothing secret here'],
] as const

for (const [text, hidden] of redacted) {
  test(`${text} is logged as ${hidden}`, () => assert.equal(redact(text), hidden))
}
