/** Three nodes that start at once on an empty database initialize it only once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { dumpCollection } from '../../api/contract/rest/harness.ts'
import blog from '../../models/blog.ts'
import { call } from '../../server/serve/service.ts'
import type { Deployment } from '../../setups/setup.ts'
import { nodeSetups } from '../../setups/setups.ts'
import { startCluster } from './cluster.ts'

async function rowsOf(
  deployment: Deployment,
  collection: string,
): Promise<readonly Record<string, unknown>[]> {
  const model = checkModel(blog)
  const store = await deployment.openStore(model)
  try {
    const text = await dumpCollection(model, createRun(createGuard(model), store), collection)
    return JSON.parse(text.slice(text.indexOf(' ')))
  } finally {
    await store.close()
  }
}

async function keysAt(url: string): Promise<readonly string[]> {
  const { json } = await call(`${url}/oauth/jwks`)
  return (json.keys as readonly { readonly kid: string }[]).map(({ kid }) => kid)
}

for (const setup of nodeSetups) {
  test(`three nodes that start at once create one administrator, one API key and one set of signing keys (${setup.name})`, async () => {
    const deployment = await setup.open()
    await deployment.create()
    try {
      const cluster = await startCluster({ settings: deployment.settings })
      try {
        const printed = cluster.nodes.map(({ log }) => /API key +(pk_\S+)/.exec(log)?.[1])
        const keys = printed.filter(key => key !== undefined)
        assert.equal(keys.length, 1, `printed by ${keys.length} nodes`)
        const users = await rowsOf(deployment, 'users')
        assert.deepEqual(
          users.map(({ email, role }) => [email, role]),
          [['admin@example.com', 'admin']],
        )
        assert.equal((await rowsOf(deployment, 'api_keys')).length, 1)
        const [first = [], ...others] = await Promise.all(cluster.nodes.map(({ url }) => keysAt(url)))
        assert.ok(first.length > 0)
        for (const other of others) assert.deepEqual(other, first)
        for (const { url } of cluster.nodes) {
          const [key] = keys
          assert.equal((await call(`${url}/api/v1/me`, { key: key ?? '' })).status, 200)
        }
      } finally {
        await cluster.close()
      }
    } finally {
      await deployment.close()
    }
  })
}
