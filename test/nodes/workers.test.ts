/** Two processes of two workers each, on PostgreSQL and Redis: four threads that are one service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { GivenSettings } from '../../src/config.ts'
import { earlyInMinute } from '../cluster/window.ts'
import { withOrdinary } from '../databases/ordinary.ts'
import { withPostgres } from '../databases/postgres.ts'
import { startStandbys } from '../databases/replicated.ts'
import { call } from '../serve/service.ts'
import { secretKey } from '../setups/postgres.ts'
import { until } from '../transports/service.ts'
import type { NodeCluster } from './cluster.ts'
import { type NodesFixture, times, withNodesFixture } from './fixture.ts'
import { listen } from './listeners.ts'
import { assertAllHeard, subscribe, untilAllListen, write } from './subscribers.ts'

/** Each takes its turn to be with either worker: all of one node's with the same is as likely as a wrong bit. */
const MANY = 24

type Within = (use: (settings: GivenSettings) => Promise<void>) => Promise<void>

const postgres: Within = use => withPostgres(database => use({ database }))

const databases: Readonly<Record<string, Within>> = {
  PostgreSQL: postgres,
  'PostgreSQL with row security': use => withOrdinary(({ url }) => use({ database: url, rowSecurity: true })),
  'PostgreSQL with a read replica': async use => {
    const servers = await startStandbys(1)
    try {
      const { url, standbys } = await servers.newDatabase()
      await use({ database: url, databaseReplicas: standbys })
    } finally {
      await servers.close()
    }
  },
}

function withWorkers(within: Within, given: GivenSettings, use: (fixture: NodesFixture) => Promise<void>) {
  const common = { databaseConnections: 8, workers: 2, secretKeys: [secretKey] }
  return within(settings => withNodesFixture(2, { ...common, ...settings, ...given }, use))
}

/** Waits until every worker has noticed that Redis is away. */
async function untilDegraded(cluster: NodeCluster): Promise<void> {
  const end = performance.now() + 20_000
  for (;;) {
    const answers = await Promise.all(times(MANY, at => call(`${cluster.node(at).url}/readyz`)))
    if (answers.every(({ json }) => json.status === 'degraded')) return
    assert.ok(performance.now() < end, 'a worker does not notice that Redis is away')
    await wait(50)
  }
}

const isGranted = ({ status }: { readonly status: number }) => status === 200

test('a limit is exact over all workers of all nodes; without Redis each node has it once, not each worker', async () => {
  await withWorkers(postgres, { rateLimit: 100 }, async ({ cluster, redis, key }) => {
    const read = (at: number, by?: string) =>
      call(`${cluster.node(at).url}/api/v1/posts`, by === undefined ? {} : { key: by })
    await earlyInMinute(15)
    const answers = await Promise.all(times(300, at => read(at, key)))
    assert.equal(answers.filter(isGranted).length, 100)
    assert.equal(answers.filter(({ status }) => status === 429).length, 200)
    await redis.kill()
    await untilDegraded(cluster)
    await earlyInMinute()
    // By an address, of which no node has heard.
    const alone = await Promise.all(times(400, at => read(at)))
    assert.equal(alone.filter(isGranted).length, 200)
  })
})

for (const [name, within] of Object.entries(databases)) {
  test(`subscribers at every worker of every node get every post once, in one order (${name})`, async () => {
    await withWorkers(within, { rateLimit: 'off' }, async ({ cluster, key }) => {
      const subscribers = times(MANY, at => subscribe(cluster.node(at).url, key))
      try {
        await untilAllListen(cluster.url, key, subscribers)
        await Promise.all(
          times(8, async lane => {
            for (let post = 0; post < 20; post++)
              await write(cluster.node(lane + post).url, key, `${lane} ${post}`)
          }),
        )
        await until(() => subscribers.every(one => one.titles().length >= 160), 20_000)
        await wait(300)
        assertAllHeard(subscribers, 8, 20)
      } finally {
        for (const { end } of subscribers) end()
      }
    })
  })

  test(`a key that is deleted at one node is over at every worker, on open connections too (${name})`, async () => {
    await withWorkers(within, { rateLimit: 'off' }, async ({ cluster, key }) => {
      const made = await call(`${cluster.node(0).url}/api/v1/api_keys`, {
        method: 'POST',
        key,
        body: { name: 'to be revoked', scopes: ['*'] },
      })
      const { id, key: token } = made.json as unknown as { readonly id: number; readonly key: string }
      const sockets = await Promise.all(times(MANY, at => listen(cluster.node(at).url, token)))
      const ask = async (at: number) =>
        (await call(`${cluster.node(at).url}/api/v1/me`, { key: token })).status
      assert.deepEqual(new Set(await Promise.all(times(MANY, ask))), new Set([200]))
      const gone = await call(`${cluster.node(1).url}/api/v1/api_keys/${id}`, { method: 'DELETE', key })
      assert.equal(gone.status, 204)
      assert.deepEqual(new Set(await Promise.all(times(MANY, ask))), new Set([401]))
      const late = wait(2500, 'still open', { ref: false })
      for (const { closed } of sockets) assert.notEqual(await Promise.race([closed, late]), 'still open')
    })
  })
}
