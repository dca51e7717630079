import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { type Client, createClient } from 'graphql-sse'
import { completeEvent, nextEvent } from '../../../src/api/graphql/transports/sse.ts'
import { user } from '../../../src/base/principal.ts'
import { closedAfterEach } from '../../closed-after-each.ts'
import { ada, json, openService, post, type Service, type ServiceSettings, sha256, until } from './service.ts'

const closed = closedAfterEach<Service>(service => service.close())

async function open(settings: Partial<ServiceSettings> = {}): Promise<Service> {
  const service = await openService(settings)
  closed(service)
  return service
}

const newPost = 'subscription { newPost { id title } }'
const stream = { ...json, Accept: 'text/event-stream' }

function openStream(service: Service, headers = {}, query = newPost): Promise<Response> {
  return post(service.url, { query }, { ...stream, ...headers })
}

function subscriptions({ graphql }: Service): number {
  return Number(/^portico_graphql_subscriptions (\d+)$/m.exec(graphql.metrics())?.[1])
}

function sseClient(service: Service, headers: Record<string, string> = ada): Client {
  return createClient({ url: service.url, headers, retryAttempts: 0 })
}

describe('a stream', () => {
  it('delivers every change to the graphql-sse client once, in order', async () => {
    const service = await open()
    const client = sseClient(service)
    const received: unknown[] = []
    const stop = client.subscribe(
      { query: newPost },
      { next: ({ data }) => received.push(data), error: assert.fail, complete: () => {} },
    )
    await until(() => subscriptions(service) === 1)
    await new Promise(resolve => setTimeout(resolve, 20))
    for (let id = 1; id <= 300; id++) service.feed.commit({ id })
    await until(() => received.length === 300)
    assert.deepEqual(
      received,
      Array.from({ length: 300 }, (_, index) => ({
        newPost: { id: String(index + 1), title: `post ${index + 1}` },
      })),
    )
    stop()
    await until(() => subscriptions(service) === 0 && service.feed.listeners.size === 0)
    client.dispose()
  })
  it('leaves no subscription if its reader has disconnected before it begins', async () => {
    const service = await open()
    const lastEvent = Promise.withResolvers<number>()
    Object.assign(service.feed, { last: () => lastEvent.promise })
    const sent = request(service.url, { method: 'POST', headers: { ...stream, ...ada } })
    sent.on('error', () => {})
    sent.end(JSON.stringify({ query: newPost }))
    await until(() => subscriptions(service) === 1)
    sent.destroy()
    await new Promise(resolve => setTimeout(resolve, 50))
    lastEvent.resolve(0)
    await until(() => subscriptions(service) === 0 && service.feed.listeners.size === 0)
  })
  it('can be opened by GET', async () => {
    const service = await open()
    const answered = await fetch(`${service.url}?query=${encodeURIComponent(newPost)}`, {
      headers: { ...ada, Accept: 'text/event-stream' },
    })
    assert.equal(answered.status, 200)
    assert.match(answered.headers.get('Content-Type') ?? '', /^text\/event-stream/)
    assert.equal(answered.headers.get('Cache-Control'), 'no-store')
    await answered.body?.cancel()
    await until(() => subscriptions(service) === 0)
  })
  it('has one result if the operation is a query', async () => {
    const service = await open()
    const answered = await post(service.url, { query: '{ hello }' }, stream)
    assert.equal(await answered.text(), nextEvent('{"data":{"hello":"hello world"}}') + completeEvent)
  })
  it('is the response to a subscription if the client accepts either type', async () => {
    const service = await open()
    const accept = 'application/graphql-response+json, application/json, text/event-stream, multipart/mixed'
    const answered = await openStream(service, { Accept: accept })
    assert.match(answered.headers.get('Content-Type') ?? '', /^text\/event-stream/)
    await answered.body?.cancel()
  })
  it('is refused with 406 if the client does not accept event streams', async () => {
    const service = await open()
    const answered = await openStream(service, { Accept: 'application/json' })
    assert.equal(answered.status, 406)
    assert.equal(subscriptions(service), 0)
  })
  it('tells a request error as its only event, and nothing is executed', async () => {
    const service = await open()
    for (const request of [
      { query: 'subscription { nothing }' },
      { query: 'subscription {' },
      { query: `{ ${'hello '.repeat(200)} }` },
      { extensions: { persistedQuery: { version: 1, sha256Hash: sha256('x') } } },
    ]) {
      const answered = await post(service.url, request, stream)
      assert.equal(answered.status, 200)
      assert.match(answered.headers.get('Content-Type') ?? '', /^text\/event-stream/)
      const inJson = await post(service.url, request, { ...json, Accept: 'application/json' })
      const expected = await inJson.text()
      assert.match(expected, /^\{"errors":\[/)
      assert.equal(await answered.text(), nextEvent(expected) + completeEvent)
    }
    assert.equal(service.engine.executed, 0)
  })
  it('tells the graphql-sse client why a document is invalid, at the first attempt', async () => {
    const service = await open()
    let requests = 0
    const counted: typeof fetch = (input, init) => {
      requests++
      return fetch(input, init)
    }
    const client = createClient({ url: service.url, headers: ada, fetchFn: counted })
    const messages = await new Promise<unknown[]>((resolve, reject) => {
      const received: unknown[] = []
      client.subscribe(
        { query: 'subscription { nothing }' },
        {
          next: ({ errors }) => received.push(errors?.[0]?.message),
          error: reject,
          complete: () => resolve(received),
        },
      )
    })
    assert.deepEqual([messages, requests], [['Cannot query field "nothing" on type "Subscription".'], 1])
    client.dispose()
  })
  it('does not begin on a malformed request, which gets an ordinary response with its status', async () => {
    const service = await open()
    const malformed = await post(service.url, { query: newPost, variables: 'x' }, stream)
    assert.equal(malformed.status, 400)
    assert.match(malformed.headers.get('Content-Type') ?? '', /^application\/json/)
    assert.equal(subscriptions(service), 0)
  })
  it('tells a caller who may not subscribe so, and begins nothing', async () => {
    const service = await open()
    const eve = await openStream(service, { Authorization: 'Bearer eve' })
    const text = await eve.text()
    assert.match(text, /^event: next\ndata: \{"errors":\[\{[^\n]*"code":"FORBIDDEN"/)
    assert.ok(text.endsWith(completeEvent))
    assert.equal(subscriptions(service), 0)
  })
  it('is refused when the caller has too many', async () => {
    const service = await open({ maxSubscriptions: 1 })
    const first = await openStream(service, ada)
    assert.equal((await openStream(service, ada)).status, 429)
    await first.body?.cancel()
    await until(() => subscriptions(service) === 0)
    await (await openStream(service, ada)).body?.cancel()
  })
  it('is refused when the caller has too many distinct ones, until one ends', async () => {
    const service = await open({ maxDistinctSubscriptions: 2 })
    // A response that is no longer referenced is closed with the next garbage collection.
    const responses: Response[] = []
    const titled = async (title: string, headers = ada) => {
      const query = `subscription { newPost(title: "${title}") { id } }`
      const response = await openStream(service, headers, query)
      responses.push(response)
      return response
    }
    const first = await titled('a')
    await titled('b')
    assert.equal((await titled('b')).status, 200)
    const refused = await titled('c')
    assert.equal(refused.status, 429)
    assert.match(await refused.text(), /2 open .* with different requests; the maximum is 2.*"RATE_LIMITED"/)
    assert.equal((await titled('c', { Authorization: 'Bearer bob' })).status, 200)
    assert.equal(subscriptions(service), 4)
    await first.body?.cancel()
    await until(() => subscriptions(service) === 3)
    assert.equal((await titled('c')).status, 200)
    assert.equal((await titled('a')).status, 429)
    service.accounts.keys.delete('ada')
    await until(() => subscriptions(service) === 1)
    service.accounts.keys.set('ada', user(1, 'user', 'all'))
    assert.equal((await titled('d')).status, 200)
    assert.equal((await titled('e')).status, 200)
    for (const { body } of responses) if (body && !body.locked) await body.cancel()
  })
  it('ends with the credential, and states the reason', async () => {
    const service = await open()
    const answered = await openStream(service, ada)
    service.accounts.keys.delete('ada')
    const text = await answered.text()
    assert.match(text, /event: next\ndata: \{"errors":\[\{[^\n]*"code":"UNAUTHORIZED"/)
    assert.ok(text.endsWith(completeEvent))
    assert.equal(subscriptions(service), 0)
  })
  it('ends with the service', async () => {
    const service = await open()
    const answered = await openStream(service)
    const closing = service.close()
    assert.ok((await answered.text()).endsWith(completeEvent))
    await closing
  })
  it('is closed if its reader is slow, and frees its resources', async () => {
    const service = await open({ maxBufferedBytes: 65_536 })
    const sent = request(service.url, { method: 'POST', headers: { ...stream, Connection: 'close' } })
    sent.on('error', () => {})
    sent.on('response', response => response.pause())
    sent.end(JSON.stringify({ query: newPost }))
    await until(() => subscriptions(service) === 1)
    await new Promise(resolve => setTimeout(resolve, 10))
    for (let id = 1; id <= 200 && subscriptions(service) === 1; id++) {
      service.feed.commit({ row: { id: String(id), big: 'x'.repeat(100_000) } })
      await new Promise(resolve => setImmediate(resolve))
    }
    await until(() => subscriptions(service) === 0)
    assert.match(service.graphql.metrics(), /^portico_graphql_slow_readers_total 1$/m)
    sent.destroy()
  })
})
