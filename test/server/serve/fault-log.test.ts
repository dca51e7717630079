import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, databaseFault, stoppingRefusal } from '../../../src/base/errors.ts'
import { singleNode } from '../../../src/engine/cluster/memory-counters.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import type { Exchange } from '../../../src/server/http/http.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import { FaultLog } from '../../../src/server/serve/monitoring/fault-log.ts'
import { healthChecks } from '../../../src/server/serve/monitoring/health-checks.ts'
import { fakeClock } from '../../delivery/webhooks/clock.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly reason?: string
  readonly failures?: number
  readonly seconds?: number
  readonly err?: { readonly stack: string }
}

/** A fault log on a clock that stands still. `check`: see `FaultLogParts`. */
function openLog(check: () => Promise<void> = async () => undefined) {
  const lines: Line[] = []
  const { logger } = createLog(
    { logLevel: 'trace' },
    { write: line => void lines.push({ ...JSON.parse(line), time: 0 }) },
  )
  const clock = fakeClock()
  const faults = new FaultLog({ logger, check, clock })
  const fail = (error: unknown, path = '/api/v1/posts') =>
    faults.http.onFault(error, { requestId: 'r.1', method: 'GET', path } as Exchange)
  return { lines, clock, fail }
}

/** The lines that are logged for a request that fails with `error`, without their times. */
function logLinesOf(error: unknown, path?: string): readonly Line[] {
  const { lines, fail } = openLog()
  fail(error, path)
  return lines
}

for (const [when, state, reason] of [
  ['starts', { starting: true, closing: false }, 'The service is starting.'],
  ['stops', { starting: false, closing: true }, 'The service is stopping.'],
] as const) {
  test(`while the service ${when}, a health check is logged at debug level, another request as a warning without a stack`, async () => {
    const checks = healthChecks({
      store: {} as Store,
      cluster: singleNode(),
      metricsText: async () => '',
      state,
    })
    const ready = async () => checks.get('/readyz')?.({ method: 'GET' } as Exchange)
    const refusal = await ready().catch((error: unknown) => error)
    const line = { time: 0, reason, request_id: 'r.1', method: 'GET' }
    assert.deepEqual(logLinesOf(refusal), [{ ...line, level: 40, msg: 'request failed' }])
    assert.deepEqual(logLinesOf(refusal, '/readyz'), [{ ...line, level: 20, msg: 'not ready' }])
  })
}

test('a failure is logged as an error with its stack', () => {
  const circular = new Error('its own cause')
  circular.cause = circular
  const internal = [new ApiError('UNAVAILABLE'), new ApiError('INTERNAL_ERROR')]
  for (const error of [new Error('boom'), circular, ...internal]) {
    const [line, ...others] = logLinesOf(error)
    assert.equal(line?.level, 50)
    assert.match(String(line.err?.stack), /fault-log\.test/)
    assert.deepEqual(others, [])
  }
})

test('a database that fails is told once with its reason, its failures are counted, and its end is told', async () => {
  let trouble: Error | undefined = new ApiError('UNAVAILABLE', 'Changes cannot be stored: the disk is full.')
  const { lines, clock, fail } = openLog(async () => {
    if (trouble) throw trouble
  })
  for (let times = 0; times < 1000; times++) fail(databaseFault(new Error('database or disk is full')))
  await clock.advance(1)
  assert.deepEqual(
    lines.map(({ level, reason, msg }) => ({ level, reason, msg })),
    [
      {
        level: 50,
        reason: 'Changes cannot be stored: the disk is full.',
        msg: 'the database fails: further failures are counted until it works again',
      },
    ],
  )
  assert.match(String(lines[0]?.err?.stack), /database or disk is full/)
  for (let seconds = 0; seconds < 130; seconds++) {
    fail(databaseFault(new Error('database or disk is full')))
    await clock.advance(1000)
  }
  const later = lines.slice(1).map(({ level, msg }) => [level, msg])
  assert.deepEqual(later, [
    [40, 'the database still fails'],
    [40, 'the database still fails'],
  ])
  trouble = undefined
  await clock.advance(5000)
  const [end, ...others] = lines.slice(3)
  assert.deepEqual([end?.level, end?.msg, end?.failures], [30, 'the database works again', 1129])
  assert.deepEqual(others, [])
  fail(databaseFault(new Error('database or disk is full')))
  await clock.advance(1)
  assert.equal(lines.at(-1)?.reason, 'database or disk is full', 'the next outage is told again')
})

test('a lack of descriptors is told once, whatever it was that could not be opened, and its end is told', async () => {
  const { lines, clock, fail } = openLog()
  const lack = (code: string, message: string) => Object.assign(new Error(`${code}: ${message}`), { code })
  const page = lack('EMFILE', 'too many open files, open docs/rest.md')
  const lost = new Error('A reader process has ended.', {
    cause: lack('ENFILE', 'file table overflow, spawn'),
  })
  const connecting = new ApiError('INTERNAL_ERROR', undefined, { cause: lack('EMFILE', 'connect') })
  for (let times = 0; times < 100; times++)
    for (const error of [page, databaseFault(lost), connecting]) fail(error)
  await clock.advance(1)
  assert.deepEqual(
    lines.map(({ level, reason, msg }) => ({ level, reason, msg })),
    [
      {
        level: 50,
        reason: 'EMFILE: too many open files, open docs/rest.md',
        msg: 'no more files and connections can be opened: raise `ulimit -n`; further failures are counted until they can',
      },
    ],
  )
  await clock.advance(500)
  fail(databaseFault(new Error('connection refused')))
  await clock.advance(1)
  assert.equal(lines.at(-1)?.reason, 'connection refused', 'an outage of the database is another one')
  await clock.advance(5000)
  const [end] = lines.filter(({ msg }) => msg === 'files and connections can be opened again')
  assert.deepEqual([end?.level, end?.failures, lines.length], [30, 299, 4])
})

test('a database that does not answer its check is told too, and nothing more once the service stops', async () => {
  const waiting = Promise.withResolvers<void>()
  const { lines, clock, fail } = openLog(() => waiting.promise)
  fail(databaseFault(new Error('connection refused')))
  await clock.advance(1000)
  assert.equal(lines[0]?.reason, 'connection refused')
  waiting.reject(stoppingRefusal())
  await clock.advance(300_000)
  assert.equal(lines.length, 1)
})
