/** The metrics in the documentation and those of a service are the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/engine/store/store.ts'
import { replicaMetrics } from '../../src/server/serve/monitoring/metrics.ts'
import { withFile } from '../engine/store/blog.ts'
import { withRedis } from '../setups/databases/redis.ts'
import { startProcess } from '../system/processes/portico.ts'
import { pages, read } from './pages.ts'

const prose = pages.map(read).join('\n')

/** The metrics of a service with every feature except read replicas. */
async function metricsOfService(): Promise<ReadonlySet<string>> {
  return withRedis(url =>
    withFile(async database => {
      const node = await startProcess({
        environment: { DATABASE_URL: database, REDIS_URL: url, WORKERS: '2' },
      })
      try {
        // Each worker loads GraphQL with its first GraphQL request.
        for (let request = 0; request < 40; request++) await node.call('/graphql?query={__typename}')
        const { text } = await node.call('/metrics')
        return new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name))
      } finally {
        await node.end()
      }
    }),
  )
}

const ofReplicas = replicaMetrics({ replicas: () => ({}) } as unknown as Store).map(({ name }) => name)

test('the documentation names exactly the metrics that exist', async () => {
  const existing = new Set([...(await metricsOfService()), ...ofReplicas])
  const own = [...existing].filter(name => name.startsWith('portico_'))
  assert.ok(own.length > 30 && ofReplicas.length === 4)
  const documented = new Set(
    [...prose.matchAll(/\b(?:portico|process|nodejs)_[a-z][a-z0-9_]+[a-z0-9]\b(?!\()/g)].map(
      ([name]) => name,
    ),
  )
  const unknown = [...documented].filter(name => !existing.has(name.replace(/_(bucket|count|sum)$/, '')))
  assert.deepEqual(unknown, [])
  assert.deepEqual(
    own.filter(name => !documented.has(name)),
    [],
  )
})
