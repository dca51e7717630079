/** Two processes with two workers each, on PostgreSQL and Redis: four threads behave as one service. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { until } from '../../api/transports/service.ts'
import { inWhole } from '../../chosen.ts'
import { earlyInMinute } from '../../engine/cluster/window.ts'
import { call } from '../../server/serve/service.ts'
import { withOrdinaryDatabase } from '../../setups/databases/ordinary.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { startStandbys } from '../../setups/databases/replicated.ts'
import { secretKey } from '../../setups/postgres.ts'
import type { NodeCluster } from './cluster.ts'
import { type NodesFixture, times, withNodesFixture } from './fixture.ts'
import { listen } from './listeners.ts'
import { assertAllReceived, subscribe, untilAllListen, write } from './subscribers.ts'

/** Each connection goes to either worker of a node. With this many, both workers get some, almost certainly. */
const connectionCount = 24

type Within = (use: (settings: GivenSettings) => Promise<void>) => Promise<void>

const postgres: Within = use => withPostgres(database => use({ database }))

const databases: Readonly<Record<string, Within>> = {
  ...Object.fromEntries(inWhole(['PostgreSQL', postgres])),
  'PostgreSQL with row security': use =>
    withOrdinaryDatabase(({ url }) => use({ database: url, rowSecurity: true })),
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

function withWorkers(
  within: Within,
  overrides: GivenSettings,
  use: (fixture: NodesFixture) => Promise<void>,
) {
  const common = { databaseConnections: 8, workers: 2, secretKeys: [secretKey] }
  return within(settings => withNodesFixture(2, { ...common, ...settings, ...overrides }, use))
}

/** Waits until every worker has detected that Redis is unavailable. */
async function untilDegraded(cluster: NodeCluster): Promise<void> {
  const end = performance.now() + 120_000
  for (;;) {
    const answers = await Promise.all(
      times(connectionCount, index => call(`${cluster.node(index).url}/readyz`)),
    )
    if (answers.every(({ json }) => json.status === 'degraded')) return
    assert.ok(performance.now() < end, 'a worker has not detected that Redis is unavailable')
    await wait(50)
  }
}

const isGranted = ({ status }: { readonly status: number }) => status === 200

test('a limit is exact across all workers of all nodes; without Redis it applies once per node, not per worker', async () => {
  await withWorkers(postgres, { rateLimit: 100 }, async ({ cluster, redis, key }) => {
    const read = (index: number, credential?: string) =>
      call(`${cluster.node(index).url}/api/v1/posts`, credential === undefined ? {} : { key: credential })
    await earlyInMinute(15)
    const answers = await Promise.all(times(300, index => read(index, key)))
    assert.equal(answers.filter(isGranted).length, 100)
    assert.equal(answers.filter(({ status }) => status === 429).length, 200)
    await redis.kill()
    await untilDegraded(cluster)
    await earlyInMinute()
    // Anonymous requests count by address, which no node has seen before.
    const alone = await Promise.all(times(400, index => read(index)))
    assert.equal(alone.filter(isGranted).length, 200)
  })
})

async function everyPostArrives({ cluster, key }: NodesFixture): Promise<void> {
  const subscribers = times(connectionCount, index => subscribe(cluster.node(index).url, key))
  try {
    await untilAllListen(cluster.url, key, subscribers)
    await Promise.all(
      times(8, async writer => {
        for (let post = 0; post < 20; post++)
          await write(cluster.node(writer + post).url, key, `${writer} ${post}`)
      }),
    )
    await until(() => subscribers.every(subscriber => subscriber.titles().length >= 160), 20_000)
    await wait(300)
    assertAllReceived(subscribers, 8, 20)
  } finally {
    for (const { end } of subscribers) end()
  }
}

async function deletedKeyIsRefused({ cluster, key }: NodesFixture): Promise<void> {
  const created = await call(`${cluster.node(0).url}/api/v1/api_keys`, {
    method: 'POST',
    key,
    body: { name: 'to be revoked', scopes: ['*'] },
  })
  const { id, key: token } = created.json as unknown as { readonly id: number; readonly key: string }
  const sockets = await Promise.all(times(connectionCount, index => listen(cluster.node(index).url, token)))
  const ask = async (index: number) =>
    (await call(`${cluster.node(index).url}/api/v1/me`, { key: token })).status
  assert.deepEqual(new Set(await Promise.all(times(connectionCount, ask))), new Set([200]))
  const deletion = await call(`${cluster.node(1).url}/api/v1/api_keys/${id}`, { method: 'DELETE', key })
  assert.equal(deletion.status, 204)
  assert.deepEqual(new Set(await Promise.all(times(connectionCount, ask))), new Set([401]))
  const late = wait(2500, 'still open', { ref: false })
  for (const { closed } of sockets) assert.notEqual(await Promise.race([closed, late]), 'still open')
}

for (const [name, within] of Object.entries(databases)) {
  test(`two nodes of two workers (${name})`, t =>
    withWorkers(within, { rateLimit: 'off' }, async fixture => {
      await t.test(
        'subscribers at every worker of every node get every post once and in the same order',
        () => everyPostArrives(fixture),
      )
      await t.test(
        'a key deleted at one node is refused by every worker, and its connections are closed',
        () => deletedKeyIsRefused(fixture),
      )
    }))
}
