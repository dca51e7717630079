import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeMetrics } from '../../../src/server/workers/merge-metrics.ts'

const worker = (requests: number, lag: number, memory: number, route = 'a') => `# HELP requests How many.
# TYPE requests counter
requests{route="${route}",status="2xx"} ${requests}
# HELP duration_seconds How long.
# TYPE duration_seconds histogram
duration_seconds_bucket{le="1"} ${requests}
duration_seconds_bucket{le="+Inf"} ${requests}
duration_seconds_sum ${requests / 4}
duration_seconds_count ${requests}

# HELP nodejs_eventloop_lag_seconds Lag.
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds ${lag}
# HELP portico_replica_lag_bytes Lag.
# TYPE portico_replica_lag_bytes gauge
portico_replica_lag_bytes ${lag}
# HELP process_resident_memory_bytes Memory.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes ${memory}
`

test('counters and histograms are summed, process metrics appear once, and lags are the maximum', () => {
  assert.equal(
    mergeMetrics([worker(3, 0.5, 1000), worker(5, 0.25, 1002)]),
    worker(8, 0.5, 1002).replace('\n\n', '\n'),
  )
})

test('a series of only one worker is unchanged', () => {
  const lines = mergeMetrics([worker(3, 0, 1, 'a'), worker(5, 0, 1, 'b{} "x y" 7')]).split('\n')
  assert.ok(lines.includes('requests{route="a",status="2xx"} 3'))
  assert.ok(lines.includes('requests{route="b{} "x y" 7",status="2xx"} 5'))
  assert.equal(lines.filter(line => line === '# TYPE requests counter').length, 1)
})

test('without the metrics of a worker, the sum is that of the others', () => {
  assert.equal(mergeMetrics(['', worker(2, 0, 1)]), worker(2, 0, 1).replace('\n\n', '\n'))
})

test('values such as infinities and NaN are preserved', () => {
  const text = (value: string) => `# HELP x X.\n# TYPE x gauge\nx ${value}\n`
  for (const value of ['+Inf', '-Inf', 'NaN', '1e+22', '0.1'])
    assert.equal(mergeMetrics([text(value)]), text(value))
})

test('a boolean metric is the maximum over all workers', () => {
  const text = (value: number) =>
    `# HELP portico_overloaded Whether.\n# TYPE portico_overloaded gauge\nportico_overloaded ${value}\n`
  assert.equal(mergeMetrics([text(1), text(0), text(1)]), text(1))
  assert.equal(mergeMetrics([text(0), text(0)]), text(0))
})

test('metrics of the shared event log appear once, and the pruned events are summed', () => {
  const text = (oldest: number, bytes: number, pruned: number) => `# HELP portico_event_log_oldest_id X.
# TYPE portico_event_log_oldest_id gauge
portico_event_log_oldest_id ${oldest}
# HELP portico_event_log_bytes X.
# TYPE portico_event_log_bytes gauge
portico_event_log_bytes ${bytes}
# HELP portico_event_log_pruned_total X.
# TYPE portico_event_log_pruned_total counter
portico_event_log_pruned_total ${pruned}
`
  assert.equal(mergeMetrics([text(0, 0, 0), text(7, 900, 3), text(5, 800, 4)]), text(7, 900, 7))
})
