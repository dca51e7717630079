/** Which delivery is attempted when: order within an item, turns of webhooks and hosts, limits, retries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Scheduler, type Verdict } from '../../../src/delivery/consumer/scheduler.ts'
import type { Delivery } from '../../../src/delivery/webhooks/delivery.ts'
import { fakeClock, settled } from './clock.ts'

const done: Verdict<Delivery> = { succeeded: true, retry: undefined }

function fixture(limits = {}) {
  const clock = fakeClock()
  /** Attempts in progress, by the id of the delivery. */
  const open = new Map<number, (verdict: Verdict<Delivery>) => void>()
  const begun: number[] = []
  const faults: unknown[] = []
  const deliveries = new Map<number, Delivery>()
  const scheduler = new Scheduler({
    clock,
    limits,
    targetOf: ({ webhookId }: Delivery) => webhookId,
    onFault: error => faults.push(error),
    attempt({ id }) {
      begun.push(id)
      return new Promise(resolve => open.set(id, resolve))
    },
  })
  let ids = 0
  const add = (parts: Partial<Delivery> & { readonly host?: string } = {}): number => {
    const { host = `host${parts.webhookId ?? 1}`, ...rest } = parts
    const id = rest.id ?? ++ids
    const delivery: Delivery = {
      id,
      webhookId: 1,
      userId: null,
      messageId: `msg_${id}`,
      event: id,
      type: 'post.created',
      itemKey: `posts/${id}`,
      attempts: 0,
      dueAt: clock.now(),
      createdAt: '2026-01-01T00:00:00.000Z',
      ...rest,
    }
    deliveries.set(id, delivery)
    scheduler.add(delivery, host)
    return id
  }
  const end = async (id: number, verdict: Verdict<Delivery> = done) => {
    const resolve = open.get(id)
    assert.ok(resolve, `delivery ${id} has no attempt in progress`)
    open.delete(id)
    resolve(verdict)
    await settled()
  }
  const retry = (id: number, delayMs: number): Verdict<Delivery> => {
    const delivery = deliveries.get(id)
    assert.ok(delivery)
    return { succeeded: false, retry: { ...delivery, dueAt: clock.now() + delayMs } }
  }
  return { clock, scheduler, add, end, retry, open, begun, faults }
}

test('deliveries of one item keep their order; those of other items continue', async () => {
  const { clock, add, end, retry, begun } = fixture()
  const [first, second, other] = [add({ itemKey: 'a' }), add({ itemKey: 'a' }), add({ itemKey: 'b' })]
  assert.deepEqual(begun, [first, other])
  await end(first, retry(first, 10_000))
  await end(other)
  const third = add({ itemKey: 'b' })
  assert.deepEqual(begun, [first, other, third])
  await end(third)
  await clock.advance(9999)
  assert.deepEqual(begun, [first, other, third])
  await clock.advance(1)
  assert.deepEqual(begun, [first, other, third, first])
  await end(first)
  assert.deepEqual(begun, [first, other, third, first, second])
})

test('a repeated delivery of an earlier event precedes waiting ones of its item, but does not interrupt an attempt', async () => {
  const { add, end, begun } = fixture()
  add({ id: 7, itemKey: 'a', event: 70 })
  add({ id: 8, itemKey: 'a', event: 80 })
  add({ id: 5, itemKey: 'a', event: 50 })
  await end(7)
  await end(5)
  assert.deepEqual(begun, [7, 5, 8])
})

test('a delivery that is added twice is attempted once', async () => {
  const { scheduler, add, end, begun } = fixture()
  add({ id: 1 })
  add({ id: 1 })
  assert.equal(scheduler.size, 1)
  await end(1)
  assert.deepEqual([begun, scheduler.size], [[1], 0])
})

test('adding a waiting delivery again attempts it immediately', async () => {
  const { clock, scheduler, add, end, retry, begun } = fixture()
  const id = add()
  await end(id, retry(id, 100_000))
  assert.deepEqual(begun, [id])
  add({ id })
  assert.deepEqual([begun, scheduler.size], [[id, id], 1])
  await end(id)
  await clock.advance(100_000)
  assert.deepEqual(begun, [id, id])
})

test('webhooks of one host take turns within the limit of the host', async () => {
  const { add, end, begun } = fixture({ maxPerHost: 2, maxPerTarget: 4 })
  for (const id of [11, 12, 13]) add({ id, webhookId: 1, host: 'one' })
  for (const id of [21, 22, 23]) add({ id, webhookId: 2, host: 'one' })
  assert.deepEqual(begun, [11, 12])
  for (const id of [11, 12]) await end(id)
  assert.equal(begun.length, 4)
  // The second webhook was added later, and has had a turn by now.
  assert.ok(begun.some(id => id > 20))
  for (const id of begun.slice(2)) await end(id)
  for (const id of begun.slice(4)) await end(id)
  assert.deepEqual([...begun].sort(), [11, 12, 13, 21, 22, 23])
})

test('endpoints that never respond delay no other webhooks', async () => {
  const { clock, scheduler, add, end, begun } = fixture({ maxInFlight: 4 })
  for (let webhookId = 1; webhookId <= 20; webhookId++) {
    for (let times = 0; times < 3; times++) add({ webhookId })
  }
  // All slots hang. A moment later their webhooks count as slow, and others have their turn.
  await clock.advance(2000)
  for (let rounds = 0; rounds < 20; rounds++) await clock.advance(2000)
  const before = begun.length
  const fast = add({ webhookId: 99 })
  assert.deepEqual(begun.slice(before), [fast])
  await end(fast)
  const next = add({ webhookId: 99 })
  assert.equal(begun.at(-1), next)
  // Slow webhooks wait for each other: most of their 60 deliveries have not begun.
  assert.ok(scheduler.inFlight < 30, String(scheduler.inFlight))
})

test('a failing webhook has one attempt at a time, and as many as others after a success', async () => {
  const { clock, add, end, retry, open } = fixture()
  const failing = add()
  await end(failing, retry(failing, 60_000))
  for (let times = 0; times < 5; times++) add()
  assert.equal(open.size, 1)
  const [probe] = open.keys()
  assert.ok(probe)
  await end(probe)
  assert.equal(open.size, 4)
  await clock.advance(60_000)
  assert.ok(!open.has(failing))
})

test('a webhook that sent Retry-After is not called before that time', async () => {
  const { clock, add, end, begun } = fixture()
  const first = add()
  await end(first, { succeeded: false, retry: undefined, holdUntil: clock.now() + 60_000 })
  const second = add()
  await clock.advance(59_999)
  assert.deepEqual(begun, [first])
  await clock.advance(1)
  assert.deepEqual(begun, [first, second])
})

test('an attempt whose result cannot be recorded is repeated soon, and then less often', async () => {
  const clock = fakeClock()
  const startedAt = clock.now()
  const faults: unknown[] = []
  const attempts: number[] = []
  const scheduler = new Scheduler({
    clock,
    targetOf: ({ webhookId }: Delivery) => webhookId,
    onFault: error => faults.push(error),
    attempt: async () => {
      attempts.push(clock.now() - startedAt)
      if (attempts.length < 8) throw new Error('the database is unavailable')
      return done
    },
  })
  const delivery = { id: 1, webhookId: 1, userId: null, messageId: 'msg_1', event: 1, type: 'post.created' }
  const rest = { itemKey: 'a', attempts: 0, dueAt: 0, createdAt: '2026-01-01T00:00:00.000Z' }
  scheduler.add({ ...delivery, ...rest }, 'host')
  await settled()
  await clock.advance(100_000)
  assert.deepEqual(attempts, [0, 200, 600, 1400, 3000, 6200, 11_200, 16_200])
  assert.deepEqual([faults.length, scheduler.size], [7, 0])
})

test('removing a webhook drops its waiting deliveries, and an attempt in progress is not repeated', async () => {
  const { clock, scheduler, add, end, retry, begun } = fixture({ maxPerTarget: 1 })
  const first = add()
  add()
  scheduler.remove(1)
  assert.equal(scheduler.size, 0)
  await end(first, retry(first, 1000))
  await clock.advance(100_000)
  assert.deepEqual([begun, scheduler.size], [[first], 0])
  const other = add({ webhookId: 2 })
  scheduler.remove(2)
  await end(other)
  assert.equal(scheduler.size, 0)
})

test('stopping starts no attempt, and waits for those in progress', async () => {
  const { scheduler, add, end, begun } = fixture({ maxInFlight: 1 })
  const first = add()
  add()
  let isStopped = false
  const stopped = scheduler.stop().then(() => {
    isStopped = true
  })
  add()
  await settled()
  assert.equal(isStopped, false)
  await end(first)
  await stopped
  assert.deepEqual(begun, [first])
})

test('an item continues once the outcome of its last delivery is stored, others do not wait for that', async () => {
  const { scheduler, add, end, begun } = fixture({ maxInFlight: 1 })
  const first = add({ itemKey: 'a' })
  const next = add({ itemKey: 'a' })
  const other = add({ itemKey: 'b' })
  const storing = Promise.withResolvers<void>()
  await end(first, { ...done, stored: storing.promise })
  assert.deepEqual([begun, scheduler.inFlight], [[first, other], 2])
  await end(other)
  assert.deepEqual([begun, scheduler.inFlight], [[first, other], 1])
  storing.resolve()
  await settled()
  assert.deepEqual(begun, [first, other, next])
  await end(next)
  assert.deepEqual([scheduler.inFlight, scheduler.size], [0, 0])
})

test('the scheduler knows the lowest event that is not yet sent', async () => {
  const { scheduler, add, end } = fixture()
  assert.equal(scheduler.lowestEvent(), undefined)
  add({ id: 1, event: 8, itemKey: 'a' })
  add({ id: 2, event: 5, itemKey: 'b', webhookId: 2 })
  add({ id: 3, event: null, itemKey: 'c' })
  assert.equal(scheduler.lowestEvent(), 5)
  await end(2)
  assert.equal(scheduler.lowestEvent(), 8)
})
