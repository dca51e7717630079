import assert from 'node:assert/strict'
import { test } from 'node:test'
import { singleNode } from '../../src/cluster/memory-counters.ts'
import { ApiError } from '../../src/errors.ts'
import type { Exchange } from '../../src/http.ts'
import { createLog } from '../../src/observability/log.ts'
import { faultLog } from '../../src/serve/monitoring/fault-log.ts'
import { healthChecks } from '../../src/serve/monitoring/health-checks.ts'
import type { Store } from '../../src/store/store.ts'

/** The lines that are logged for a request that fails with `error`, without their times. */
function logLinesOf(error: unknown): readonly object[] {
  const lines: object[] = []
  const log = createLog({ logLevel: 'trace' }, { write: line => void lines.push(JSON.parse(line)) })
  faultLog(log).onFault(error, { requestId: 'r.1', method: 'GET' } as Exchange)
  return lines.map(line => ({ ...line, time: 0 }))
}

for (const [when, state, reason] of [
  ['starts', { starting: true, closing: false }, 'The service is starting.'],
  ['stops', { starting: false, closing: true }, 'The service is stopping.'],
] as const) {
  test(`while the service ${when}, a health check is logged as a warning without a stack`, async () => {
    const checks = healthChecks({
      store: {} as Store,
      cluster: singleNode(),
      metricsText: async () => '',
      state,
    })
    const ready = async () => checks.get('/readyz')?.({ method: 'GET' } as Exchange)
    const refusal = await ready().catch((error: unknown) => error)
    assert.deepEqual(logLinesOf(refusal), [
      { level: 40, time: 0, reason, request_id: 'r.1', method: 'GET', msg: 'request failed' },
    ])
  })
}

test('a failure is logged as an error with its stack', () => {
  for (const error of [new Error('boom'), new ApiError('UNAVAILABLE'), new ApiError('INTERNAL_ERROR')]) {
    const [line, ...others] = logLinesOf(error) as readonly { level: number; err: { stack: string } }[]
    assert.equal(line?.level, 50)
    assert.match(line.err.stack, /fault-log\.test/)
    assert.deepEqual(others, [])
  }
})
