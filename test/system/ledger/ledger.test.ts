/** The short form of `npm run bench -- ledger`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLedger } from './ledger.ts'

for (const database of ['SQLite', 'PostgreSQL'] as const) {
  test(`${database}: subscribers that are disconnected while nodes are killed miss no event`, async context => {
    const report = await runLedger({
      database,
      events: 600,
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
      cuts: 24,
      kills: 3,
      writers: 8,
      idleTimeoutMs: 60_000,
    })
    context.diagnostic(JSON.stringify(report))
    assert.deepEqual([report.faultCount, report.faults], [0, []])
    assert.deepEqual([report.written, report.cuts, report.kills], [600, 24, 3])
  })
}
