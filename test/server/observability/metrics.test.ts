import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, routeLabels } from '../../../src/server/observability/metrics.ts'

const histogram = 'portico_http_request_duration_seconds'

test('requests are counted by method, route and status class, in cumulative buckets', async () => {
  const metrics = createMetrics()
  metrics.observe('GET', '/a', 200, 0.0004)
  metrics.observe('GET', '/a', 204, 0.0005)
  metrics.observe('GET', '/a', 200, 99)
  metrics.observe('POST', '/a', 404, 0.02)
  metrics.observe('BREW"\n', '/b', 500, 1)
  const lines = (await metrics.text()).split('\n')
  const has = (line: string) => assert.ok(lines.includes(line), line)
  has(`${histogram}_bucket{method="GET",route="/a",status="2xx",le="0.0005"} 2`)
  has(`${histogram}_bucket{method="GET",route="/a",status="2xx",le="10"} 2`)
  has(`${histogram}_bucket{method="GET",route="/a",status="2xx",le="+Inf"} 3`)
  has(`${histogram}_count{method="GET",route="/a",status="2xx"} 3`)
  has(`${histogram}_sum{method="GET",route="/a",status="2xx"} 99.0009`)
  has(`${histogram}_bucket{method="POST",route="/a",status="4xx",le="0.01"} 0`)
  has(`${histogram}_bucket{method="POST",route="/a",status="4xx",le="0.025"} 1`)
  has(`${histogram}_count{method="other",route="/b",status="5xx"} 1`)
})

test('external metrics are read at each scrape', async () => {
  let value = 1
  const metrics = createMetrics(() => [
    { name: 'a_total', help: 'A.', kind: 'counter', read: () => value },
    { name: 'b', help: 'B.', kind: 'gauge', read: () => -value },
  ])
  assert.match(await metrics.text(), /^a_total 1$/m)
  value = 5
  const text = await metrics.text()
  assert.match(text, /^a_total 5$/m)
  assert.match(text, /^b -5$/m)
  assert.match(text, /^# TYPE a_total counter$/m)
  assert.match(text, /^nodejs_eventloop_lag_seconds /m)
})

test('route labels come from a fixed set', () => {
  const routeOf = routeLabels(new Map([['posts', 1]]))
  const rows = [
    ['/api/v1/posts', '/api/v1/posts'],
    ['/api/v1/posts/1', '/api/v1/posts/{id}'],
    ['/api/v1/posts/999999', '/api/v1/posts/{id}'],
    ['/api/v1/posts/1/tags', '/api/v1/posts/{id}/{subcollection}'],
    ['/api/v1/posts/1/tags/2/3', '/api/v1/posts/{id}/{subcollection}'],
    ['/api/v1/unknown', 'other'],
    ['/api/v1/unknown/1', 'other'],
    ['/posts', 'other'],
    ['/12345678posts', 'other'],
    ['/api/v1/me', '/api/v1/me'],
    ['/docs', '/docs'],
    ['/docs/guides/rest', '/docs'],
    ['/docs/12345', '/docs'],
    ['/', '/'],
    ['/nothing', 'other'],
  ] as const
  for (const [path, route] of rows) assert.equal(routeOf(path), route, path)
})
