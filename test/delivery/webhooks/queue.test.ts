/** The queue: limits, catching up, requests of owners, retention, and the events of a pause. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Principal, system, user } from '../../../src/base/principal.ts'
import { newDelivery } from '../../../src/delivery/webhooks/plans.ts'
import { redeliverySteps, testSteps } from '../../../src/delivery/webhooks/requests.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { listShape, readAll } from '../../../src/engine/plan/system-plans.ts'
import type { ProgramSteps } from '../../../src/engine/plan/transaction.ts'
import type { EventLog } from '../../../src/engine/store/store.ts'
import { plainDatabaseKinds } from '../../engine/store/databases.ts'
import { delegating, type Fixture, within } from './fixture.ts'

const statuses = async ({ deliveries }: Fixture) => (await deliveries()).map(({ status }) => status)
const firstUrl = 'https://one.example/hook'
const two = 'https://two.example/hook'

const eventsAt = ({ received }: Fixture, url: string) =>
  received.filter(message => message.url === url).map(({ event }) => Number(event['id']))

function commit<T>(run: Run, steps: () => ProgramSteps<T>): Promise<T> {
  return run.transaction({ principal: system, serial: undefined, steps })
}

for (const databaseKind of plainDatabaseKinds) {
  describe(`the queue of webhooks on ${databaseKind.name}`, () => {
    it(
      'is bounded for a failing webhook, which catches up later without delaying another one',
      within(databaseKind, async fixture => {
        const { webhook, post, sender, until, endpoints, deliveries, client, webhookRow } = fixture
        const failing = await webhook()
        const good = await webhook({ url: two })
        let fails = true
        endpoints.set(firstUrl, () => (fails ? 500 : 200))
        sender()
        await post('first')
        await until(async () => (await deliveries()).some(({ attempt }) => attempt > 0), 'it has failed')
        const texts = Array.from({ length: 260 }, (_, index) => `post ${index}`)
        for (const text of texts) await post(text)
        await until(
          () => eventsAt(fixture, two).length === 261,
          'the working webhook has received all events',
        )
        const waiting = (await deliveries()).filter(({ webhook_id }) => webhook_id === failing)
        assert.ok(waiting.length <= 200, `${waiting.length} wait`)
        assert.notEqual((await webhookRow(failing))['position'], null)
        assert.equal((await webhookRow(good))['position'], null)
        fails = false
        await until(
          async () => new Set(eventsAt(fixture, firstUrl)).size === 261,
          'the failing webhook has caught up',
          60_000,
        )
        await until(
          async () => (await webhookRow(failing))['position'] === null,
          'its position is that of the sender',
          1000,
        )
        const ids = (await deliveries()).filter(({ webhook_id }) => webhook_id === failing)
        assert.equal(new Set(ids.map(({ event_id }) => event_id)).size, ids.length)
        assert.ok(client)
      }),
    )

    it(
      'sends a test immediately, even to a disabled webhook, and only once',
      within(databaseKind, async fixture => {
        const { run, webhook, sender, until, endpoints, received, deliveries, client } = fixture
        await webhook({ url: two })
        const id = await webhook({ enabled: false })
        endpoints.set(firstUrl, () => 500)
        sender()
        const delivery = await commit(run, () => testSteps(id))
        await until(async () => (await statuses(fixture)).join() === 'failed', 'it is recorded')
        assert.equal((await deliveries())[0]?.id, delivery)
        assert.deepEqual(
          received.map(({ event }) => [event['type'], event['data']]),
          [['webhook.test', { webhook_id: id }]],
        )
        await assert.rejects(
          commit(run, () => testSteps(999)),
          { code: 'VALIDATION_FAILED' },
        )
        assert.ok(client)
      }),
    )

    it(
      'repeats a delivery with the same message id',
      within(databaseKind, async fixture => {
        const { run, webhook, post, sender, until, received, deliveries } = fixture
        const id = await webhook()
        const other = await webhook({ url: two, types: ['post.deleted'] })
        sender()
        await post()
        await until(async () => (await statuses(fixture)).join() === 'succeeded', 'it is sent')
        const [row] = await deliveries()
        assert.ok(row)
        await assert.rejects(
          commit(run, () => redeliverySteps(other, row.id)),
          { code: 'NOT_FOUND' },
        )
        await commit(run, () => redeliverySteps(id, row.id))
        await until(() => received.length === 2, 'it is sent again')
        const [before, after] = received.map(({ headers }) => headers['webhook-id'])
        assert.equal(before, after)
        await until(async () => (await statuses(fixture)).join() === 'succeeded', 'it is recorded')
      }),
    )

    it(
      'logs a pause as an event of its own type, and none of the sender’s other writes',
      within(databaseKind, async fixture => {
        const { store, webhook, post, sender, until, endpoints, webhookRow } = fixture
        const id = await webhook()
        await webhook({ url: two, types: ['webhook.paused'], collections: null })
        endpoints.set(firstUrl, () => 410)
        const from = await store.changes.last()
        sender()
        await post()
        await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
        await until(() => eventsAt(fixture, two).length === 1, 'the owner’s other webhook receives the pause')
        const [pause] = fixture.received.filter(({ url }) => url === two)
        assert.equal(pause?.event['type'], 'webhook.paused')
        assert.equal(pause?.event['item_id'], id)
        const logged = await store.changes.after(from, 100)
        assert.deepEqual(
          logged.map(({ collection, kind, type }) => [collection, kind, type]),
          [
            ['posts', 'created', null],
            ['webhooks', 'updated', 'webhook.paused'],
          ],
        )
      }),
    )

    it(
      'deletes deliveries completed a month ago, and keeps pending ones',
      within(databaseKind, async fixture => {
        const { webhook, post, sender, until, endpoints, deliveries, clock } = fixture
        await webhook()
        let fails = false
        endpoints.set(firstUrl, () => (fails ? 500 : 200))
        sender()
        await post()
        await until(async () => (await statuses(fixture)).join() === 'succeeded', 'it is sent')
        fails = true
        await post()
        await until(async () => (await deliveries())[1]?.attempt === 1, 'another has failed')
        const before = (await deliveries())[1]?.id
        await clock.jump(31 * 86_400_000)
        await until(async () => (await deliveries())[0]?.id === before, 'the first is deleted', 3_600_000)
      }),
    )

    it(
      'keeps the events of pending deliveries while their webhook is paused, even after a change of sender',
      within(databaseKind, async fixture => {
        const { store, client, webhook, post, sender, until, endpoints, deliveries, clock, webhookRow } =
          fixture
        const id = await webhook()
        let isGone = true
        // However often the first is tried before the pause, it stays pending.
        endpoints.set(firstUrl, ({ event }) => {
          if (!isGone) return 200
          return (event['data'] as { title: string }).title === 'gone' ? 410 : 500
        })
        const heldEvents: (number | null)[] = []
        const hold = async (event: number | null) => void heldEvents.push(event)
        const first = sender({ hold })
        await post('fails')
        const pending = await store.changes.last()
        await until(async () => (await deliveries())[0]?.attempt === 1, 'the first has failed')
        await post('gone')
        await until(async () => (await webhookRow(id))['paused_at'] !== null, 'it is paused')
        for (let times = 0; times < 3; times++) await clock.jump(10_000)
        await until(
          () => heldEvents.at(-1) === pending - 1,
          'the event of the pending delivery is kept',
          1000,
        )
        await first.stop()
        heldEvents.length = 0
        sender({ hold })
        await until(() => heldEvents.length > 0, 'the next sender holds events', 1000)
        assert.equal(heldEvents.at(-1), pending - 1)
        isGone = false
        await client.update('webhooks', id, { paused_at: null })
        await until(async () => (await deliveries())[0]?.status === 'succeeded', 'it is sent', 1000)
        await until(() => (heldEvents.at(-1) ?? 0) > pending, 'no events are held', 1000)
      }),
    )

    it(
      'reads the owner’s permissions for each event, even after events that were not sent',
      within(databaseKind, async fixture => {
        const { store, webhook, webhookRow, post, sender, until, owned } = fixture
        const id = await webhook()
        let principal: Principal | undefined
        let reads = 0
        const owners = {
          usersOf: () => [],
          secretsOf: () => owned.secrets,
          principalOf() {
            reads++
            return principal
          },
        }
        sender({ owners })
        await until(
          async () => (await webhookRow(id))['position'] === null,
          'its position is that of the sender',
        )
        await post('hidden')
        await until(() => reads > 0, 'the first event has been read')
        principal = user(1, 'user', 'all')
        await post('shown')
        await until(() => eventsAt(fixture, firstUrl).length === 1, 'the second event is sent')
        assert.deepEqual(eventsAt(fixture, firstUrl), [await store.changes.last()])
      }),
    )

    it(
      'skips events that were pruned before they were sent, and reports the gap',
      within(databaseKind, async fixture => {
        const { store, webhook, post, sender, until, gaps } = fixture
        await post('first')
        await webhook({ position: 0 })
        const pruned = 2
        const log: typeof store.changes = {
          ...delegating(store.changes),
          after: async (event, limit) => store.changes.after(Math.max(event, pruned), limit),
          bounds: async () => ({ ...(await store.changes.bounds()), pruned }),
        }
        sender({ log })
        await post('after')
        await until(() => eventsAt(fixture, firstUrl).length === 1, 'the remaining events are sent')
        assert.deepEqual(gaps, [[1, 2]])
      }),
    )

    it(
      'is deleted with its webhook',
      within(databaseKind, async fixture => {
        const { client, run, webhook, post, sender, until, endpoints, deliveries } = fixture
        await webhook({ url: two })
        const id = await webhook()
        endpoints.set(firstUrl, () => 500)
        const running = sender()
        await post()
        await until(
          async () =>
            (await deliveries()).some(({ attempt, webhook_id }) => webhook_id === id && attempt > 0),
          'the delivery has failed',
        )
        await client.remove('webhooks', id)
        await until(() => running.state.queued === 0, 'nothing waits')
        await post('after')
        await until(() => eventsAt(fixture, two).length === 2, 'the other webhook continues')
        assert.deepEqual(await readAll(run, listShape('webhooks', ['id'])), [{ id: id - 1 }])
      }),
    )

    it(
      'sends pending deliveries of another node in the order of events, whatever their ids',
      within(databaseKind, async fixture => {
        const { store, run, client, webhook, post, sender, until } = fixture
        const item = await post('one')
        for (const title of ['two', 'three', 'four']) await client.update('posts', item, { title })
        const events = (await store.changes.after(0, 100)).filter(({ id, collection }) => {
          return collection === 'posts' && id === item
        })
        const id = await webhook()
        for (const { event, kind } of events.toReversed()) {
          const plan = newDelivery({
            webhook_id: id,
            event_id: String(event),
            type: `post.${kind}`,
            collection: 'posts',
            item_id: item,
            user_id: null,
            message_id: `msg_${event}`,
            due_at: new Date(fixture.clock.now()).toISOString(),
          })
          await run.write(plan, system)
        }
        sender()
        await until(() => eventsAt(fixture, firstUrl).length === 4, 'all are sent')
        assert.deepEqual(
          eventsAt(fixture, firstUrl),
          events.map(({ event }) => event),
        )
      }),
    )

    it(
      'reads large events a few at a time, and sends all of them, even to a webhook that is behind',
      within(databaseKind, async fixture => {
        const { store, client, webhook, sender, until, annId } = fixture
        const body = 'x'.repeat(150_000)
        const count = 40
        const write = async () => {
          for (let n = 0; n < count; n++) {
            await client.create('posts', { title: `${n}`, body, author_id: annId })
          }
        }
        await write()
        await webhook({ position: 0 })
        await webhook({ url: two })
        await write()
        let most = 0
        const log: EventLog = {
          ...delegating(store.changes),
          async after(event, limit, maxBytes) {
            const changes = await store.changes.after(event, limit, maxBytes)
            most = Math.max(most, changes.length)
            return changes
          },
        }
        sender({ log })
        await until(
          () => eventsAt(fixture, firstUrl).length >= 2 * count,
          'the webhook that is behind has received all events',
        )
        await until(() => eventsAt(fixture, two).length >= count, 'the other has received its events')
        for (const [url, expected] of [
          [firstUrl, 2 * count],
          [two, count],
        ] as const) {
          const sent = eventsAt(fixture, url)
          assert.equal(new Set(sent).size, expected)
          assert.equal(sent.length, expected)
        }
        assert.ok(most > 1 && most <= 16, `${most} rows were read at once`)
      }),
    )
  })
}
