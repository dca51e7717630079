/** Malformed input over raw connections to a whole service: refused in the error format, and nothing is stored. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { serviceOfFile } from '../serve/service.ts'
import { openConnection, parseResponses, readToEnd, sendRaw } from './raw-client.ts'

const service = serviceOfFile({ rateLimit: 'off' })

/** All rows of all tables, except for the time at which the key was last used. */
function dumpStored(): string {
  const database = new DatabaseSync(service().file, { readOnly: true })
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    const rows = tables.map(({ name }) => [name, database.prepare(`SELECT * FROM "${name}"`).all()] as const)
    return JSON.stringify(rows.map(([name, all]) => [name, all.filter(({ kind }) => kind !== 'KeyUse')]))
  } finally {
    database.close()
  }
}

async function refuses(bytes: string | Buffer, status: number, code: string): Promise<void> {
  const was = dumpStored()
  const [answer, second] = parseResponses(await sendRaw(service().port, bytes))
  assert.ok(answer && !second)
  assert.equal(answer.status, status, answer.body)
  assert.equal(answer.headers['content-type'], 'application/json')
  const { error, ...rest } = JSON.parse(answer.body)
  assert.deepEqual(rest, {})
  assert.equal(error.code, code)
  assert.ok(error.message.length > 10)
  assert.equal(dumpStored(), was)
}

function post(body: string | Buffer, type = 'application/json', path = '/api/v1/posts'): Buffer {
  const bytes = Buffer.from(body)
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${service().key}`,
    `Content-Type: ${type}`,
    `Content-Length: ${bytes.length}`,
    'Connection: close',
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
}

const deep = 100_000

suite('a malformed body is refused', () => {
  const rows: readonly (readonly [string, string | Buffer, string])[] = [
    ['nothing', '', 'BAD_REQUEST'],
    ['not JSON', '{"title":', 'BAD_REQUEST'],
    ['JSON followed by a character', '{"title":"x"}}', 'BAD_REQUEST'],
    ['a text that is not UTF-8', Buffer.from('7b227469746c65223a22ff227d', 'hex'), 'BAD_REQUEST'],
    ['UTF-16', Buffer.from('{"title":"x"}', 'utf16le'), 'BAD_REQUEST'],
    ['an overlong encoding', Buffer.from('7b227469746c65223a22c080227d', 'hex'), 'BAD_REQUEST'],
    ['a surrogate as UTF-8', Buffer.from('7b227469746c65223a22eda080227d', 'hex'), 'BAD_REQUEST'],
    ['half a surrogate pair', '{"title":"\\ud800"}', 'VALIDATION_FAILED'],
    ['a NUL', '{"title":"a\\u0000b"}', 'VALIDATION_FAILED'],
    ['an empty array', '[]', 'BAD_REQUEST'],
    ['an array of numbers', '[1]', 'VALIDATION_FAILED'],
    ['a number', '1', 'BAD_REQUEST'],
    ['null', 'null', 'BAD_REQUEST'],
    ['wrong types', '{"title":1,"body":[],"author_id":"1"}', 'VALIDATION_FAILED'],
    ['an unknown field', '{"title":"x","colour":"red"}', 'VALIDATION_FAILED'],
    ['a read-only field', '{"title":"x","id":7}', 'VALIDATION_FAILED'],
    ['__proto__', '{"title":"x","__proto__":{"author_id":1}}', 'VALIDATION_FAILED'],
    ['constructor', '{"title":"x","constructor":{"prototype":{}}}', 'VALIDATION_FAILED'],
    ['a key twice', '{"title":"x","title":"y"}', 'BAD_REQUEST'],
    [`${deep} arrays`, `{"title":${'['.repeat(deep)}${']'.repeat(deep)}}`, 'BAD_REQUEST'],
    [`${deep} objects`, `${'{"title":'.repeat(deep)}1${'}'.repeat(deep)}`, 'BAD_REQUEST'],
    [`${deep} arrays, none closed`, '['.repeat(deep), 'BAD_REQUEST'],
  ]
  for (const [name, body, code] of rows) test(name, () => refuses(post(body), 400, code))
})

suite('an unsupported media type is refused', () => {
  const rows = [
    'text/plain',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json; charset=nonsense',
    'application/json\ta',
    'application/jsonx',
    'application/json, text/plain',
    'multipart/form-data; boundary=x',
    'json',
    '\xff',
  ]
  for (const type of rows) {
    test(JSON.stringify(type), () => refuses(post('{"title":"x"}', type), 415, 'UNSUPPORTED_MEDIA_TYPE'))
  }
})

suite('an invalid parameter is refused', () => {
  const rows = [
    'colour=red',
    '__proto__=1',
    '__proto__[eq]=1',
    'constructor=1',
    'title[__proto__]=1',
    'page=1&page=1',
    'page=0',
    'page=-1',
    'page=1e9',
    'page=0x10',
    'per_page=101',
    'per_page=',
    'author_id=x',
    'author_id=99999999999999999999',
    'created_at[gte]=yesterday',
    'fields=password_hash',
    'sort=__proto__',
    'include=__proto__',
    'cursor=%00',
    'title=%ff',
    'title=%ed%a0%80',
    'title=%zz',
    'title=%00',
    'a'.repeat(9000),
    Array.from({ length: 500 }, (_, n) => `a${n}=1`).join('&'),
  ]
  for (const query of rows) {
    test(query.slice(0, 60), async () => {
      const { status, code, json } = await service().call(`/api/v1/posts?${query}`)
      assert.equal(status, 400, query)
      assert.ok(['BAD_REQUEST', 'INVALID_CURSOR'].includes(String(code)), code ?? 'no code')
      assert.deepEqual(Object.keys(json), ['error'])
    })
  }
})

suite('an unknown path is not found', () => {
  const rows = [
    '//api/v1/posts',
    '/api/v1//posts',
    '/api/v1/posts/',
    '/api/v1/posts;a=b',
    '/api/v1/posts%2f1',
    '/api/v1/%70osts',
    '/API/V1/posts',
    '/api/v1/posts/../users',
    '/api/v1/posts/%2e%2e/users',
    '/api/v1/..%5cusers',
    '/api/v1/posts/1%00',
    '/api/v1/posts/01',
    '/api/v1/posts/+1',
    '/api/v1/posts/1e0',
    '/api/v1/posts/9007199254740993',
    '/api/v1/__proto__',
    '/api/v1/constructor',
    '/api/v1/posts/1/__proto__',
    '/docs/../package.json',
    '/docs/assets/..%2f..%2fpackage.json',
    '/docs/assets/%2e%2e/start.js',
    `/${'x'.repeat(9000)}`,
  ]
  const get = (path: string) =>
    Buffer.from(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service().key}\r\nConnection: close\r\n\r\n`,
      'latin1',
    )
  for (const path of rows) test(JSON.stringify(path.slice(0, 60)), () => refuses(get(path), 404, 'NOT_FOUND'))
  test('a path with a fragment, a space or bytes beyond ASCII is malformed', async () => {
    for (const path of ['/api/v1/posts 1', '/api/v1/posts#1', '/api/v1/posts\\1', '/\xff\xfe']) {
      const [answer] = parseResponses(await sendRaw(service().port, get(path)))
      assert.ok(answer && [400, 404].includes(answer.status), `${path} ${answer?.status}`)
      assert.ok(JSON.parse(answer.body).error.code)
    }
  })
})

suite('a malicious header has no effect', () => {
  const rows: readonly (readonly [string, string, number, string])[] = [
    ['Content-Encoding', 'gzip', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['Accept', 'text/html', 406, 'NOT_ACCEPTABLE'],
    ['X-API-Key', 'pk_other', 400, 'BAD_REQUEST'],
  ]
  for (const [name, value, status, code] of rows) {
    test(`${name}: ${value}`, () => {
      const request = post('{"title":"x"}')
        .toString('latin1')
        .replace('Host: x', `Host: x\r\n${name}: ${value}`)
      return refuses(request, status, code)
    })
  }
  test('header names from Object.prototype are ordinary names', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const bytes = `GET /api/v1/posts HTTP/1.1\r\nHost: x\r\n${name}: x\r\nConnection: close\r\n\r\n`
      assert.equal(parseResponses(await sendRaw(service().port, bytes))[0]?.status, 200, name)
    }
  })
})

suite('a text or an array of 1 MB in place of an item is refused quickly', () => {
  const long = 'x'.repeat(1_000_000)
  const numbers = `${'[1'.padEnd(999_998, ',1')}]`
  const operation = (body: string) => `{"operations":[{"method":"POST","path":"/posts","body":${body}}]}`
  const rows: readonly (readonly [string, string, string, string])[] = [
    ['a text in an array', `["${long}"]`, '/api/v1/posts', 'VALIDATION_FAILED'],
    ['an array in an array', `[${numbers}]`, '/api/v1/posts', 'VALIDATION_FAILED'],
    ['a text in a batch', operation(`"${long}"`), '/api/v1/batch', 'BAD_REQUEST'],
    ['an array in a batch', operation(numbers), '/api/v1/batch', 'BAD_REQUEST'],
  ]
  /** The processor time of a request, in microseconds. */
  async function costOf(body: string, path: string, code: string): Promise<number> {
    const was = process.cpuUsage()
    await refuses(post(body, 'application/json', path), 400, code)
    const { user, system } = process.cpuUsage(was)
    return user + system
  }
  for (const [name, body, path, code] of rows) {
    test(name, async () => {
      const inItem = await costOf(`{"title":${numbers}}`, '/api/v1/posts', 'VALIDATION_FAILED')
      const cost = await costOf(body, path, code)
      // One name for each character or element took a hundred times as long.
      assert.ok(cost < 15 * inItem, `${cost} and ${inItem} µs`)
    })
  }
})

test('a body of 50 MB is refused, with a Content-Length or in chunks, with or without a credential', async () => {
  const was = dumpStored()
  const part = Buffer.alloc(1 << 20, 'a')
  for (const header of [`Content-Length: ${50 * part.length}`, 'Transfer-Encoding: chunked']) {
    const socket = await openConnection(service().port)
    const output = readToEnd(socket)
    const auth = `Authorization: Bearer ${service().key}\r\nContent-Type: application/json\r\nConnection: close`
    socket.write(`POST /api/v1/posts HTTP/1.1\r\nHost: x\r\n${auth}\r\n${header}\r\n\r\n`)
    for (let sent = 0; sent < 50 && !socket.destroyed; sent++) {
      if (header.startsWith('Transfer')) socket.write(`${part.length.toString(16)}\r\n`)
      const more = socket.write(
        header.startsWith('Transfer') ? Buffer.concat([part, Buffer.from('\r\n')]) : part,
      )
      if (!more) await Promise.race([new Promise(resolve => socket.once('drain', resolve)), output])
    }
    const [answer] = parseResponses(await output)
    assert.ok(answer)
    assert.equal(answer.status, 413, header)
    assert.equal(JSON.parse(answer.body).error.code, 'PAYLOAD_TOO_LARGE')
  }
  assert.equal(dumpStored(), was)
  assert.equal((await service().call('/api/v1/posts')).status, 200)
})
