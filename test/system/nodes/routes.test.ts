/** Routes on several nodes that are killed: a signed event takes effect once, and all nodes share the limit of a route. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Stripe from 'stripe'
import { generateKey } from '../../../src/identity/keys/key.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { inWhole } from '../../chosen.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { secret } from '../../models/payments.ts'
import { call } from '../../server/serve/service.ts'
import { withOrdinaryDatabase } from '../../setups/databases/ordinary.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { RedisServer } from '../../setups/databases/redis.ts'
import { secretKey } from '../../setups/postgres.ts'
import { type NodeCluster, startCluster } from './cluster.ts'
import { times } from './fixture.ts'

const model = resolve(import.meta.dirname, '../../models/payments.ts')
const stripe = new Stripe('sk_test_unused')
const orders = 30
const deadlineMs = 180_000

interface Database {
  readonly settings: GivenSettings
  readonly nodes: number
}

type Within = (use: (database: Database) => Promise<void>) => Promise<void>

const withoutPolicies: Within = use => withPostgres(database => use({ settings: { database }, nodes: 3 }))

const databases: Readonly<Record<string, Within>> = {
  'SQLite, with two workers': async use => {
    const folder = mkdtempSync(join(tmpdir(), 'portico-payments-'))
    try {
      await use({ settings: { database: join(folder, 'payments.db'), workers: 2 }, nodes: 1 })
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  ...Object.fromEntries(inWhole(['three nodes on PostgreSQL', withoutPolicies])),
  'three nodes on PostgreSQL with row security': use =>
    withOrdinaryDatabase(({ url }) => use({ settings: { database: url, rowSecurity: true }, nodes: 3 })),
}

/** Delivers an event until a node confirms it, as providers do. Returns whether the confirmed delivery was a repetition. */
async function deliver(cluster: NodeCluster, n: number, die: string): Promise<boolean> {
  const payload = JSON.stringify({ id: `evt_${n}`, cents: n })
  const deadline = performance.now() + deadlineMs
  for (let attempt = 0; performance.now() < deadline; attempt++) {
    const answer = await fetch(`${cluster.node(n + attempt).url}/hooks/stripe`, {
      method: 'POST',
      body: payload,
      headers: {
        'Stripe-Signature': stripe.webhooks.generateTestHeaderString({ payload, secret }),
        ...(attempt === 0 && { 'X-Die': die }),
      },
    }).catch(() => undefined)
    if (answer?.status === 200) return ((await answer.json()) as { readonly repeated: boolean }).repeated
    await answer?.body?.cancel()
    await wait(100)
  }
  return assert.fail(`event ${n} was never confirmed`)
}

for (const [name, within] of Object.entries(databases)) {
  test(`${name}: events that are delivered three times, out of order and under kills, take effect once`, () =>
    within(async ({ settings, nodes: count }) => {
      const key = generateKey()
      const cluster = await startCluster({
        ...{ model, nodes: count },
        settings: { ...settings, rateLimit: 'off', secretKeys: [secretKey] },
        environment: { PORTICO_ADMIN_API_KEY: key },
      })
      let isOver = false
      let starting = 0
      let restarts = 0
      // The supervisor of each node starts it again.
      const supervising = Promise.all(
        cluster.nodes.map(async node => {
          for (; !isOver; await wait(50)) {
            if (node.isUp) continue
            starting++
            await node.start()
            starting--
            restarts++
          }
        }),
      )
      try {
        const created = await call(`${cluster.url}/api/v1/accounts`, {
          method: 'POST',
          key,
          body: { name: 'a' },
        })
        assert.equal(created.status, 201, created.text)
        // Half of the kills come before the commit, half between it and the answer.
        const dies = (index: number) => (index % 20 === 7 ? 'before' : index % 20 === 17 ? 'after' : 'never')
        const deliveries = times(orders * 3, index => [(index * 7) % orders, dies(index)] as const)
        const repeated: boolean[] = []
        while (deliveries.length > 0) {
          // Each ten kill one node, and none that starts.
          while (starting > 0 || cluster.nodes.some(node => !node.isUp)) {
            await Promise.race([wait(20), supervising])
          }
          const some = deliveries.splice(0, 10)
          repeated.push(...(await Promise.all(some.map(([n, die]) => deliver(cluster, n, die)))))
        }
        assert.ok(restarts >= 4, `only ${restarts} nodes were killed`)
        const first = repeated.filter(each => !each).length
        assert.ok(first <= orders, `${first} deliveries say that they were the first`)
        const account = await call(`${cluster.url}/api/v1/accounts/1`, { key })
        assert.equal(
          account.json['cents'],
          times(orders, n => n).reduce((sum, n) => sum + n, 0),
        )
        const payments = await call(`${cluster.url}/api/v1/payments?per_page=100`, { key })
        const events = (payments.json['data'] as readonly { readonly event: string }[]).map(
          ({ event }) => event,
        )
        assert.deepEqual(events.toSorted(), times(orders, n => `evt_${n}`).toSorted())
      } finally {
        isOver = true
        await supervising.finally(() => cluster.close())
      }
    }))
}

test('three nodes share the limit of a route, through Redis', async () => {
  const redis = await RedisServer.start()
  try {
    await withPostgres(async database => {
      const cluster = await startCluster({
        model,
        settings: {
          database,
          secretKeys: [secretKey],
          redis: { url: redis.url, timeout: '5 s' },
          rateLimit: 10,
        },
      })
      try {
        await earlyInMinute(15)
        const answers = await Promise.all(
          times(120, index => call(`${cluster.node(index).url}/hooks/limited`, { method: 'POST' })),
        )
        const granted = answers.filter(({ status }) => status === 204).length
        assert.deepEqual([granted, answers.length - granted], [40, 80])
        assert.ok(answers.every(({ status }) => status === 204 || status === 429))
      } finally {
        await cluster.close()
      }
    })
  } finally {
    await redis.remove()
  }
})
