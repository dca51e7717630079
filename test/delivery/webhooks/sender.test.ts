/** The sender on every database: enqueueing, sending, retrying, pausing and taking over. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { databaseFault } from '../../../src/base/errors.ts'
import { OutgoingError } from '../../../src/delivery/outgoing/errors.ts'
import type { SenderParts } from '../../../src/delivery/webhooks/sender.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, secret, within } from './fixture.ts'

const dayMs = 86_400_000

const titles = ({ received }: Fixture) =>
  received.map(({ event }) => (event['data'] as { title?: string } | null)?.title)

const statuses = async ({ deliveries }: Fixture) => (await deliveries()).map(({ status }) => status)

/** The parts of a sender in a process of its own. Once `isOver`, nothing leaves it. */
function lifeOf({ run, store, clock }: Fixture) {
  // The outcome of its first attempt cannot be recorded.
  const life = { isOver: false, refusedWrites: 1 }
  const mortal = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...values: unknown[]) =>
          life.isOver || (name === 'write' && life.refusedWrites-- > 0)
            ? Promise.reject(databaseFault(new Error('not connected')))
            : member.apply(target, values)
      },
    })
  const parts: Partial<SenderParts> = {
    run: mortal(run),
    records: mortal(store.records),
    log: mortal(store.changes),
    elapsed: clock.now,
    clock: { now: clock.now, after: (delay, call) => clock.after(delay, () => void (life.isOver || call())) },
    onFault: () => undefined,
  }
  return { life, parts }
}

for (const kind of databaseKinds) {
  describe(`the sender of webhooks on ${kind.name}`, () => {
    it(
      'sends each event once, signed, and records the response',
      within(kind, async fixture => {
        const { webhook, post, sender, received, deliveries, until, endpoints } = fixture
        await post('before')
        const id = await webhook()
        endpoints.set('https://one.example/hook', () => ({ status: 202, body: 'thank\u0000 you' }))
        sender()
        const first = await post('first')
        await post('second')
        await until(async () => (await statuses(fixture)).join() === 'succeeded,succeeded', 'both are sent')
        assert.deepEqual(titles(fixture).sort(), ['first', 'second'])
        const [message] = received
        assert.ok(message)
        assert.deepEqual(new Webhook(secret).verify(message.body, { ...message.headers }), message.event)
        assert.equal(message.headers['content-type'], 'application/json')
        assert.equal(message.event['type'], 'post.created')
        const [row] = await deliveries()
        assert.ok(row)
        assert.equal(row.webhook_id, id)
        assert.equal(row.item_id, first)
        assert.equal(row.attempt, 1)
        assert.equal(row.response_status, 202)
        assert.equal(row.response_excerpt, 'thank you')
        assert.equal(row.message_id, message.headers['webhook-id'])
      }),
    )

    it(
      'keeps the order of an item despite failures, while other items continue',
      within(kind, async fixture => {
        const { client, webhook, post, sender, until, endpoints } = fixture
        await webhook()
        let failures = 0
        endpoints.set('https://one.example/hook', ({ event }) => {
          const { title } = event['data'] as { title: string }
          return title === 'one' && failures++ < 3 ? 500 : 200
        })
        sender()
        const item = await post('one')
        await client.update('posts', item, { title: 'two' })
        await client.update('posts', item, { title: 'three' })
        await post('other')
        const all = Array.from({ length: 4 }, () => 'succeeded').join()
        await until(async () => (await statuses(fixture)).join() === all, 'all are sent', 1000)
        const order = titles(fixture)
        assert.deepEqual(
          order.filter(title => title !== 'other'),
          ['one', 'one', 'one', 'one', 'two', 'three'],
        )
        assert.ok(order.indexOf('other') < order.lastIndexOf('one'))
        const ofFirst = fixture.received.filter(
          ({ event }) => (event['data'] as { title: string }).title === 'one',
        )
        assert.equal(new Set(ofFirst.map(({ headers }) => headers['webhook-id'])).size, 1)
      }),
    )

    it(
      'reads changed webhooks although the clock was set back',
      within(kind, async ({ sender, webhook, post, received, clock, client, until, webhookRow }) => {
        const id = await webhook()
        sender()
        await post('first')
        await until(() => received.length === 1, 'the first event arrives')
        clock.setBack(86_400_000)
        await client.update('webhooks', id, { enabled: false })
        const secondId = await webhook({ url: 'https://two.example/hook' })
        await until(async () => (await webhookRow(secondId))['position'] === null, 'both are read')
        await post('second')
        await until(() => received.length === 2, 'the second event arrives')
        assert.deepEqual(
          received.map(({ url }) => url),
          ['https://one.example/hook', 'https://two.example/hook'],
        )
      }),
    )

    it(
      'pauses a webhook immediately on 410, keeps later events, and resumes where it stopped',
      within(kind, async fixture => {
        const { client, webhook, post, sender, until, endpoints, webhookRow, owned } = fixture
        const id = await webhook()
        let isGone = true
        endpoints.set('https://one.example/hook', () => (isGone ? 410 : 200))
        sender()
        await post('gone')
        await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
        assert.match(String((await webhookRow(id))['pause_reason']), /410/)
        assert.deepEqual(owned.notified, [`${id} gone`])
        for (const title of ['two', 'three']) await post(title)
        await fixture.clock.advance(5000)
        assert.deepEqual(titles(fixture), ['gone'])
        isGone = false
        await client.update('webhooks', id, { paused_at: null, pause_reason: null })
        await until(
          async () => (await webhookRow(id))['position'] === null,
          'its position is that of the sender',
        )
        await until(() => titles(fixture).length === 3, 'the other events are sent')
        assert.deepEqual(titles(fixture), ['gone', 'two', 'three'])
      }),
    )

    it(
      'retries for days, and pauses a webhook after a day without a success',
      within(kind, async fixture => {
        const { webhook, post, sender, until, endpoints, webhookRow, clock, deliveries, owned } = fixture
        const id = await webhook()
        endpoints.set('https://one.example/hook', () => 503)
        sender()
        await post()
        const startedAt = clock.now()
        await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused', 600_000)
        assert.ok(clock.now() - startedAt >= dayMs)
        const [row] = await deliveries()
        assert.equal(row?.status, 'pending')
        assert.deepEqual(owned.notified, [`${id} failing`])
        assert.ok(Number(row?.attempt) > 7)
      }),
    )

    it(
      'gives a delivery up after three days while others succeed, and continues with the next',
      within(kind, async fixture => {
        const { client, webhook, post, sender, until, endpoints, clock, deliveries } = fixture
        await webhook()
        endpoints.set('https://one.example/hook', ({ event }) =>
          (event['data'] as { title: string }).title === 'bad' ? 500 : 200,
        )
        sender()
        const item = await post('bad')
        await client.update('posts', item, { title: 'good' })
        const startedAt = clock.now()
        let days = 0
        await until(
          async () => {
            if (clock.now() - startedAt > (days * dayMs) / 2) {
              days++
              await post(`day ${days}`)
            }
            return (await deliveries())[0]?.status === 'failed'
          },
          'the delivery is given up',
          3_600_000,
        )
        assert.ok(clock.now() - startedAt > 2 * dayMs)
        await until(() => titles(fixture).includes('good'), 'the next event is sent')
        assert.equal((await deliveries())[0]?.attempt, 13)
      }),
    )

    it(
      'does not count a lack of descriptors of its own machine as a failure of the endpoint',
      within(kind, async fixture => {
        const { webhook, post, sender, until, endpoints, deliveries, received, faults, webhookRow } = fixture
        const id = await webhook()
        const cause = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' })
        const refusal = new OutgoingError('connection_failed', 'one.example cannot be reached.', { cause })
        endpoints.set('https://one.example/hook', () => (received.length > 3 ? 200 : refusal))
        sender()
        await post()
        await until(async () => (await statuses(fixture)).join() === 'succeeded', 'it is sent')
        assert.equal((await deliveries())[0]?.attempt, 1)
        assert.equal((await webhookRow(id))['failing_since'], null)
        assert.deepEqual(faults.splice(0), [refusal, refusal, refusal])
      }),
    )

    it(
      'makes every attempt although each process that sends is killed two seconds later, earlier than a retry is due',
      within(kind, async fixture => {
        const { webhook, post, sender, until, endpoints, deliveries, clock } = fixture
        await webhook()
        let lives = 0
        // At first, attempts fail.
        endpoints.set('https://one.example/hook', () => (lives < 8 ? 500 : 200))
        for (const title of ['one', 'two', 'three']) await post(title)
        const isDone = async () => (await statuses(fixture)).join() === 'succeeded,succeeded,succeeded'
        while (!(await isDone())) {
          const { life, parts } = lifeOf(fixture)
          const process = sender(parts)
          await until(() => process.state.isSending, 'the next process sends', 500)
          const end = clock.now() + 2000
          await until(() => clock.now() >= end, 'two seconds have passed', 200)
          life.isOver = true
          assert.ok(++lives < 60, 'no progress')
        }
        // How many failed before depends on how much of a life the database takes.
        const attempts = (await deliveries()).map(({ attempt }) => Number(attempt))
        assert.ok(
          attempts.every(attempt => attempt >= 2),
          `attempts: ${attempts.join(', ')}`,
        )
      }),
    )

    it(
      'sends what the owner may read at the time of the attempt, and nothing after the owner loses access',
      within(kind, async fixture => {
        const { webhook, post, sender, until, endpoints, deliveries, owned, annId } = fixture
        await webhook()
        endpoints.set('https://one.example/hook', () => 500)
        sender()
        await post()
        await until(async () => (await deliveries())[0]?.attempt === 1, 'the first attempt has failed')
        owned.ended.add(annId)
        const before = fixture.received.length
        await until(async () => (await deliveries())[0]?.status === 'dropped', 'it is dropped')
        assert.equal(fixture.received.length, before)
        await post('not seen')
        await fixture.clock.advance(5000)
        assert.equal((await deliveries()).length, 1)
      }),
    )

    it(
      'sends an app’s webhook once for each user',
      within(kind, async fixture => {
        const { client, webhook, post, sender, until, deliveries, owned, annId } = fixture
        const ben = await client.create('users', { name: 'Ben', email: 'ben@example.com' })
        const app = await client.create('oauth_apps', {
          user_id: annId,
          name: 'App',
          client_id: 'app',
          redirect_uris: [],
        })
        owned.users = [annId, ben.id]
        await webhook({ app_id: app.id })
        sender()
        await post()
        await until(async () => (await statuses(fixture)).join() === 'succeeded,succeeded', 'both are sent')
        const users = fixture.received.map(({ event }) => event['user_id'])
        assert.deepEqual(users.sort(), [annId, ben.id])
        const ids = (await deliveries()).map(row => row.message_id)
        assert.equal(new Set(ids).size, 2)
      }),
    )

    it(
      'signs with both secrets during a rotation',
      within(kind, async fixture => {
        const { webhook, post, sender, until, owned, received } = fixture
        const next = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
        await webhook()
        sender()
        owned.secrets.unshift(next)
        await post()
        await until(() => received.length === 1, 'it is sent')
        const [message] = received
        assert.ok(message)
        for (const current of [secret, next])
          new Webhook(current).verify(message.body, { ...message.headers })
      }),
    )

    it(
      'sends enqueued events and later ones after another sender takes over',
      within(kind, async fixture => {
        const { webhook, post, sender, until, endpoints, received } = fixture
        await webhook()
        endpoints.set('https://one.example/hook', () => new Promise(() => undefined))
        const frozen = { isFrozen: false }
        const { clock } = fixture
        sender({
          elapsed: clock.now,
          clock: {
            now: clock.now,
            after: (delay, run) => clock.after(delay, () => void (frozen.isFrozen || run())),
          },
        })
        await post('one')
        await until(() => received.length === 1, 'the first sender has sent a delivery')
        frozen.isFrozen = true
        await post('two')
        endpoints.clear()
        const other = sender({ elapsed: clock.now })
        await until(async () => (await statuses(fixture)).join() === 'succeeded,succeeded', 'the other sends')
        assert.ok(other.state.isSending)
        const ids = new Map(received.map(({ event, headers }) => [event['id'], headers['webhook-id']]))
        for (const { event, headers } of received) assert.equal(headers['webhook-id'], ids.get(event['id']))
        assert.equal((await fixture.deliveries()).length, 2)
        frozen.isFrozen = false
      }),
    )
  })
}
