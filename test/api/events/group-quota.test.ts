/** The limit of distinct requests for each caller: every event is rendered once for each group of subscribers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Hub, type Resume } from '../../../src/api/events/hub.ts'
import { GroupQuota } from '../../../src/api/events/quota.ts'
import type { SubscriptionRequest } from '../../../src/api/events/subscriber.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, app, type Principal, user } from '../../../src/base/principal.ts'
import { until } from '../transports/service.ts'
import { type StubFeed, stubFeed } from './stub.ts'

const ann = user(1, 'user', 'all')
const ben = user(2, 'user', 'all')

const refusal = {
  code: 'RATE_LIMITED',
  message:
    'You have 2 open subscriptions, event streams and long polls with different requests; the maximum is 2.',
}

function open(feed: StubFeed = stubFeed()) {
  const rendered: string[] = []
  const onFault = (error: unknown) => assert.fail(String(error))
  const hub = new Hub({ feed, maxGroups: 2, beforeDelivery: () => undefined, onFault })
  const requestOf = (key: string): SubscriptionRequest => ({
    key,
    rendererFor({ access: { role } }) {
      if (role === 'hidden') throw new ApiError('FORBIDDEN')
      return {
        topics: [{ collection: 'posts', kind: 'created' }],
        render() {
          rendered.push(key)
          return key
        },
      }
    },
  })
  const subscribe = async (key: string, principal: Principal = ann, resume: Resume = {}) => {
    const received: number[] = []
    const ends: unknown[] = []
    const sink = {
      next: (_reply: unknown, event: number) => received.push(event),
      end: (error: unknown) => ends.push(error),
    }
    return { received, ends, ...(await hub.subscribe(requestOf(key), principal, sink, resume)) }
  }
  return { feed, hub, rendered, subscribe }
}

test('a further distinct request of the caller is refused, and costs nothing', async () => {
  const { feed, hub, rendered, subscribe } = open()
  await subscribe('a')
  const last = await subscribe('b')
  await assert.rejects(subscribe('c'), refusal)
  assert.equal(hub.size, 2)
  feed.commit({})
  await until(() => last.received.length === 1)
  assert.deepEqual(rendered, ['a', 'b'])
  hub.close()
})

test('requests that arrive together are counted one by one', async () => {
  const { hub, subscribe } = open()
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map(key => subscribe(key)))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
  assert.equal(hub.size, 2)
  hub.close()
})

test('a request that the caller already has open is accepted at the limit', async () => {
  const { feed, hub, rendered, subscribe } = open()
  await subscribe('a')
  await subscribe('b')
  const { received } = await subscribe('b')
  feed.commit({})
  await until(() => received.length === 1)
  assert.deepEqual(rendered, ['a', 'b'])
  hub.close()
})

test('the same request with other rights is a distinct one', async () => {
  const { hub, subscribe } = open()
  await subscribe('a')
  await subscribe('a', user(1, 'user', new Set(['read:posts'])))
  await assert.rejects(subscribe('a', user(1, 'user', new Set(['read:users']))), refusal)
  hub.close()
})

test('users, apps and addresses are counted separately, although some of them share groups', async () => {
  const { hub, subscribe } = open()
  const callers = [
    ann,
    ben,
    user(1, 'user', 'all', 'user:1 app:7'),
    app('one', new Set()),
    app('two', new Set()),
    anonymous('192.0.2.1'),
    anonymous('192.0.2.2'),
  ]
  for (const caller of callers) {
    await subscribe('a', caller)
    await subscribe('b', caller)
  }
  // Others have it open, which does not make it the caller's own.
  await subscribe('c', user(3, 'user', 'all'))
  for (const caller of callers) await assert.rejects(subscribe('c', caller), refusal)
  hub.close()
})

test('the count falls when the last subscriber with the request ends, and only then', async () => {
  const { hub, subscribe } = open()
  await subscribe('a')
  const first = await subscribe('b')
  const last = await subscribe('b')
  first.close()
  first.close()
  await assert.rejects(subscribe('c'), refusal)
  last.close()
  await subscribe('c')
  await assert.rejects(subscribe('b'), refusal)
  hub.close()
})

test('a refused or forbidden request counts no further', async () => {
  const { hub, subscribe } = open()
  const hidden = user(1, 'hidden', 'all')
  for (const key of ['a', 'b', 'c']) await assert.rejects(subscribe(key, hidden), { code: 'FORBIDDEN' })
  const first = await subscribe('a')
  await subscribe('b')
  await assert.rejects(subscribe('c'), refusal)
  first.close()
  await subscribe('c')
  hub.close()
})

test('a subscriber that resumes counts once while it replays and once it is live', async () => {
  const { feed, hub, subscribe } = open()
  const live = await subscribe('a')
  feed.commit({}, {}, {})
  await until(() => live.received.length === 3)
  const resumed = await subscribe('a', ann, { after: 0 })
  await subscribe('b', ann, { after: 0 })
  await assert.rejects(subscribe('c', ann, { after: 0 }), refusal)
  await until(() => resumed.received.length === 3)
  feed.commit({})
  await until(() => resumed.received.length === 4)
  await assert.rejects(subscribe('c'), refusal)
  live.close()
  await assert.rejects(subscribe('c'), refusal)
  resumed.close()
  await subscribe('c')
  hub.close()
})

test('a subscription that resumes before the kept log does not count', async () => {
  const { feed, hub, subscribe } = open()
  feed.pruned = 5
  for (const key of ['a', 'b', 'c']) {
    await assert.rejects(subscribe(key, ann, { after: 1 }), { code: 'RESYNC_REQUIRED' })
  }
  await subscribe('a')
  await subscribe('b')
  hub.close()
})

test('subscriptions that are open continue when the rights of their caller change', async () => {
  const { hub, subscribe } = open()
  const all = [await subscribe('a'), await subscribe('a'), await subscribe('b')]
  for (const { changePrincipal } of all) changePrincipal(user(1, 'editor', 'all'))
  assert.deepEqual(
    all.flatMap(({ ends }) => ends),
    [],
  )
  await assert.rejects(subscribe('c', user(1, 'editor', 'all')), refusal)
  for (const { close } of all) close()
  await subscribe('c')
  await subscribe('d')
  hub.close()
})

test('a subscription that ends because its rights no longer suffice frees its place', async () => {
  const { hub, subscribe } = open()
  const first = await subscribe('a')
  await subscribe('b')
  first.changePrincipal(user(1, 'hidden', 'all'))
  assert.equal(first.ends.length, 1)
  await subscribe('c')
  hub.close()
})

test('releasing more often than taking does not raise the limit', () => {
  const quota = new GroupQuota(2)
  for (let round = 0; round < 3; round++) quota.release('ann', 'a')
  quota.require('ann', 'a')
  quota.take('ann', 'a')
  quota.release('ann', 'b')
  quota.take('ann', 'b')
  assert.throws(() => quota.require('ann', 'c'), refusal)
})
