import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ada, json, openService, post, type Service, sha256, spec } from './service.ts'

let service: Service
before(async () => {
  service = await openService()
})
after(() => service.close())

const hello = { query: '{ hello }' }

interface Reply {
  readonly data?: unknown
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[]
}

async function read(response: Response): Promise<Reply> {
  return JSON.parse(await response.text())
}

async function refuses(response: Response, status: number, code: string): Promise<string> {
  assert.equal(response.status, status)
  const { data, errors = [] } = await read(response)
  assert.equal(data, undefined)
  assert.equal(errors[0]?.extensions?.code, code)
  return errors[0]?.message ?? ''
}

describe('media types', () => {
  const response = 'application/graphql-response+json; charset=utf-8'
  const plain = 'application/json; charset=utf-8'
  const cases: readonly [accept: string | undefined, type: string][] = [
    [undefined, plain],
    ['*/*', plain],
    ['application/*', plain],
    ['application/*;q=0.1, */*;q=0', plain],
    ['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', plain],
    ['application/json', plain],
    ['application/graphql-response+json', response],
    ['application/graphql-response+json, application/json;q=0.9', response],
    ['application/json, application/graphql-response+json', response],
    ['application/graphql-response+json;q=0.5, application/json', plain],
    ['application/graphql-response+json; charset=utf-8', response],
    [
      'application/graphql-response+json, application/graphql+json, application/json, text/event-stream',
      response,
    ],
  ]
  for (const [accept, type] of cases) {
    it(`${accept ?? 'no Accept header'} gets ${type}`, async () => {
      const answered = await post(
        service.url,
        hello,
        accept === undefined ? json : { ...json, Accept: accept },
      )
      assert.equal(answered.status, 200)
      assert.equal(answered.headers.get('Content-Type'), type)
      assert.deepEqual(await read(answered), { data: { hello: 'hello world' } })
    })
  }
  for (const accept of [
    'text/plain',
    'application/json;q=0',
    'application/*;q=0, */*',
    'application/json; charset=utf-16',
    'image/*',
  ]) {
    it(`${accept} is not acceptable`, async () => {
      await refuses(await post(service.url, hello, { ...json, Accept: accept }), 406, 'NOT_ACCEPTABLE')
    })
  }
  it('the response has Vary and is not cacheable', async () => {
    const { headers } = await post(service.url, hello)
    assert.equal(headers.get('Vary'), 'Authorization, X-API-Key, Cookie, Accept')
    assert.equal(headers.get('Cache-Control'), 'no-store')
  })
})

describe('status codes', () => {
  const wrong = { query: '{ nothing }' }
  it('an invalid document is a 400 as application/graphql-response+json, and a 200 as application/json', async () => {
    for (const query of ['{ nothing }', '{ hello', 'query A { hello } query B { hello }']) {
      assert.equal((await post(service.url, { query }, spec)).status, 400)
      assert.equal((await post(service.url, { query }, json)).status, 200)
    }
    assert.equal((await read(await post(service.url, wrong, spec))).data, undefined)
  })
  it('invalid variables get the same status codes', async () => {
    const request = { query: 'query($n: String) { hello(name: $n) }', variables: { n: 'wrong' } }
    assert.equal((await post(service.url, request, spec)).status, 400)
    assert.equal((await post(service.url, request, json)).status, 200)
  })
  it('a field that fails is a 200 with an error and its path', async () => {
    const answered = await post(service.url, { query: '{ hello boom }' }, spec)
    assert.equal(answered.status, 200)
    const { data, errors } = await read(answered)
    assert.deepEqual(data, { hello: 'hello world', boom: null })
    assert.equal(errors?.length, 1)
  })
  it('an exhausted budget is a 429 with either type', async () => {
    service.accounts.budget = 5
    for (const headers of [json, spec]) {
      const refused = await post(service.url, { query: '{ expensive }' }, headers)
      assert.equal(refused.headers.get('Retry-After'), '60')
      await refuses(refused, 429, 'RATE_LIMITED')
    }
    service.accounts.budget = Number.POSITIVE_INFINITY
  })
  it('cost beyond the first hundred points counts as more requests before anything is executed', async () => {
    const { draws } = service.accounts
    draws.length = 0
    await post(service.url, { query: '{ expensive }' })
    assert.deepEqual(draws, [9])
    draws.length = 0
    await post(service.url, hello)
    assert.deepEqual(draws, [])
  })
  it('a wrong credential is a 401 with a GraphQL error', async () => {
    const answered = await post(service.url, hello, { ...json, Authorization: 'Bearer nobody' })
    assert.match(answered.headers.get('WWW-Authenticate') ?? '', /^Bearer /)
    await refuses(answered, 401, 'UNAUTHORIZED')
  })
})

describe('bodies', () => {
  const bodies: readonly [name: string, body: string][] = [
    ['nothing', ''],
    ['no JSON', '{'],
    ['an array', '[{"query":"{hello}"}]'],
    ['a string', '"{ hello }"'],
    ['null', 'null'],
    ['no query', '{}'],
    ['a query that is a number', '{"query":1}'],
    ['variables in an array', '{"query":"{hello}","variables":[]}'],
    ['variables in a string', '{"query":"{hello}","variables":"{}"}'],
    ['an operationName that is an object', '{"query":"{hello}","operationName":{}}'],
    ['extensions that are a number', '{"query":"{hello}","extensions":1}'],
    ['a documentId of another form', '{"documentId":"md5:abc"}'],
    ['variables 90 levels deep', `{"query":"{hello}","variables":{"a":${'['.repeat(90)}${']'.repeat(90)}}}`],
    [
      '100,000 open brackets',
      `{"query":"{hello}","variables":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
    ],
  ]
  for (const [name, body] of bodies) {
    it(`${name} is a 400`, async () => {
      for (const headers of [json, spec])
        await refuses(await post(service.url, body, headers), 400, 'BAD_REQUEST')
    })
  }
  it('a body that is not UTF-8 is a 400', async () => {
    const body = Buffer.from([0x7b, 0xff, 0x7d])
    const answered = await fetch(service.url, { method: 'POST', headers: json, body })
    await refuses(answered, 400, 'BAD_REQUEST')
  })
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json\ta',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8; x=y',
    'application/graphql',
    'text/json',
  ]
  for (const type of types) {
    it(`${JSON.stringify(type)} is a 415, and nothing is executed`, async () => {
      const before = service.engine.added
      const answered = await post(service.url, { query: 'mutation { add }' }, { 'Content-Type': type })
      await refuses(answered, 415, 'UNSUPPORTED_MEDIA_TYPE')
      assert.equal(service.engine.added, before)
    })
  }
  for (const type of [
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'Application/JSON',
  ]) {
    it(`${type} is accepted`, async () => {
      assert.equal((await post(service.url, hello, { 'Content-Type': type })).status, 200)
    })
  }
  it('operationName selects one of several operations', async () => {
    const query = 'query A { hello(name: "a") } query B { hello(name: "b") }'
    const answered = await post(service.url, { query, operationName: 'B', variables: null, extensions: null })
    assert.deepEqual(await read(answered), { data: { hello: 'hello b' } })
  })
})

describe('GET', () => {
  const get = (parameters: string, headers: Record<string, string> = ada) =>
    fetch(`${service.url}?${parameters}`, { headers })
  it('executes a query with variables in JSON', async () => {
    const variables = encodeURIComponent('{"n":"you"}')
    const query = encodeURIComponent('query($n: String) { hello(name: $n) }')
    const answered = await get(`query=${query}&variables=${variables}`)
    assert.deepEqual(await read(answered), { data: { hello: 'hello you' } })
  })
  it('refuses a mutation with 405, and executes nothing', async () => {
    const before = service.engine.added
    const answered = await get('query=mutation%7Badd%7D', {
      ...ada,
      Accept: 'application/graphql-response+json',
    })
    assert.equal(answered.headers.get('Allow'), 'POST')
    await refuses(answered, 405, 'METHOD_NOT_ALLOWED')
    assert.equal(service.engine.added, before)
  })
  it('refuses parameters that are not JSON, and repeated ones', async () => {
    await refuses(await get('query=%7Bhello%7D&variables=%7B'), 400, 'BAD_REQUEST')
    await refuses(await get('query=%7Bhello%7D&query=%7Bhello%7D'), 400, 'BAD_REQUEST')
    await refuses(await get('x=1'), 400, 'BAD_REQUEST')
  })
  it('requires, without a credential, a header that pages of other origins cannot send', async () => {
    const message = await refuses(await get('query=%7Bhello%7D', {}), 400, 'BAD_REQUEST')
    assert.match(message, /Apollo-Require-Preflight/)
    for (const name of ['Apollo-Require-Preflight', 'X-Requested-With', 'X-Apollo-Operation-Name']) {
      assert.equal((await get('query=%7Bhello%7D', { [name]: 'x' })).status, 200)
    }
  })
  it('has a HEAD with the same headers and no body', async () => {
    const answered = await fetch(`${service.url}?query=%7Bhello%7D`, { method: 'HEAD', headers: ada })
    assert.equal(answered.status, 200)
    assert.equal(await answered.text(), '')
  })
})

describe('other methods', () => {
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    it(`${method} is a 405`, async () => {
      const answered = await fetch(service.url, { method, headers: ada })
      assert.equal(answered.headers.get('Allow'), 'GET, HEAD, POST, OPTIONS')
      await refuses(answered, 405, 'METHOD_NOT_ALLOWED')
    })
  }
  it('OPTIONS lists the methods', async () => {
    const answered = await fetch(service.url, { method: 'OPTIONS', headers: ada })
    assert.equal(answered.status, 204)
    assert.equal(answered.headers.get('Allow'), 'GET, HEAD, POST, OPTIONS')
    assert.equal(answered.headers.get('Cache-Control'), 'no-store')
  })
})

describe('GraphiQL', () => {
  const browser = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  it('is sent to browsers, and all of its files come from this service', async () => {
    const page = await fetch(service.url, { headers: browser })
    assert.match(page.headers.get('Content-Type') ?? '', /^text\/html/)
    const policy = page.headers.get('Content-Security-Policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self';/)
    const places = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(found => found[1] ?? '')
    const own = places.filter(place => place !== 'data:,')
    assert.equal(own.length, 6)
    for (const place of own) {
      assert.match(place, /^\/graphql\/assets\//)
      const asset = await fetch(new URL(place, service.url))
      assert.equal(asset.status, 200, place)
      assert.ok((await asset.arrayBuffer()).byteLength > 50, place)
      const second = await fetch(new URL(place, service.url), {
        headers: { 'If-None-Match': asset.headers.get('ETag') ?? '' },
      })
      assert.equal(second.status, 304)
    }
  })
  it('has no other files', async () => {
    for (const name of ['', 'x.js', '%2e%2e%2fengine.ts', 'package.json', 'toString']) {
      const answered = await fetch(`${service.url}/assets/${name}`)
      assert.equal(answered.status, 404, name)
    }
  })
  it('is not sent to a client that prefers JSON', async () => {
    const accept = { ...ada, Accept: 'application/json, text/html;q=0.5' }
    const answered = await fetch(`${service.url}?query=%7Bhello%7D`, { headers: accept })
    assert.match(answered.headers.get('Content-Type') ?? '', /^application\/json/)
  })
  it('can be disabled', async () => {
    const otherService = await openService({ explorer: undefined })
    const answered = await fetch(otherService.url, { headers: browser })
    assert.equal(answered.status, 400)
    await otherService.close()
  })
})

describe('stored documents', () => {
  const query = 'query Stored { hello(name: "stored") }'
  const named = { persistedQuery: { version: 1, sha256Hash: sha256(query) } }
  it('are requested by hash, sent once, and known afterwards', async () => {
    const unknown = await post(service.url, { extensions: named })
    assert.equal(unknown.status, 200)
    const { errors } = await read(unknown)
    assert.equal(errors?.[0]?.message, 'PersistedQueryNotFound')
    assert.equal(errors?.[0]?.extensions?.code, 'PERSISTED_QUERY_NOT_FOUND')
    const answer = { data: { hello: 'hello stored' } }
    assert.deepEqual(await read(await post(service.url, { query, extensions: named })), answer)
    assert.deepEqual(await read(await post(service.url, { extensions: named })), answer)
    assert.deepEqual(await read(await post(service.url, { query: '', extensions: named })), answer)
    assert.deepEqual(await read(await post(service.url, { documentId: `sha256:${sha256(query)}` })), answer)
    const extensions = encodeURIComponent(JSON.stringify(named))
    const received = await fetch(`${service.url}?extensions=${extensions}`, { headers: ada })
    assert.deepEqual(await read(received), answer)
  })
  it('are refused and not stored when the hash is wrong', async () => {
    const lie = { persistedQuery: { version: 1, sha256Hash: sha256('{ other }') } }
    await refuses(await post(service.url, { query, extensions: lie }), 400, 'BAD_REQUEST')
    const { errors } = await read(await post(service.url, { extensions: lie }))
    assert.equal(errors?.[0]?.extensions?.code, 'PERSISTED_QUERY_NOT_FOUND')
  })
  it('are not stored when they are invalid', async () => {
    const bad = '{ nothing }'
    const extensions = { persistedQuery: { version: 1, sha256Hash: sha256(bad) } }
    await post(service.url, { query: bad, extensions })
    const { errors } = await read(await post(service.url, { extensions }))
    assert.equal(errors?.[0]?.extensions?.code, 'PERSISTED_QUERY_NOT_FOUND')
  })
  it('are not found by an unknown id', async () => {
    const request = { documentId: `sha256:${sha256('unknown')}` }
    await refuses(await post(service.url, request, spec), 404, 'NOT_FOUND')
  })
  it('are the only ones executed with mode `registered`', async () => {
    const mode = 'registered' as const
    const otherService = await openService({
      documents: { mode, registered: new Map([[sha256(query), query]]) },
    })
    const answer = { data: { hello: 'hello stored' } }
    assert.deepEqual(await read(await post(otherService.url, { query })), answer)
    assert.deepEqual(await read(await post(otherService.url, { extensions: named })), answer)
    assert.deepEqual(
      await read(await post(otherService.url, { documentId: `sha256:${sha256(query)}` })),
      answer,
    )
    const executed = otherService.engine.executed
    for (const request of [
      hello,
      { query: hello.query, extensions: { persistedQuery: { version: 1, sha256Hash: sha256(hello.query) } } },
      { documentId: `sha256:${sha256(hello.query)}` },
      { query: '{ __schema { types { name } } }' },
    ]) {
      await refuses(await post(otherService.url, request, spec), 403, 'FORBIDDEN')
    }
    assert.equal(otherService.engine.executed, executed)
    await otherService.close()
  })
})
