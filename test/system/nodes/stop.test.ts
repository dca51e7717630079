/** A node stops promptly even if it has subscribers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { startCluster } from './cluster.ts'
import { listen, stream } from './listeners.ts'

/** Far less than the grace period for running requests. */
const maxStopMs = 5000

test('stopping a node ends subscriptions at once, over WebSockets and server-sent events', async () => {
  const deployment = await sqlite.open()
  const key = generateKey()
  const { database } = deployment
  const cluster = await startCluster({
    nodes: 1,
    settings: { database, shutdown: { grace: '60 s' } },
    environment: { PORTICO_ADMIN_API_KEY: key },
  })
  try {
    const node = cluster.node(0)
    const socket = await listen(node.url, key)
    const { end } = await stream(node.url, key)
    const since = performance.now()
    await node.stop()
    assert.ok(performance.now() - since < maxStopMs)
    assert.equal((await socket.closed).code, 1001)
    assert.match(await end, /event: complete/)
  } finally {
    await cluster.close()
    await deployment.close()
  }
})
