/** Pausing webhooks whose credential has ended. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endedReason, pauseEnded } from '../../../src/identity/webhooks/grants.ts'
import { within } from '../../delivery/webhooks/fixture.ts'
import { plainDatabaseKinds } from '../../engine/store/databases.ts'

for (const kind of plainDatabaseKinds) {
  describe(`pausing a webhook on ${kind.name}`, () => {
    it(
      'logs one event for concurrent attempts',
      within(kind, async ({ run, store, webhook, webhookRow }) => {
        const id = await webhook()
        const from = await store.changes.last()
        await Promise.all(Array.from({ length: 4 }, () => pauseEnded(run, id)))
        const logged = await store.changes.after(from, 100)
        assert.deepEqual(
          logged.map(({ type }) => type),
          ['webhook.paused'],
        )
        assert.equal((await webhookRow(id))['pause_reason'], endedReason)
      }),
    )

    it(
      'changes nothing if the webhook does not exist',
      within(kind, async ({ run, store }) => {
        const from = await store.changes.last()
        await pauseEnded(run, 999)
        assert.deepEqual(await store.changes.after(from, 100), [])
      }),
    )
  })
}
