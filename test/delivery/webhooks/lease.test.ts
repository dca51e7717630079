/** The lease and position of the sender: one holder despite differing clocks, and no commit by a former holder. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Lease } from '../../../src/delivery/consumer/lease.ts'
import { LeaseLost, StoredPosition } from '../../../src/delivery/consumer/position.ts'
import { leaseKey, positionKey, type SenderPosition } from '../../../src/delivery/webhooks/position.ts'
import { databaseKinds } from '../../engine/store/databases.ts'
import { type Fixture, within } from './fixture.ts'

function holderOf({ store }: Fixture, holder: string, start: number) {
  const clock = { time: start }
  const lease = new Lease({ key: leaseKey, records: store.records, holder, elapsed: () => clock.time })
  return { clock, lease }
}

const start = async (): Promise<SenderPosition> => ({ event: 0, partial: null })

for (const kind of databaseKinds) {
  describe(`the lease of the sender on ${kind.name}`, () => {
    it(
      'has one holder, and is taken over when its record stops changing, whatever the clocks show',
      within(kind, async fixture => {
        const first = holderOf(fixture, 'one', 1_000_000)
        const second = holderOf(fixture, 'two', 5)
        assert.equal(await first.lease.take(), 1)
        assert.equal(await second.lease.take(), undefined)
        second.clock.time += 5999
        assert.equal(await second.lease.take(), undefined)
        // A renewal restarts the period.
        assert.equal(await first.lease.renew(), true)
        second.clock.time += 1
        assert.equal(await second.lease.take(), undefined)
        second.clock.time += 6000
        assert.equal(await second.lease.take(), 2)
        assert.equal(await first.lease.renew(), false)
        assert.equal(first.lease.isHeld, false)
        assert.equal(second.lease.isHeld, true)
      }),
    )

    it(
      'expires for its holder before another node may take it over',
      within(kind, async fixture => {
        const { clock, lease } = holderOf(fixture, 'one', 0)
        await lease.take()
        clock.time += 4499
        assert.equal(lease.isHeld, true)
        clock.time += 1
        assert.equal(lease.isHeld, false)
        assert.equal(await lease.renew(), true)
        assert.equal(lease.isHeld, true)
      }),
    )

    it(
      'can be taken immediately after a release, by exactly one of several nodes',
      within(kind, async fixture => {
        const first = holderOf(fixture, 'one', 0)
        await first.lease.take()
        await first.lease.release()
        const others = Array.from({ length: 8 }, (_, index) => holderOf(fixture, `other ${index}`, index))
        const results = await Promise.all(others.map(({ lease }) => lease.take()))
        assert.deepEqual(
          results.filter(term => term !== undefined),
          [2],
        )
      }),
    )

    it(
      'is free after a release during a renewal',
      within(kind, async fixture => {
        const first = holderOf(fixture, 'one', 0)
        const two = holderOf(fixture, 'two', 0)
        await first.lease.take()
        await Promise.all([first.lease.renew(), first.lease.release()])
        assert.equal(first.lease.isHeld, false)
        assert.equal(await two.lease.take(), 2)
      }),
    )

    it(
      'does not let a former holder commit a position or the steps that go with it',
      within(kind, async fixture => {
        const { run, store, client, webhook, webhookRow } = fixture
        const id = await webhook({ position: 7 })
        const parts = { key: positionKey, run, records: store.records }
        const former = await StoredPosition.take(parts, 1, start)
        await former.commit([], { event: 5, partial: null })
        const present = await StoredPosition.take(parts, 2, start)
        assert.equal(present.current.event, 5)
        const step = client.change('merge', 'webhooks', id, { position: 99 })
        await assert.rejects(former.commit([step], { event: 6, partial: null }), LeaseLost)
        await assert.rejects(StoredPosition.take(parts, 1, start), LeaseLost)
        assert.equal((await webhookRow(id))['position'], 7)
        await present.commit([step], { event: 9, partial: null })
        assert.equal((await webhookRow(id))['position'], 99)
        assert.equal((await StoredPosition.take(parts, 3, start)).current.event, 9)
      }),
    )
  })
}
