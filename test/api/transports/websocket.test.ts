import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, it } from 'node:test'
import { user } from '../../../src/base/principal.ts'
import { closedAfterEach } from '../../closed-after-each.ts'
import { endWithinSecond } from '../../within-second.ts'
import {
  client,
  openService,
  openWebSocket,
  type RawWebSocket,
  type Service,
  type ServiceSettings,
  until,
} from './service.ts'

const closed = closedAfterEach<Service>(service => service.close())

async function open(settings: Partial<ServiceSettings> = {}): Promise<Service> {
  const service = await openService(settings)
  closed(service)
  return service
}

const init = { type: 'connection_init' }
const adaInit = { type: 'connection_init', payload: { Authorization: 'Bearer ada' } }
const subscribe = (id: string, query: string, more = {}) => ({
  id,
  type: 'subscribe',
  payload: { query, ...more },
})
const newPost = 'subscription { newPost { id title } }'

function untilMessage(
  { messages: texts }: RawWebSocket,
  type: string,
): { readonly id: string; readonly payload: unknown }[] {
  return texts.map(text => JSON.parse(text)).filter(message => message.type === type)
}

async function ready(service: Service, first: unknown = init): Promise<RawWebSocket> {
  const opened = await openWebSocket(service.socketUrl)
  opened.send(first)
  await until(() => untilMessage(opened, 'connection_ack').length === 1)
  return opened
}

/** A connection whose subscription has begun. */
async function listening(service: Service, first: unknown = init, query = newPost): Promise<RawWebSocket> {
  const before = openSubscriptions(service)
  const opened = await ready(service, first)
  opened.send(subscribe('1', query))
  await until(() => openSubscriptions(service) === before + 1)
  await new Promise(resolve => setTimeout(resolve, 5))
  return opened
}

function openSubscriptions({ graphql }: Service): number {
  return metric(graphql.metrics(), 'subscriptions')
}

function metric(text: string, name: string): number {
  return Number(new RegExp(`^portico_graphql_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

describe('the protocol', () => {
  const closings: readonly [name: string, messages: readonly unknown[], code: number][] = [
    ['text that is not JSON', ['{'], 4400],
    ['a message without a type', [{}], 4400],
    ['an unknown message type', [{ type: 'start', id: '1', payload: {} }], 4400],
    ['a binary message', [Buffer.from('{"type":"ping"}')], 4400],
    ['an empty id', [init, subscribe('', newPost)], 4400],
    ['a long id', [init, subscribe('x'.repeat(129), newPost)], 4400],
    ['a subscription without a payload', [init, { id: '1', type: 'subscribe' }], 4400],
    ['a payload that is a list', [{ type: 'connection_init', payload: [] }], 4400],
    ['a subscription before the acknowledgement', [subscribe('1', newPost)], 4401],
    ['two initialisations', [init, init], 4429],
    ['the same id twice', [init, subscribe('1', newPost), subscribe('1', newPost)], 4409],
    // The reason of a close frame holds 123 bytes (RFC 6455, 5.5.1).
    [
      'the same long id twice, in multibyte characters',
      [init, subscribe('€'.repeat(128), newPost), subscribe('€'.repeat(128), newPost)],
      4409,
    ],
    ['a wrong credential', [{ type: 'connection_init', payload: { authorization: 'Bearer no' } }], 4403],
    ['a credential that is a number', [{ type: 'connection_init', payload: { Authorization: 1 } }], 4400],
    [
      'two credentials',
      [{ type: 'connection_init', payload: { Authorization: 'Bearer ada', authorization: 'Bearer bob' } }],
      4400,
    ],
  ]
  for (const [name, messages, code] of closings) {
    it(`the connection closes with ${code} on ${name}`, async () => {
      const opened = await openWebSocket((await open()).socketUrl)
      for (const message of messages) opened.send(message)
      assert.equal((await opened.closed).code, code)
    })
  }
  it('a missing or unsupported subprotocol closes with 4406', async () => {
    const { socketUrl } = await open()
    assert.equal((await (await openWebSocket(socketUrl, '')).closed).code, 4406)
    await assert.rejects(openWebSocket(socketUrl, 'graphql-ws'), /subprotocol/)
  })
  it('a message over the size limit closes with 1009', async () => {
    const opened = await ready(await open({ maxMessageBytes: 1000 }))
    opened.send(subscribe('1', `{ hello }${' '.repeat(2000)}`))
    assert.equal((await opened.closed).code, 1009)
  })
  it('a pong has the payload of its ping', async () => {
    const opened = await ready(await open())
    opened.send({ type: 'ping' })
    opened.send({ type: 'ping', payload: { a: 1 } })
    await until(() => untilMessage(opened, 'pong').length === 2)
    assert.deepEqual(opened.messages.slice(1), ['{"type":"pong"}', '{"type":"pong","payload":{"a":1}}'])
    opened.send({ type: 'pong' })
    opened.socket.close()
  })
  it('the credential of the upgrade request is used, and a second one in connection_init is refused', async () => {
    const service = await open()
    const headers = { Authorization: 'Bearer ada' }
    const opened = await openWebSocket(service.socketUrl, undefined, headers)
    opened.send(init)
    opened.send(subscribe('1', '{ secret }'))
    await until(() => untilMessage(opened, 'complete').length === 1)
    assert.deepEqual(untilMessage(opened, 'next')[0]?.payload, { data: { secret: 'user 1' } })
    const second = await openWebSocket(service.socketUrl, undefined, headers)
    second.send(adaInit)
    assert.equal((await second.closed).code, 4400)
  })
  it('a wrong credential in the upgrade request is a 401', async () => {
    const { socketUrl } = await open()
    await assert.rejects(openWebSocket(socketUrl, undefined, { Authorization: 'Bearer no' }), /401/)
  })
  it('other paths and other upgrades are ordinary requests', async () => {
    const service = await open()
    await assert.rejects(
      openWebSocket(service.socketUrl.replace('/graphql', '/other')),
      /Unexpected server response/,
    )
    const answered = await fetch(service.url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"query":"{hello}"}',
    })
    assert.equal(answered.status, 200)
  })
})

it('an upgrade to another protocol is ignored', async () => {
  const { url } = await open()
  const headers = { 'Content-Type': 'application/json', Connection: 'Upgrade', Upgrade: 'h2c' }
  const sent = request(url, { method: 'POST', headers })
  sent.end('{"query":"{ hello }"}')
  const [answered] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(answered.statusCode, 200)
  answered.resume()
})

describe('operations', () => {
  it('queries and mutations get one result, then complete', async () => {
    const service = await open()
    const opened = await ready(service, adaInit)
    opened.send(subscribe('q', 'query($n: String) { hello(name: $n) secret }', { variables: { n: 'you' } }))
    opened.send(subscribe('m', 'mutation { add }'))
    await until(() => untilMessage(opened, 'complete').length === 2)
    const next = untilMessage(opened, 'next')
    assert.deepEqual(next[0], {
      id: 'q',
      type: 'next',
      payload: { data: { hello: 'hello you', secret: 'user 1' } },
    })
    assert.deepEqual(next[1], { id: 'm', type: 'next', payload: { data: { add: 1 } } })
    opened.socket.close()
  })
  it('each operation counts as a request; one over the budget gets an error message, and the connection stays open', async () => {
    const service = await open()
    const opened = await ready(service)
    service.accounts.draws.length = 0
    opened.send(subscribe('1', '{ expensive }'))
    await until(() => untilMessage(opened, 'complete').length === 1)
    assert.deepEqual(service.accounts.draws, [1, 9])
    service.accounts.budget = 3
    const { executed } = service.engine
    opened.send(subscribe('2', '{ expensive }'))
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.equal(service.engine.executed, executed)
    assert.match(JSON.stringify(untilMessage(opened, 'error')[0]?.payload), /"code":"RATE_LIMITED"/)
    service.accounts.budget = 100
    opened.send(subscribe('2', '{ hello }'))
    await until(() => untilMessage(opened, 'complete').length === 2)
    opened.socket.close()
  })
  const wrong: readonly [name: string, payload: Record<string, unknown>][] = [
    ['an invalid document', { query: '{ nothing }' }],
    ['a document with too many tokens', { query: `{ ${'hello '.repeat(200)} }` }],
    ['variables that are not an object', { query: '{ hello }', variables: 'x' }],
    ['no query', {}],
    ['an unknown stored document', { documentId: `sha256:${'0'.repeat(64)}` }],
  ]
  for (const [name, payload] of wrong) {
    it(`the client gets an error message for ${name}`, async () => {
      const service = await open()
      const opened = await ready(service)
      opened.send({ id: '1', type: 'subscribe', payload })
      await until(() => untilMessage(opened, 'error').length === 1)
      const errors = untilMessage(opened, 'error')[0]?.payload
      assert.ok(Array.isArray(errors) && errors.length > 0)
      assert.equal(service.engine.executed, 0)
      opened.socket.close()
    })
  }
  it('a connection runs at most maxOperations at the same time', async () => {
    const service = await open({ maxOperations: 2 })
    const opened = await ready(service)
    for (const id of ['1', '2', '3']) opened.send(subscribe(id, newPost))
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.equal(untilMessage(opened, 'error')[0]?.id, '3')
    opened.send({ id: '1', type: 'complete' })
    opened.send(subscribe('4', newPost))
    await until(() => openSubscriptions(service) === 2)
    assert.equal(untilMessage(opened, 'error').length, 1)
    opened.socket.close()
    await until(() => openSubscriptions(service) === 0)
  })
  it('an operation that the client has completed counts until its execution ends', async () => {
    const service = await open({ maxOperations: 2 })
    const opened = await ready(service)
    for (const id of ['1', '2', '3']) {
      opened.send(subscribe(id, '{ slow }'))
      opened.send({ id, type: 'complete' })
    }
    opened.send(subscribe('4', '{ hello }'))
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.deepEqual([untilMessage(opened, 'error')[0]?.id, service.engine.executed], ['4', 2])
    await new Promise(resolve => setTimeout(resolve, 50))
    opened.send(subscribe('5', '{ hello }'))
    await until(() => untilMessage(opened, 'next').length === 1)
    opened.socket.close()
  })
  it('a caller has at most maxSubscriptions over all connections', async () => {
    const service = await open({ maxSubscriptions: 2 })
    await listening(service, adaInit)
    await listening(service, adaInit)
    const third = await ready(service, adaInit)
    third.send(subscribe('1', newPost))
    await until(() => untilMessage(third, 'error').length === 1)
    assert.match(JSON.stringify(untilMessage(third, 'error')[0]?.payload), /"code":"RATE_LIMITED"/)
    await listening(service, { type: 'connection_init', payload: { Authorization: 'Bearer bob' } })
  })
  it('a caller has at most maxDistinctSubscriptions over all connections; one that is already open is accepted', async () => {
    const service = await open({ maxDistinctSubscriptions: 2 })
    const titled = (title: string) => `subscription { newPost(title: "${title}") { id } }`
    const first = await listening(service, adaInit, titled('a'))
    const second = await listening(service, adaInit, titled('b'))
    const third = await listening(service, adaInit, titled('b'))
    third.send(subscribe('2', titled('c')))
    await until(() => untilMessage(third, 'error').length === 1)
    const refusal = JSON.stringify(untilMessage(third, 'error')[0])
    assert.match(refusal, /"id":"2".*2 open .* with different requests; the maximum is 2.*"RATE_LIMITED"/)
    await listening(
      service,
      { type: 'connection_init', payload: { Authorization: 'Bearer bob' } },
      titled('c'),
    )
    // Ended by the client, by a close of the connection and by an abort: each frees its place.
    first.send({ id: '1', type: 'complete' })
    await until(() => openSubscriptions(service) === 3)
    await listening(service, adaInit, titled('c'))
    second.socket.close()
    third.socket.terminate()
    await until(() => openSubscriptions(service) === 2)
    const last = await listening(service, adaInit, titled('d'))
    last.send(subscribe('2', titled('a')))
    await until(() => untilMessage(last, 'error').length === 1)
  })
})

describe('subscriptions', () => {
  it('the graphql-ws client gets every change once, in order, and nothing after it has completed', async () => {
    const service = await open()
    const subscriber = client(service.socketUrl, { Authorization: 'Bearer ada' })
    const received: unknown[] = []
    let over = false
    const stop = subscriber.subscribe(
      { query: newPost },
      {
        next: value => received.push(value.data),
        error: assert.fail,
        complete: () => {
          over = true
        },
      },
    )
    await until(() => service.feed.listeners.size === 1)
    await new Promise(resolve => setTimeout(resolve, 20))
    for (let id = 1; id <= 500; id++) service.feed.commit({ id })
    await until(() => received.length === 500)
    assert.deepEqual(
      received,
      Array.from({ length: 500 }, (_, index) => ({
        newPost: { id: String(index + 1), title: `post ${index + 1}` },
      })),
    )
    stop()
    await until(() => over && openSubscriptions(service) === 0)
    service.feed.commit({})
    assert.equal(service.feed.listeners.size, 0)
    assert.equal(received.length, 500)
    await subscriber.dispose()
  })
  it('changes from before the subscription are not delivered', async () => {
    const service = await open()
    service.feed.commit({ id: 1 })
    const opened = await listening(service)
    service.feed.commit({ id: 2 })
    await until(() => untilMessage(opened, 'next').length === 1)
    assert.match(opened.messages.at(-1) ?? '', /"id":"2"/)
    const second = await listening(service)
    service.feed.commit({ id: 3 })
    await until(() => untilMessage(second, 'next').length === 1 && untilMessage(opened, 'next').length === 2)
    assert.match(second.messages.at(-1) ?? '', /"id":"3"/)
  })
  it('only events that match the arguments are delivered', async () => {
    const service = await open()
    const created = await listening(service, init, newPost)
    const deleted = await listening(service, init, 'subscription { postDeleted { id title } }')
    service.feed.commit(
      { id: 1 },
      { id: 1, kind: 'updated' },
      { id: 1, kind: 'deleted' },
      { id: 9, collection: 'users' },
    )
    await until(() => untilMessage(deleted, 'next').length === 1)
    assert.equal(untilMessage(created, 'next').length, 1)
    assert.deepEqual(untilMessage(deleted, 'next')[0]?.payload, {
      data: { postDeleted: { id: '1', title: 'post 1' } },
    })
  })
  it('a change that the subscriber cannot read is not delivered', async () => {
    const service = await open()
    const opened = await ready(service)
    const query = 'subscription($t: String) { newPost(title: $t) { id } }'
    opened.send(subscribe('1', query, { variables: { title: 'post 2' } }))
    await until(() => openSubscriptions(service) === 1)
    await new Promise(resolve => setTimeout(resolve, 5))
    service.feed.commit({ id: 1 }, { id: 2 }, { id: 3 })
    await until(() => untilMessage(opened, 'next').length === 1)
    await new Promise(resolve => setTimeout(resolve, 20))
    assert.equal(untilMessage(opened, 'next').length, 1)
  })
  it('equal subscriptions with equal permissions share one rendering', async () => {
    const service = await open()
    const all = await Promise.all(Array.from({ length: 5 }, () => ready(service, adaInit)))
    for (const opened of all) opened.send(subscribe('1', newPost))
    const other = await ready(service, { type: 'connection_init', payload: { Authorization: 'Bearer bob' } })
    other.send(subscribe('1', newPost))
    await until(() => openSubscriptions(service) === 6)
    await new Promise(resolve => setTimeout(resolve, 10))
    service.feed.commit({ id: 1 })
    await until(() => [...all, other].every(opened => untilMessage(opened, 'next').length === 1))
    assert.equal(service.engine.rendered, 2)
  })
  it('slow replies keep the order of the commits', async () => {
    const service = await open()
    const opened = await listening(service)
    service.feed.commit({ row: { id: 'a', later: 30 } }, { row: { id: 'b' } }, { row: { id: 'c', later: 5 } })
    await until(() => untilMessage(opened, 'next').length === 3)
    const ids = untilMessage(opened, 'next').map(({ payload }) => JSON.stringify(payload).slice(-6, -4))
    assert.deepEqual(
      ids.map(text => text.replace(/\W/g, '')),
      ['a', 'b', 'c'],
    )
  })
  it('a subscription that fails ends with an error; the others continue', async () => {
    const service = await open()
    const opened = await listening(service)
    const other = await listening(service, init, 'subscription { postDeleted { id } }')
    service.feed.commit({ row: { fault: true } })
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.match(opened.messages.at(-1) ?? '', /INTERNAL_ERROR/)
    assert.doesNotMatch(opened.messages.at(-1) ?? '', /database/)
    assert.match(String(service.faults[0]), /the database is unavailable/)
    service.feed.commit({ kind: 'deleted' })
    await until(() => untilMessage(other, 'next').length === 1)
  })
  it('changes by other processes are delivered', async () => {
    const service = await open()
    await listening(service)
    const { pollCount } = service.feed
    await until(() => service.feed.pollCount > pollCount + 1)
  })
  it('a caller who cannot subscribe gets an error', async () => {
    const service = await open()
    const opened = await ready(service, { type: 'connection_init', payload: { Authorization: 'Bearer eve' } })
    opened.send(subscribe('1', newPost))
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.match(opened.messages.at(-1) ?? '', /FORBIDDEN/)
    assert.equal(openSubscriptions(service), 0)
    assert.equal(service.feed.listeners.size, 0)
  })
})

describe('credentials', () => {
  it('a revoked credential closes the connection with 4403 within a second', async () => {
    const service = await open()
    const opened = await listening(service, adaInit)
    service.accounts.keys.delete('ada')
    assert.ok(await endWithinSecond([opened.closed], () => fetch(service.url)))
    assert.equal((await opened.closed).code, 4403)
    await until(() => openSubscriptions(service) === 0)
  })
  it('after a change of keys or users the credential is checked before the next delivery', async () => {
    const service = await open()
    const opened = await listening(service, adaInit)
    service.accounts.keys.delete('ada')
    service.feed.commit({ collection: 'api_keys', kind: 'deleted' }, { id: 2 })
    assert.equal((await opened.closed).code, 4403)
    assert.equal(untilMessage(opened, 'next').length, 0)
  })
  it('a change of permissions ends the subscriptions that it no longer allows, and keeps the others', async () => {
    const service = await open()
    const opened = await listening(service, adaInit)
    service.accounts.keys.set('ada', user(1, 'editor', 'all'))
    service.feed.commit({ collection: 'users', kind: 'updated' }, { id: 7 })
    await until(() => untilMessage(opened, 'next').length === 1)
    service.accounts.keys.set('ada', user(1, 'hidden', 'all'))
    service.feed.commit({ collection: 'users', kind: 'updated' }, { id: 8 })
    await until(() => untilMessage(opened, 'error').length === 1)
    assert.match(opened.messages.at(-1) ?? '', /FORBIDDEN/)
    assert.equal(untilMessage(opened, 'next').length, 1)
    assert.equal(openSubscriptions(service), 0)
  })
})

it('a change of permissions while a subscription begins applies to it', async () => {
  const service = await open()
  const opened = await ready(service, adaInit)
  const lastEvent = Promise.withResolvers<number>()
  Object.assign(service.feed, { last: () => lastEvent.promise })
  opened.send(subscribe('1', newPost))
  await until(() => openSubscriptions(service) === 1)
  service.accounts.keys.set('ada', user(9, 'hidden', 'all'))
  let subscribed = 1
  await until(() => {
    opened.send(subscribe(String(++subscribed), '{ secret }'))
    return opened.messages.some(text => text.includes('user 9'))
  })
  lastEvent.resolve(0)
  await until(() => untilMessage(opened, 'error').length === 1)
  const [{ id, payload } = {}] = untilMessage(opened, 'error')
  assert.equal(id, '1')
  assert.match(JSON.stringify(payload), /FORBIDDEN/)
  assert.equal(openSubscriptions(service), 0)
})

describe('slow readers', () => {
  it('a slow reader is disconnected with 1013; the others get everything', async () => {
    const service = await open({ maxBufferedBytes: 65_536 })
    const slow = await listening(service, adaInit)
    const fast = await listening(service, adaInit)
    slow.socket.pause()
    const big = 'x'.repeat(100_000)
    for (let id = 1; id <= 200; id++) {
      service.feed.commit({ row: { id: String(id), big } })
      await new Promise(resolve => setImmediate(resolve))
    }
    await until(() => untilMessage(fast, 'next').length === 200)
    await until(() => metric(service.graphql.metrics(), 'slow_readers_total') === 1)
    assert.equal(openSubscriptions(service), 1)
    slow.socket.resume()
    const { code, reason } = await slow.closed
    assert.equal(code, 1013)
    assert.match(reason, /Too slow/)
    assert.ok(untilMessage(slow, 'next').length < 200)
  })
})

it('a stop of the service closes with 1001', async () => {
  const service = await open()
  const opened = await listening(service)
  const idle = await openWebSocket(service.socketUrl)
  const closing = service.close()
  assert.equal((await opened.closed).code, 1001)
  assert.equal((await idle.closed).code, 1001)
  await closing
})
