/**
 * OpenTelemetry traces. The packages are loaded only if an endpoint is set; requests never wait for the collector. Spans wrap
 * the stages of a request when the service is put together, so that the path without traces has no branch for them. The
 * automatic instrumentation of `node:http` knows nothing of guards and plans. Nothing global is registered: the program
 * around `serve()` may have a provider of its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'
import type { Context, Span, SpanOptions } from '@opentelemetry/api'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import { type Settings, SettingsError } from '../config/config.ts'
import { type Logger, redact } from './log.ts'

type Attributes = Readonly<Record<string, string | number>>

/** The parts of a request that its span shows. */
export interface TracedCall {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
}

export interface Traces {
  /** Runs the work of a request within its span, which continues the trace that `traceparent` names. */
  request<T>(call: TracedCall, work: () => T): T
  /** Ends the span of a request. */
  answered(call: TracedCall, route: string, status: number): void
  /** Runs work within a child span of the request; without a span if no request is being answered. */
  step<T>(name: string, attributes: Attributes, work: () => T): T
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>
}

/** The maximum time of an export, and of the shutdown. */
const timeoutMs = 5000

const packages = [
  '@opentelemetry/api',
  '@opentelemetry/core',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-base',
]

async function load() {
  try {
    const [api, core, exporter, resources, sdk] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-trace-base'),
    ])
    return { ...api, ...core, ...exporter, ...resources, ...sdk }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw new SettingsError([
      {
        place: '`tracesEndpoint`',
        message: `needs packages that are not installed: \`npm i ${packages.join(' ')}\`.`,
      },
    ])
  }
}

type OpenTelemetry = Awaited<ReturnType<typeof load>>

/** Undefined if no endpoint is set. */
export async function openTraces(
  { tracesEndpoint }: Pick<Settings, 'tracesEndpoint'>,
  logger: Logger,
): Promise<Traces | undefined> {
  if (tracesEndpoint === undefined) return undefined
  const openTelemetry = await load()
  const service = process.env.OTEL_SERVICE_NAME
  const url = `${tracesEndpoint}/v1/traces`
  const exporter = new openTelemetry.OTLPTraceExporter({ url, timeoutMillis: timeoutMs })
  const provider = new openTelemetry.BasicTracerProvider({
    resource: openTelemetry.resourceFromAttributes({ 'service.name': service ?? 'portico' }),
    spanProcessors: [new openTelemetry.BatchSpanProcessor(logFailures(exporter, url, logger))],
  })
  const close = async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    await Promise.race([provider.shutdown().catch(() => {}), promise])
    clearTimeout(timer)
  }
  return { ...createTracer(openTelemetry, provider.getTracer('portico')), close }
}

/** Logs once that spans cannot be sent, and once that they can be again. */
function logFailures(exporter: SpanExporter, url: string, logger: Logger): SpanExporter {
  let isFailing = false
  const address = url.replace(/\/\/[^/]*@/, '//')
  return {
    export(spans: ReadableSpan[], done) {
      exporter.export(spans, result => {
        const hasFailed = result.error !== undefined
        if (hasFailed && !isFailing)
          logger.warn({ err: result.error }, `traces cannot be sent to ${redact(address)}`)
        if (!hasFailed && isFailing) logger.info('traces can be sent again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}

type Tracer = ReturnType<InstanceType<OpenTelemetry['BasicTracerProvider']>['getTracer']>

/** The names of attributes follow OpenTelemetry's semantic conventions for HTTP and for databases. */
function createTracer(openTelemetry: OpenTelemetry, tracer: Tracer): Omit<Traces, 'close'> {
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, defaultTextMapGetter } = openTelemetry
  const propagator = new openTelemetry.W3CTraceContextPropagator()
  const current = new AsyncLocalStorage<Context>()
  const requests = new WeakMap<object, Span>()

  const fail = (span: Span, error: unknown) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'INTERNAL_ERROR'
    span.setAttribute('error.type', code)
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  }
  const start = (name: string, options: SpanOptions, parent: Context) => {
    const span = tracer.startSpan(name, options, parent)
    return { span, context: trace.setSpan(parent, span) }
  }
  return {
    request(call, work) {
      const parent = propagator.extract(ROOT_CONTEXT, call.headers, defaultTextMapGetter)
      const attributes = {
        'http.request.method': call.method,
        'url.path': redact(call.path),
        'url.scheme': 'http',
        'portico.request_id': call.requestId,
      }
      const { span, context } = start(call.method, { kind: SpanKind.SERVER, attributes }, parent)
      requests.set(call, span)
      return current.run(context, work)
    },
    answered(call, route, status) {
      const span = requests.get(call)
      if (span === undefined) return
      span.updateName(`${call.method} ${route}`)
      span.setAttributes({ 'http.route': route, 'http.response.status_code': status })
      // The parameters in the path of a model's own route may be secrets.
      if (route.includes('/:')) span.setAttribute('url.path', route)
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
    step(name, attributes, work) {
      const parent = current.getStore()
      // Work that outlives its request, e.g. a subscription's timer, belongs to no span.
      if (parent === undefined || trace.getSpan(parent)?.isRecording() !== true) return work()
      const { span, context } = start(name, { attributes }, parent)
      try {
        const result = current.run(context, work)
        if (result instanceof Promise)
          result.then(
            () => span.end(),
            error => fail(span, error),
          )
        else span.end()
        return result
      } catch (error) {
        fail(span, error)
        throw error
      }
    },
  }
}
