/**
 * Sends every HTTP request that leaves the process. Addresses are checked on the connection that is used, so DNS rebinding
 * between lookup and connect gains nothing. Redirects are not followed. Time and size are bounded.
 */
import { lookup as resolve } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Agent, buildConnector, Dispatcher } from 'undici'
import { isPublicAddress } from './addresses.ts'
import { OutgoingError } from './errors.ts'

export interface OutgoingOptions {
  /** Whether private, loopback and link-local addresses are allowed. */
  readonly allowPrivate: boolean
  /** The maximum number of connections to one host. Default: 10. */
  readonly maxConnectionsPerHost?: number
  /** Resolves names, as `dns.lookup` does. */
  readonly lookup?: typeof resolve
}

export interface OutgoingRequest {
  readonly url: string
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** From the DNS lookup to the end of the body. */
  readonly timeoutMs: number
  readonly maxBodyBytes: number
  /** Truncates a larger body to `maxBodyBytes` instead of failing. */
  readonly truncates?: boolean
  readonly signal?: AbortSignal
}

export interface OutgoingResponse {
  readonly status: number
  /** By lower-case name; of a repeated header, the first value. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export class Outgoing {
  readonly #options: OutgoingOptions
  #agent: Promise<Agent> | undefined
  #isClosed = false

  constructor(options: OutgoingOptions) {
    this.#options = options
  }

  /** Sends one request. Resolves with any status, redirects included. Rejects with an `OutgoingError`. */
  async request(request: OutgoingRequest): Promise<OutgoingResponse> {
    const url = parseUrl(request.url)
    const deadline = AbortSignal.timeout(request.timeoutMs)
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal])
    try {
      if (this.#isClosed) throw new Error('The HTTP client is closed.')
      this.#agent ??= createAgent(this.#options)
      const agent = await this.#agent
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: request.method ?? 'GET',
        headers: { ...request.headers },
        body: request.body ?? null,
        signal,
      })
      const bytes = await readBody(body, request, url.host)
      return { status: statusCode, headers: firstValues(headers), body: bytes }
    } catch (cause) {
      throw toOutgoingError(cause, url.host, deadline.aborted, request.signal?.aborted === true)
    }
  }

  /** Closes the connections. Requests in progress are aborted. */
  async close(): Promise<void> {
    this.#isClosed = true
    const agent = await this.#agent
    await agent?.destroy()
  }
}

/** Loads undici with the first request: loading it takes a fifth of a service's start time. */
async function createAgent(options: OutgoingOptions): Promise<Agent> {
  const { allowPrivate, maxConnectionsPerHost = 10, lookup = resolve } = options
  const { Agent, buildConnector } = await import('undici')
  const connector = buildConnector({
    lookup: allowPrivate ? (lookup as LookupFunction) : publicLookup(lookup),
    autoSelectFamily: true,
    timeout: 10_000,
  })
  return new Agent({
    connections: maxConnectionsPerHost,
    connect: allowPrivate ? connector : publicConnector(connector),
    keepAliveTimeout: 4000,
    maxHeaderSize: 16_384,
    // With pipelining, a server could answer a request with the response to another one.
    pipelining: 1,
  })
}

function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new OutgoingError('url_refused', 'The URL must be an absolute http or https URL.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutgoingError('url_refused', 'The URL must not contain a user name or password.')
  }
  return url
}

/** A `lookup` that returns only public addresses. Node calls it for names, not for literal addresses. */
function publicLookup(lookup: typeof resolve): LookupFunction {
  return (name, options, callback) => {
    lookup(name, { ...options, all: true }, (error, resolved) => {
      if (error !== null) return callback(error, [])
      const addresses = resolved.filter(({ address }) => isPublicAddress(address))
      if (addresses.length === 0) return callback(addressRefused(name), [])
      const [first] = addresses
      if (options.all === true) callback(null, addresses)
      else callback(null, first?.address ?? '', first?.family)
    })
  }
}

/** Checks literal addresses before connecting, and the peer address of every socket afterwards. */
function publicConnector(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !isPublicAddress(host)) return callback(addressRefused(host), null)
    connect(options, (...[error, socket]: [Error | null, Socket | null]) => {
      if (error !== null || socket === null) return callback(error ?? addressRefused(host), null)
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(addressRefused(host), null)
    })
  }
}

function addressRefused(host: string): OutgoingError {
  return new OutgoingError('address_refused', `${host} does not have a public address.`)
}

async function readBody(
  body: Dispatcher.ResponseData['body'],
  { maxBodyBytes, truncates = false }: OutgoingRequest,
  host: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length <= maxBodyBytes) continue
    // Leaving the loop destroys the body, and with it the connection.
    if (truncates) break
    throw new OutgoingError('body_too_large', `${host} sent more than ${maxBodyBytes} bytes.`)
  }
  return Buffer.concat(chunks).subarray(0, maxBodyBytes)
}

function firstValues(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? ''])
  return Object.assign(Object.create(null), Object.fromEntries(entries)) as Record<string, string>
}

function toOutgoingError(
  cause: unknown,
  host: string,
  isTimedOut: boolean,
  isAborted: boolean,
): OutgoingError {
  const outgoing = [cause, (cause as Error | undefined)?.cause].find(error => error instanceof OutgoingError)
  if (outgoing !== undefined) return outgoing
  if (isAborted) return new OutgoingError('aborted', `The request to ${host} was aborted.`, { cause })
  const { code = '', name } = cause as { readonly code?: string; readonly name?: string }
  if (isTimedOut || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new OutgoingError('timed_out', `${host} did not answer in time.`, { cause })
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new OutgoingError('name_not_found', `${host} cannot be resolved.`, { cause })
  }
  if (/CERT|TLS|SSL|ERR_TLS|SELF_SIGNED|VERIFY/.test(code)) {
    return new OutgoingError('tls_failed', `${host} has no valid certificate.`, { cause })
  }
  const isMalformed = name === 'HTTPParserError' || /_OVERFLOW$|_MISMATCH$/.test(code)
  if (isMalformed || code === 'UND_ERR_SOCKET') {
    const fault = isMalformed
      ? 'sent a malformed HTTP response'
      : 'ended the connection without a whole response'
    return new OutgoingError('response_malformed', `${host} ${fault}.`, { cause })
  }
  return new OutgoingError('connection_failed', `${host} cannot be reached.`, { cause })
}
