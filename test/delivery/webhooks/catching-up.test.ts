/**
 * What no event may be lost or sent twice by: pauses, full queues, a sender that ends in the middle of an event, and reads that
 * a finished attempt has outdated. On SQLite only: the statements are those of other tests.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system } from '../../../src/base/principal.ts'
import { testSteps } from '../../../src/delivery/webhooks/requests.ts'
import { listShape } from '../../../src/engine/plan/system-plans.ts'
import { sqlite } from '../../engine/store/databases.ts'
import { delegating, type Fixture, type Received, within } from './fixture.ts'

const url = 'https://one.example/hook'
const titleOf = ({ event }: Received) => String((event['data'] as { title?: string } | null)?.title)
const titles = ({ received }: Fixture) => received.map(titleOf)

/** A webhook of an app that several users have granted access. Returns their ids. */
async function appWebhook({ client, webhook, owned, annId }: Fixture, userCount: number, position: number) {
  const app = await client.create('oauth_apps', {
    user_id: annId,
    name: 'App',
    client_id: 'app',
    redirect_uris: [],
  })
  const created = await Promise.all(
    Array.from({ length: userCount }, (_, n) =>
      client.create('users', { name: `User ${n}`, email: `user${n}@example.com` }),
    ),
  )
  owned.users = created.map(({ id }) => id).sort((a, b) => a - b)
  await webhook({ app_id: app.id, position })
}

test(
  'a paused webhook continues after the last event that became a delivery, not after the newest',
  within(sqlite, async fixture => {
    const { client, store, webhook, webhookRow, post, sender, until, endpoints } = fixture
    const id = await webhook()
    let readable = Number.MAX_SAFE_INTEGER
    endpoints.set(url, received => (titleOf(received) === 'gone' ? 410 : 200))
    sender({
      log: {
        ...delegating(store.changes),
        after: async (event, limit, maxBytes) =>
          (await store.changes.after(event, limit, maxBytes)).filter(change => change.event <= readable),
      },
    })
    await until(async () => (await webhookRow(id))['position'] === null, 'it has caught up')
    readable = (await store.changes.last()) + 1
    for (const title of ['gone', 'two', 'three']) await post(title)
    await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
    readable = Number.MAX_SAFE_INTEGER
    await client.update('webhooks', id, { paused_at: null })
    await until(() => titles(fixture).length === 3, 'the events since then are sent')
    assert.deepEqual(titles(fixture).toSorted(), ['gone', 'three', 'two'])
  }),
)

test(
  'no further attempt is made between a 410 and the pause, and its deliveries are sent afterwards',
  within(sqlite, async fixture => {
    const { client, run, webhook, webhookRow, post, sender, until, endpoints } = fixture
    const id = await webhook()
    const pausing = Promise.withResolvers<void>()
    let isHeld = false
    endpoints.set(url, received => (titleOf(received) === 'gone' ? 410 : 200))
    const transaction: typeof run.transaction = async program => {
      if (isHeld) await pausing.promise
      return run.transaction(program)
    }
    const sending = sender({ run: { ...run, transaction } })
    await until(async () => (await webhookRow(id))['position'] === null, 'it has caught up')
    // One attempt at a time, after a failure: the others wait.
    endpoints.set(url, received => (titleOf(received) === 'fails' ? 500 : 200))
    await post('fails')
    await until(() => sending.counts.retried === 1, 'one has failed')
    const answering = Promise.withResolvers<number>()
    endpoints.set(url, () => answering.promise)
    for (const title of ['gone', 'later']) await post(title)
    await until(() => sending.state.queued === 3 && sending.state.inFlight === 1, 'both wait behind it', 10)
    isHeld = true
    const [current] = titles(fixture).slice(-1)
    answering.resolve(410)
    await until(() => sending.counts.failed === 1, 'it is gone', 10)
    await fixture.clock.advance(20_000)
    assert.equal(titles(fixture).at(-1), current)
    isHeld = false
    pausing.resolve()
    await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
    endpoints.clear()
    await client.update('webhooks', id, { paused_at: null })
    await until(() => sending.counts.succeeded === 2, 'the others are sent', 1000)
  }),
)

test(
  'a webhook whose queue fills while it catches up gets the rest later',
  within(sqlite, async fixture => {
    const { client, run, post, sender, until, endpoints, received, webhookRow } = fixture
    const events = 150
    await Promise.all(Array.from({ length: events }, (_, n) => post(`post ${n}`)))
    await appWebhook(fixture, 2, 0)
    const [hook] = (await fixture.webhooks()).map(({ id }) => Number(id))
    assert.ok(hook !== undefined)
    await client.update('webhooks', hook, { enabled: false })
    endpoints.set(url, () => 500)
    const sending = sender()
    // A failed test makes it slow: then its queue is shorter than what is missing.
    await run.transaction({ principal: system, serial: undefined, steps: () => testSteps(hook) })
    await until(() => sending.counts.failed === 1, 'a test has failed')
    const answering = Promise.withResolvers<number>()
    endpoints.set(url, () => answering.promise)
    await client.update('webhooks', hook, { enabled: true })
    await until(() => sending.state.queued >= 200, 'its queue is full', 10)
    assert.ok(sending.state.queued < 2 * events, `${sending.state.queued} wait`)
    answering.resolve(200)
    await until(() => sending.counts.succeeded === 2 * events, 'all are sent', 1000)
    const sent = received.filter(({ event }) => event['type'] === 'post.created')
    const pairs = new Set(sent.map(({ event }) => `${event['id']} ${event['user_id']}`))
    assert.equal(pairs.size, 2 * events)
    await until(async () => (await webhookRow(hook))['position'] === null, 'it has caught up', 1000)
  }),
)

for (const isBehind of [true, false]) {
  const state = isBehind ? 'catches up' : 'is sent new events'
  test(
    `a sender that ends in the middle of an event while an app’s webhook ${state}: each user gets each event once`,
    within(sqlite, async fixture => {
      const { store, run, post, sender, until, deliveries, owned, webhooks, clock } = fixture
      const users = 250
      if (isBehind) for (const title of ['one', 'two']) await post(title)
      await appWebhook(fixture, users, isBehind ? 0 : await store.changes.last())
      let commits = Number.MAX_SAFE_INTEGER
      const broken = new Error('the process ends')
      const transaction: typeof run.transaction = async program => {
        if (commits-- <= 0) throw broken
        return run.transaction(program)
      }
      let elapsed = 0
      const faults: unknown[] = []
      const first = sender({
        run: { ...run, transaction },
        elapsed: () => elapsed,
        onFault: error => void faults.push(error),
      })
      if (isBehind) commits = 1
      else {
        await until(async () => (await webhooks())[0]?.['position'] === null, 'it has caught up')
        commits = 1
        for (const title of ['one', 'two']) await post(title)
      }
      await until(() => faults.includes(broken), 'the sender has ended', 10)
      const stored = (await deliveries()).length
      assert.ok(stored > 0 && stored < users, `${stored} of the first event are stored`)
      await first.stop()
      elapsed += 60_000
      const second = sender({ elapsed: () => elapsed })
      await until(() => second.state.isSending, 'another sends')
      await until(async () => (await deliveries()).length >= 2 * users, 'all deliveries exist')
      await clock.advance(1000)
      const rows = await deliveries()
      const pairs = new Set(rows.map(({ event_id, user_id }) => `${event_id} ${user_id}`))
      assert.deepEqual([rows.length, pairs.size], [2 * users, 2 * users])
      assert.deepEqual(new Set(rows.map(({ user_id }) => user_id)), new Set(owned.users))
      await until(() => fixture.received.length >= 2 * users, 'all are sent', 10)
      await until(async () => (await webhooks())[0]?.['position'] === null, 'it has caught up')
    }),
  )
}

test(
  'a delivery that succeeds while pending ones are read again is not sent twice',
  within(sqlite, async fixture => {
    const { store, run, webhook, post, sender, until, endpoints, received, deliveries } = fixture
    await webhook()
    const answering = Promise.withResolvers<number>()
    endpoints.set(url, () => answering.promise)
    let isBroken = false
    let reads = 0
    const list: typeof run.list = async (plan, principal) => {
      const answer = await run.list(plan, principal)
      if (reads !== 1 || plan.shape.collection !== 'webhook_deliveries') return answer
      reads++
      answering.resolve(200)
      await fixture.until(async () => (await deliveries())[0]?.status === 'succeeded', 'it has succeeded', 10)
      return answer
    }
    sender({
      run: { ...run, list },
      log: {
        ...delegating(store.changes),
        async after(event, limit, maxBytes) {
          if (isBroken) {
            isBroken = false
            reads = 1
            throw new Error('broken')
          }
          return store.changes.after(event, limit, maxBytes)
        },
      },
      onFault: () => undefined,
    })
    await post('one')
    await until(() => received.length === 1, 'it is being sent')
    isBroken = true
    await post('two')
    await until(() => reads === 2, 'pending deliveries are read again')
    await until(
      async () => (await deliveries()).every(({ status }) => status === 'succeeded'),
      'both are sent',
    )
    await fixture.clock.advance(2000)
    assert.deepEqual(titles(fixture), ['one', 'two'])
  }),
)

test(
  'each attempt is signed with its own time',
  within(sqlite, async fixture => {
    const { webhook, post, sender, until, endpoints, clock } = fixture
    await webhook()
    const times: [string | undefined, number][] = []
    endpoints.set(url, ({ headers }) => {
      times.push([headers['webhook-timestamp'], Math.floor(clock.now() / 1000)])
      return times.length < 4 ? 500 : 200
    })
    sender()
    await post()
    await until(() => times.length === 4, 'it is sent after three failures', 1000)
    for (const [signed, now] of times) assert.equal(Number(signed), now)
    assert.equal(new Set(times.map(([signed]) => signed)).size, 4)
  }),
)

test(
  'a webhook keeps about a thousand completed deliveries, however many it gets',
  within(sqlite, async fixture => {
    const { client, run, webhook, post, sender, until, clock } = fixture
    const id = await webhook()
    const at = new Date(clock.now()).toISOString()
    const completed = {
      webhook_id: id,
      type: 'post.created',
      message_id: 'm',
      status: 'succeeded',
      attempt: 1,
    }
    await Promise.all(
      Array.from({ length: 1200 }, () =>
        client.create('webhook_deliveries', { ...completed, completed_at: at }),
      ),
    )
    const sending = sender()
    await Promise.all(Array.from({ length: 200 }, (_, n) => post(`post ${n}`)))
    await until(() => sending.counts.succeeded === 200, 'all are sent')
    const count = async () => {
      const { text } = await run.list(
        { shape: listShape('webhook_deliveries', ['id']), args: [0, 5000] },
        system,
      )
      return JSON.parse(text ?? '[]').length
    }
    await until(async () => (await count()) <= 1000, 'the oldest are deleted', 1000)
    assert.equal(await count(), 1000)
    const newest = (await fixture.deliveries()).filter(({ event_id }) => event_id !== null)
    assert.equal(newest.length, 200, 'the newest are kept')
  }),
)

test(
  'without webhooks, no events are kept for them',
  within(sqlite, async fixture => {
    const { client, webhook, post, sender, until } = fixture
    const held: (number | null)[] = []
    const id = await webhook()
    const sending = sender({ hold: async event => void held.push(event) })
    await post()
    await until(() => sending.counts.succeeded === 1 && held.length > 0, 'it is sent')
    assert.equal(typeof held.at(-1), 'number')
    await client.remove('webhooks', id)
    await until(() => !sending.state.isSending, 'nothing is left to send')
    assert.equal(held.at(-1), null)
  }),
)

test(
  'a webhook that is paused while it catches up continues where it stopped',
  within(sqlite, async fixture => {
    const { client, run, post, sender, until, endpoints, webhook, webhookRow } = fixture
    const events = 250
    await Promise.all(Array.from({ length: events }, (_, n) => post(`post ${n}`)))
    const hook = await webhook({ position: 0, enabled: false })
    endpoints.set(url, () => 500)
    const sending = sender()
    // A failed test makes it slow: then its queue is shorter than what is missing.
    await run.transaction({ principal: system, serial: undefined, steps: () => testSteps(hook) })
    await until(() => sending.counts.failed === 1, 'a test has failed')
    const answering = Promise.withResolvers<number>()
    endpoints.set(url, () => answering.promise)
    await client.update('webhooks', hook, { enabled: true })
    await until(() => sending.state.queued >= 190, 'its queue is full', 10)
    answering.resolve(410)
    await until(async () => (await webhookRow(hook))['paused_at'] !== null, 'it is paused')
    const { position } = await webhookRow(hook)
    assert.ok(Number(position) < (await fixture.store.changes.last()), `its position is ${position}`)
    endpoints.clear()
    await client.update('webhooks', hook, { paused_at: null })
    await until(() => sending.counts.succeeded === events - 1, 'all others are sent', 1000)
    assert.equal(new Set(titles(fixture)).size, events + 1)
  }),
)

test(
  'a webhook that its owner disables gets the events since then once it is enabled again',
  within(sqlite, async fixture => {
    const { client, post, sender, until, webhook, webhookRow } = fixture
    const hook = await webhook()
    sender()
    await post('before')
    await until(() => titles(fixture).length === 1, 'it is sent')
    await client.update('webhooks', hook, { enabled: false })
    await until(async () => (await webhookRow(hook))['position'] !== null, 'its position is stored')
    for (const title of ['one', 'two']) await post(title)
    await fixture.clock.advance(3000)
    await client.update('webhooks', hook, { enabled: true })
    await until(() => titles(fixture).length === 3, 'the others are sent')
    assert.deepEqual(titles(fixture), ['before', 'one', 'two'])
  }),
)

test(
  'a delivery that the webhook no longer subscribes to is dropped, not sent',
  within(sqlite, async fixture => {
    const { client, post, sender, until, webhook, endpoints, deliveries } = fixture
    const hook = await webhook()
    endpoints.set(url, () => 500)
    sender()
    await post()
    await until(async () => (await deliveries())[0]?.attempt === 1, 'it has failed')
    await client.update('webhooks', hook, { types: ['post.deleted'] })
    const sent = titles(fixture).length
    await until(async () => (await deliveries())[0]?.status === 'dropped', 'it is dropped', 1000)
    assert.equal(titles(fixture).length, sent)
  }),
)

test(
  'the log is held before the first pending event of a paused webhook',
  within(sqlite, async fixture => {
    const { store, post, sender, until, webhook, webhookRow, endpoints, clock } = fixture
    const held: (number | null)[] = []
    const [one, two] = [await webhook(), await webhook({ url: 'https://two.example/hook' })]
    let isGone = false
    for (const hookUrl of [url, 'https://two.example/hook'])
      endpoints.set(hookUrl, () => {
        if (isGone) return 410
        return hookUrl === url ? 500 : 200
      })
    const first = sender({ hold: async event => void held.push(event) })
    for (const title of ['a', 'b']) await post(title)
    const lastPending = await store.changes.last()
    await until(() => first.counts.retried >= 2 && first.counts.succeeded === 2, 'both have failed at one')
    isGone = true
    await post('gone')
    const isPaused = async (id: number) => (await webhookRow(id))['paused_at'] !== null
    await until(async () => (await isPaused(one)) && (await isPaused(two)), 'both are paused', 1000)
    await webhook({ url: 'https://three.example/hook' })
    await post('later')
    await until(() => titles(fixture).includes('later'), 'a third gets later events')
    for (let times = 0; times < 3; times++) await clock.advance(10_000)
    await first.stop()
    held.length = 0
    sender({ hold: async event => void held.push(event) })
    await until(() => held.length > 0, 'the next sender holds events', 1000)
    const pending = (await fixture.deliveries()).filter(({ status }) => status === 'pending')
    const lowest = Math.min(...pending.map(({ event_id }) => Number(event_id)))
    assert.ok(lowest <= lastPending)
    assert.equal(held.at(-1), lowest - 1)
  }),
)

test(
  'the log is held at the position of a paused webhook without pending deliveries',
  within(sqlite, async fixture => {
    const { store, post, sender, until, webhook, webhookRow, endpoints, clock } = fixture
    const held: (number | null)[] = []
    const id = await webhook()
    await webhook({ url: 'https://two.example/hook' })
    endpoints.set(url, () => 410)
    sender({ hold: async event => void held.push(event) })
    await post('gone')
    const gone = await store.changes.last()
    await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
    for (const title of ['two', 'three']) await post(title)
    await until(() => titles(fixture).includes('three'), 'the other gets later events')
    for (let times = 0; times < 3; times++) await clock.advance(10_000)
    await until(() => held.length > 1, 'the log is held')
    assert.equal(held.at(-1), (await webhookRow(id))['position'])
    assert.equal(held.at(-1), gone)
  }),
)
