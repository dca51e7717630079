/** The short form of `npm run bench -- ledger`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../cases.ts'
import { runLedger } from './ledger.ts'

const events = caseCount(600, 250)
const cuts = caseCount(24, 10)
const kills = caseCount(3, 1)

for (const database of ['SQLite', 'PostgreSQL'] as const) {
  test(`${database}: subscribers that are disconnected while nodes are killed miss no event`, async context => {
    const report = await runLedger({
      database,
      events,
      listeners: 20,
      transports: [
        'event stream',
        'long poll',
        'WebSocket',
        'event stream',
        'long poll',
        'WebSocket',
        'webhook',
      ],
      cuts,
      kills,
      writers: 8,
      idleTimeoutMs: 60_000,
    })
    context.diagnostic(JSON.stringify(report))
    assert.deepEqual([report.faultCount, report.faults], [0, []])
    assert.deepEqual([report.written, report.cuts, report.kills], [events, cuts, kills])
  })
}
