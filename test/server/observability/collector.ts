/** A collector of OpenTelemetry traces: OTLP over HTTP, in JSON (https://opentelemetry.io/docs/specs/otlp/). */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

interface Value {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
}

interface Attribute {
  readonly key: string
  readonly value: Value
}

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status?: { readonly code?: number }
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

export interface CollectedSpan extends Omit<SentSpan, 'attributes'> {
  readonly service: unknown
  readonly attributes: Readonly<Record<string, unknown>>
}

function values(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** All received requests, unchanged. */
  readonly received: readonly string[]
}

/** Runs `use` with a collector that responds with `status`. */
export async function withCollector(status: number, use: (collector: Collector) => Promise<void>) {
  const spans: CollectedSpan[] = []
  const received: string[] = []
  const server = createServer(async (req, res) => {
    const body = await text(req)
    received.push(JSON.stringify(req.headers) + body)
    assert.equal(req.url, '/v1/traces')
    const { resourceSpans } = JSON.parse(body) as Export
    for (const { resource, scopeSpans } of resourceSpans) {
      const { 'service.name': service } = values(resource.attributes)
      for (const span of scopeSpans.flatMap(scope => scope.spans)) {
        spans.push({ ...span, service, attributes: values(span.attributes) })
      }
    }
    res.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, received })
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}
