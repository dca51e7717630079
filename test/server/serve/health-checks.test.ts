import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../src/base/errors.ts'
import { singleNode } from '../../../src/engine/cluster/memory-counters.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { Exchange } from '../../../src/server/http/http.ts'
import { healthChecks } from '../../../src/server/serve/monitoring/health-checks.ts'

const fail = () => {
  throw new Error('disk I/O error')
}

interface CheckOptions {
  readonly check?: () => Promise<void>
  readonly trouble?: () => string | undefined
  readonly starting?: boolean
}

function readiness({ check = async () => {}, trouble = () => undefined, starting = false }: CheckOptions) {
  const store = { check, trouble } as unknown as Store
  const paths = healthChecks({
    store,
    cluster: singleNode(),
    metricsText: async () => '',
    state: { starting, closing: false },
  })
  const ready = paths.get('/readyz')
  assert.ok(ready)
  return async (query = '') => ready({ method: 'GET', query } as Exchange)
}

function unavailable(message: RegExp) {
  return (error: Error) => {
    assert.ok(error instanceof ApiError)
    assert.equal(error.code, 'UNAVAILABLE')
    assert.match(error.message, message)
    return true
  }
}

for (const [how, check] of [
  ['synchronously', fail],
  ['asynchronously', async () => fail()],
] as const) {
  test(`a database check that fails ${how} makes the service not ready, and no internals are revealed`, async () => {
    await assert.rejects(readiness({ check }), unavailable(/^The database does not answer\.$/))
  })
}

test('the message of an ApiError from the check is shown', async () => {
  const check = async () => {
    throw new ApiError('UNAVAILABLE', 'Changes cannot be stored: the disk is full.')
  }
  await assert.rejects(readiness({ check }), unavailable(/disk is full/))
})

test('the service is not ready, and the database not queried, until the first administrator exists', async () => {
  const check = async () => assert.fail('the database was queried')
  await assert.rejects(readiness({ check, starting: true }), unavailable(/starting/))
})

test('a problem with no effect yet makes the service degraded', async () => {
  const reply = await readiness({ trouble: () => 'The log grows.' })()
  assert.equal(reply.status, 200)
  assert.deepEqual(JSON.parse(String(reply.body)), { status: 'degraded', reason: 'The log grows.' })
})

test('`?degraded=503` tells a degraded node by the status, for monitors that see nothing else', async () => {
  const degraded = readiness({ trouble: () => 'The log grows.' })
  await assert.rejects(async () => degraded('degraded=503'), unavailable(/^The log grows\.$/))
  assert.equal((await readiness({})('degraded=503')).status, 200)
})
