/** Resuming over each transport: event ids, refused ids, and slow clients. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createClient } from 'graphql-sse'
import { closedAfterEach } from '../../closed-after-each.ts'
import {
  client,
  json,
  openService,
  openWebSocket,
  post,
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

const query = 'subscription ($after: ID) { newPost(after: $after) { id } }'
const request = (after: string) => ({ query, variables: { after } })
const stream = { ...json, Accept: 'text/event-stream' }
const adaInit = { type: 'connection_init', payload: { Authorization: 'Bearer ada' } }

interface Post {
  readonly newPost: { readonly id: string }
}
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

function commit({ feed }: Service, count: number, row = {}): void {
  const next = feed.log.length + 1
  feed.commit(...Array.from({ length: count }, (_, index) => ({ row: { id: String(next + index), ...row } })))
}

function metric({ graphql }: Service, name: string): number {
  return Number(new RegExp(`^portico_graphql_${name} (\\d+)$`, 'm').exec(graphql.metrics())?.[1])
}

/** The event ids in the received messages. */
function idsOf({ messages }: RawWebSocket): number[] {
  return messages
    .map(text => JSON.parse(text))
    .filter(({ type }) => type === 'next')
    .map(({ payload }) => Number(payload.data.newPost.id))
}

/** The ids of the first events of a stream. */
async function idsIn(answer: Response, count: number): Promise<number[]> {
  const received: number[] = []
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of answer.body ?? []) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const id = /^\n?id: (\d+)\nevent: next\ndata: /.exec(block)?.[1]
      if (id !== undefined) received.push(Number(id))
    }
    if (received.length >= count) break
  }
  return received
}

async function resumed(service: Service, after: string): Promise<RawWebSocket> {
  const opened = await openWebSocket(service.socketUrl)
  opened.send(adaInit)
  opened.send({ id: '1', type: 'subscribe', payload: request(after) })
  return opened
}

describe('unmodified clients', () => {
  it('of graphql-ws and graphql-sse get missed events, then live ones', async () => {
    const service = await open()
    commit(service, 300)
    const [ws, sse]: number[][] = [[], []]
    const collectInto = (got: number[] | undefined) => ({
      next: ({ data }: { data?: Post | null }) => void got?.push(Number(data?.newPost.id)),
      error: (error: unknown) => assert.fail(JSON.stringify(error)),
      complete: () => {},
    })
    const socket = client(service.socketUrl)
    socket.subscribe<Post>(request('100'), collectInto(ws))
    const events = createClient({ url: service.url, retryAttempts: 0 })
    events.subscribe<Post>(request('200'), collectInto(sse))
    await until(() => ws?.length === 200 && sse?.length === 100)
    commit(service, 10)
    await until(() => ws?.length === 210 && sse?.length === 110)
    assert.deepEqual([ws, sse], [numbers(101, 310), numbers(201, 310)])
    await socket.dispose()
    events.dispose()
  })
})

describe('an event stream', () => {
  it('has the id of each event, from which an EventSource resumes', async () => {
    const service = await open()
    commit(service, 20)
    const first = await post(service.url, request('5'), stream)
    assert.deepEqual(await idsIn(first, 15), numbers(6, 20))
    const second = await post(service.url, request('5'), { ...stream, 'Last-Event-ID': '18' })
    assert.deepEqual(await idsIn(second, 2), [19, 20])
  })

  it('with an invalid Last-Event-ID is a 400', async () => {
    const service = await open()
    const answer = await post(service.url, request('0'), { ...stream, 'Last-Event-ID': 'x' })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /Last-Event-ID/)
  })
})

describe('an id that cannot be resumed from', () => {
  it('is refused with RESYNC_REQUIRED, and nothing stays open', async () => {
    const service = await open()
    commit(service, 20)
    service.feed.pruned = 10
    for (const after of ['9', '21']) {
      const answer = await post(service.url, request(after), stream)
      assert.equal(answer.status, 410)
      assert.match(await answer.text(), /"code":"RESYNC_REQUIRED"/)
      const opened = await resumed(service, after)
      await until(() => opened.messages.length > 1)
      const { type, payload } = JSON.parse(opened.messages[1] ?? '')
      assert.deepEqual([type, payload[0].extensions.code], ['error', 'RESYNC_REQUIRED'])
      opened.socket.close()
      await opened.closed
    }
    assert.equal(metric(service, 'subscriptions'), 0)
    assert.equal(service.feed.listeners.size, 0)
  })
})

describe('a client that reads a replay slowly', () => {
  const big = 'x'.repeat(5_000)
  const count = 2_000

  it('gets everything over a WebSocket', async () => {
    const service = await open()
    commit(service, count, { big })
    const slow = await resumed(service, '0')
    await until(() => slow.messages.length > 0)
    slow.socket.pause()
    const fast = await resumed(service, '0')
    await until(() => idsOf(fast).length === count, 20_000)
    assert.equal(metric(service, 'slow_readers_total'), 0)
    assert.ok(idsOf(slow).length < count)
    slow.socket.resume()
    await until(() => idsOf(slow).length === count, 20_000)
    assert.deepEqual(idsOf(slow), numbers(1, count))
    commit(service, 1)
    await until(() => idsOf(slow).length === count + 1)
    for (const { socket } of [slow, fast]) socket.close()
  })

  it('gets everything over server-sent events', async () => {
    const service = await open()
    commit(service, count, { big })
    const answer = await post(service.url, request('0'), stream)
    const fast = await resumed(service, '0')
    await until(() => idsOf(fast).length === count, 20_000)
    assert.ok(metric(service, 'events_delivered_total') < 2 * count)
    assert.deepEqual(await idsIn(answer, count), numbers(1, count))
    assert.equal(metric(service, 'slow_readers_total'), 0)
    fast.socket.close()
  })
})
