/** OpenTelemetry traces, as received by a collector. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withFile } from '../../engine/store/blog.ts'
import { startProcess } from '../../system/processes/portico.ts'
import { type TestService, withService } from '../serve/service.ts'
import { type CollectedSpan, type Collector, withCollector } from './collector.ts'

const serverKind = 2
const errorStatus = 2

/** The spans that a collector has when the service has stopped. */
async function collectSpans(
  use: (service: TestService) => Promise<void>,
  check: (collector: Collector, service: TestService) => void,
): Promise<void> {
  await withCollector(200, async collector => {
    let used: TestService | undefined
    await withService({ tracesEndpoint: collector.url }, async service => {
      used = service
      await use(service)
    })
    assert.ok(used)
    check(collector, used)
  })
}

function onlySpan(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [only, second] = spans.filter(span => span.name === name)
  assert.ok(only, `there is no span ${name} among ${spans.map(span => span.name).join(', ')}`)
  assert.equal(second, undefined, `there are two spans ${name}`)
  return only
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${parentId}-01`

describe('a trace', () => {
  it('has a span for the request with a child for each step', () =>
    collectSpans(
      ({ call, key }) => call('/api/v1/users/1', { key }).then(() => {}),
      ({ spans }) => {
        const request = onlySpan(spans, 'GET /api/v1/users/{id}')
        assert.equal(request.kind, serverKind)
        assert.equal(request.service, 'portico')
        assert.equal(request.parentSpanId, undefined)
        const { 'portico.request_id': id, ...attributes } = request.attributes
        assert.match(String(id), /./)
        assert.deepEqual(attributes, {
          'http.request.method': 'GET',
          'http.route': '/api/v1/users/{id}',
          'http.response.status_code': 200,
          'url.path': '/api/v1/users/1',
          'url.scheme': 'http',
        })
        const children = spans.filter(span => span.traceId === request.traceId && span !== request)
        const authenticate = onlySpan(children, 'authenticate')
        assert.equal(authenticate.parentSpanId, request.spanId)
        const read = children.find(span => span.name === 'read' && span.parentSpanId === request.spanId)
        assert.deepEqual(read?.attributes, {
          'db.operation.name': 'item',
          'db.collection.name': 'users',
        })
        for (const span of children) {
          assert.ok(span.startTimeUnixNano >= request.startTimeUnixNano)
          assert.ok(span.endTimeUnixNano <= request.endTimeUnixNano)
        }
      },
    ))

  it('includes a write until its commit', () =>
    collectSpans(
      async ({ call, key }) => {
        assert.equal((await call('/api/v1/posts', { method: 'POST', key, body: { title: 'a' } })).status, 201)
      },
      ({ spans }) => {
        const request = onlySpan(spans, 'POST /api/v1/posts')
        const write = onlySpan(spans, 'write')
        assert.equal(write.parentSpanId, request.spanId)
        assert.deepEqual(write.attributes, {
          'db.operation.name': 'create',
          'db.collection.name': 'posts',
        })
        assert.ok(BigInt(write.endTimeUnixNano) > BigInt(write.startTimeUnixNano))
      },
    ))

  it('continues the trace of the client', () =>
    collectSpans(
      async ({ call }) => {
        await call('/api/v1/posts', { headers: { traceparent } })
        await call('/graphql', {
          method: 'POST',
          body: { query: '{ posts { id } }' },
          headers: { traceparent },
        })
      },
      ({ spans }) => {
        const requests = spans.filter(span => span.kind === serverKind)
        assert.deepEqual(requests.map(span => span.name).sort(), ['GET /api/v1/posts', 'POST /graphql'])
        for (const span of spans) assert.equal(span.traceId, traceId)
        for (const span of requests) assert.equal(span.parentSpanId, parentId)
      },
    ))

  it('is not recorded if the client’s is not, and a malformed parent starts a new trace', () =>
    collectSpans(
      async ({ call }) => {
        await call('/api/v1/posts/1', { headers: { traceparent: `00-${traceId}-${parentId}-00` } })
        await call('/api/v1/posts', { headers: { traceparent: '00-zzz-1-01\u00e9' } })
      },
      ({ spans }) => {
        const requests = spans.filter(span => span.kind === serverKind)
        assert.deepEqual(
          requests.map(span => span.name),
          ['GET /api/v1/posts'],
        )
        assert.notEqual(requests[0]?.traceId, traceId)
      },
    ))

  it('records the error and no secret', () =>
    collectSpans(
      async ({ call, key }) => {
        assert.equal((await call('/api/v1/posts', { key: 'pk_notakeyofanybody' })).status, 401)
        assert.equal((await call(`/api/v1/posts?api_key=${key}&per_page=1`)).status, 200)
        assert.equal((await call('/pk_notakeyofanybody')).status, 404)
      },
      ({ spans, received }, { key }) => {
        const refused = spans.find(span => span.attributes['http.response.status_code'] === 401)
        const failed = spans.find(span => span.name === 'authenticate' && span.status?.code === errorStatus)
        assert.equal(failed?.parentSpanId, refused?.spanId)
        assert.equal(failed?.attributes['error.type'], 'UNAUTHORIZED')
        for (const text of received) {
          assert.ok(!text.includes('notakeyofanybody'))
          assert.ok(!text.includes(key))
        }
      },
    ))

  it('does not include later work: a subscription continues without its request', () =>
    collectSpans(
      async ({ call, url, key }) => {
        const stop = new AbortController()
        const stream = await fetch(`${url}/graphql`, {
          method: 'POST',
          signal: stop.signal,
          headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
          body: JSON.stringify({ query: 'subscription { newPost { author { name } } }' }),
        })
        await call('/api/v1/posts', { method: 'POST', key, body: { title: 'a' } })
        let text = ''
        for await (const chunk of stream.body ?? []) {
          text += Buffer.from(chunk).toString()
          if (text.includes('newPost')) break
        }
        stop.abort()
      },
      ({ spans }) => {
        const requests = new Map(
          spans.filter(span => span.kind === serverKind).map(span => [span.spanId, span]),
        )
        for (const { parentSpanId = '', startTimeUnixNano } of spans) {
          const request = requests.get(parentSpanId)
          if (request) assert.ok(BigInt(startTimeUnixNano) <= BigInt(request.endTimeUnixNano))
        }
      },
    ))
})

const environmentOf = (file: string, endpoint?: string) => ({
  DATABASE_URL: file,
  PORTICO_ADMIN_API_KEY: 'k'.repeat(32),
  ...(endpoint !== undefined && { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
})
const without = ['--import', join(import.meta.dirname, 'without-packages.mjs')]

describe('a service', () => {
  it('loads nothing for traces unless they are enabled', () =>
    withFile(async file => {
      const service = await startProcess({ environment: environmentOf(file), nodeOptions: without })
      assert.equal((await service.call('/api/v1/posts')).status, 200)
      assert.equal(await service.end(), 0)
    }))

  it('names the missing packages when traces are enabled without them', () =>
    withFile(async file => {
      const environment = environmentOf(file, 'http://127.0.0.1:9')
      await assert.rejects(startProcess({ environment, nodeOptions: without }), error => {
        assert.match(String(error), /exited with 1.*npm i @opentelemetry\/api/s)
        assert.doesNotMatch(String(error), /\n +at [^s]/)
        return true
      })
    }))

  it('serves without a collector, reports it once without a password, and stops in time', () =>
    withFile(async file => {
      const environment = {
        ...environmentOf(file, 'http://user:hunter2@127.0.0.1:9'),
        OTEL_BSP_SCHEDULE_DELAY: '50',
      }
      const service = await startProcess({ environment })
      for (let index = 0; index < 5; index++) {
        assert.equal((await service.call('/api/v1/posts')).status, 200)
        await new Promise(resolve => setTimeout(resolve, 200))
      }
      assert.equal(await service.end(), 0)
      assert.equal(service.output().split('traces cannot be sent').length, 2)
      assert.match(service.output(), /sent to http:\/\/127\.0\.0\.1:9\/v1\/traces/)
      assert.doesNotMatch(service.output(), /hunter2/)
    }))

  it('takes its name from OTEL_SERVICE_NAME, and sends all spans before it stops', () =>
    withFile(file =>
      withCollector(200, async ({ url, spans }) => {
        const environment = { ...environmentOf(file, url), OTEL_SERVICE_NAME: 'blog' }
        const service = await startProcess({ environment })
        await service.call('/api/v1/posts')
        assert.equal(await service.end(), 0)
        assert.equal(onlySpan(spans, 'GET /api/v1/posts').service, 'blog')
      }),
    ))
})
