/** Sends requests, with credentials, time limits and retries. */
import { type Answer, errorOf, readAnswer, unreachable } from './answer.ts'
import { ApiError } from './api-error.ts'
import { pause, pauseAfter } from './retry.ts'
import type { CallOptions, ClientOptions, WriteOptions } from './types/options.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path below the connection's root, with the query. */
  readonly path: string
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly options: WriteOptions
}

/** Rejects with an `ApiError`, or with the reason of the call's signal. */
export type Send = (request: ApiRequest) => Promise<Answer>

type HeaderValues = Record<string, string>

const defaultTimeoutMs = 30_000
const defaultRetries = 3
/** The longest delay of a timer (HTML Living Standard, 8.6): one with a longer delay fires immediately. */
const maxTimerMs = 2 ** 31 - 1

export class Connection {
  readonly #base: string
  readonly #options: ClientOptions

  /** Throws a `TypeError` if `baseUrl` is not a valid URL. `root`: the prefix of every path. */
  constructor(options: ClientOptions, root = '/api/v1') {
    this.#base = `${originOf(options.baseUrl)}${root}`
    this.#options = options
  }

  readonly send: Send = request => {
    const headers = headersOf(request)
    return this.retried(request.options, () => this.#attempt(request, headers))
  }

  /** Attempts again after errors that may pass. */
  async retried<T>(options: CallOptions, attempt: () => Promise<T>): Promise<T> {
    const retries = options.retries ?? this.#options.retries ?? defaultRetries
    for (let count = 0; ; count++) {
      try {
        return await attempt()
      } catch (error) {
        const waitMs = error instanceof ApiError && count < retries ? pauseAfter(error, count) : undefined
        if (waitMs === undefined) throw error
        await pause(waitMs, options.signal)
      }
    }
  }

  /** Opens a stream that the signal ends, without a time limit and without retries. Resolves when the headers have arrived. */
  async open(path: string, mediaType: string, signal: AbortSignal): Promise<Response> {
    const response = await this.#authorized(path, { headers: { accept: mediaType }, signal })
    if (!response.ok) await readAnswer(response)
    if (response.headers.get('content-type')?.startsWith(mediaType) && response.body) return response
    await response.body?.cancel()
    throw errorOf(response, undefined, 'UNEXPECTED_ANSWER', `The response is not ${mediaType}.`)
  }

  /** As `open`. Only until the headers have arrived, the time limit applies. */
  async openWithin(path: string, mediaType: string, options: CallOptions): Promise<Response> {
    const limit = this.#timeLimit(options)
    try {
      const response = await this.open(path, mediaType, limit.signal)
      limit.endTime()
      return response
    } catch (error) {
      limit.end()
      throw limit.reasonOf(error)
    }
  }

  #timeLimit({ timeoutMs, signal }: CallOptions): RequestTimeLimit {
    return new RequestTimeLimit(timeoutMs ?? this.#options.timeoutMs ?? defaultTimeoutMs, signal)
  }

  async #attempt({ method, path, body, options }: ApiRequest, headers: HeaderValues): Promise<Answer> {
    const limit = this.#timeLimit(options)
    try {
      const payload = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await this.#authorized(path, { method, headers, ...payload, signal: limit.signal })
      return await readAnswer(response)
    } catch (error) {
      throw limit.reasonOf(error)
    } finally {
      limit.end()
    }
  }

  /** After a 401 requests the token once more, because it may have expired. */
  async #authorized(path: string, init: RequestInit & { headers: HeaderValues }): Promise<Response> {
    const token = await this.#token(init.signal)
    const response = await this.#fetch(path, init, token)
    if (response.status !== 401 || token === undefined) return response
    const next = await this.#token(init.signal, token)
    if (next === undefined || next === token) return response
    await response.body?.cancel()
    return this.#fetch(path, init, next)
  }

  /** Waits for the token at most until the attempt is aborted. */
  async #token(signal: RequestInit['signal'], refused?: string): Promise<string | undefined> {
    const { token } = this.#options
    if (typeof token !== 'function') return token
    const supplied = token(refused)
    return supplied instanceof Promise && signal ? untilAborted(supplied, signal) : supplied
  }

  async #fetch(
    path: string,
    init: RequestInit & { headers: HeaderValues },
    token?: string,
  ): Promise<Response> {
    const credential: HeaderValues = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { ...lowerCased(this.#options.headers), ...init.headers, ...credential }
    const send = this.#options.fetch ?? globalThis.fetch
    try {
      // The API never redirects, and no other server may receive the token. Some runtimes lack `redirect: 'error'`.
      return unredirected(await send(`${this.#base}${path}`, { ...init, headers, redirect: 'manual' }))
    } catch (error) {
      if (init.signal?.aborted || error instanceof ApiError) throw error
      throw unreachable(this.#base, error)
    }
  }
}

/** `fetch` would join two names that differ only in case. */
function lowerCased(headers: ClientOptions['headers'] = {}): HeaderValues {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Rejects with the signal's reason. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

/** Throws if the response is a redirect. */
export function unredirected(response: Response): Response {
  const { status, type } = response
  if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return response
  const message =
    'The server redirects to another address: set `baseUrl` to the address of the service itself.'
  throw errorOf(response, undefined, 'REDIRECTED', message, 300)
}

/** Aborts an attempt after a time, or with the call's signal. */
class RequestTimeLimit {
  readonly #controller = new AbortController()
  readonly #limitMs: number
  readonly #callSignal: AbortSignal | undefined
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #abort = () => this.#controller.abort(this.#callSignal?.reason)

  constructor(limitMs: number, callSignal: AbortSignal | undefined) {
    this.#limitMs = limitMs
    this.#callSignal = callSignal
    this.#timer = setTimeout(() => this.#controller.abort(), Math.min(limitMs, maxTimerMs))
    if (callSignal?.aborted) this.#abort()
    callSignal?.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The call's signal still aborts. */
  endTime(): void {
    clearTimeout(this.#timer)
  }

  end(): void {
    this.endTime()
    this.#callSignal?.removeEventListener('abort', this.#abort)
  }

  /** The reason for which the attempt failed. */
  reasonOf(error: unknown): unknown {
    if (this.#callSignal?.aborted) return this.#callSignal.reason
    if (!this.signal.aborted) return error
    const message = `The service did not respond within ${this.#limitMs} ms.`
    return new ApiError({ status: 0, code: 'TIMEOUT', message })
  }
}

function headersOf({ method, body, ifMatch, options }: ApiRequest): HeaderValues {
  return {
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(method !== 'GET' && { 'idempotency-key': options.idempotencyKey ?? randomText() }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
}

/** 128 random bits. Not `randomUUID`, which browsers have only on secure origins. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns the URL without a trailing slash, by default the page's or worker's origin. Throws a `TypeError` if it is invalid. */
export function originOf(baseUrl: string | URL | undefined): string {
  const address =
    baseUrl ?? (globalThis as { readonly location?: { readonly origin: string } }).location?.origin
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined
  // `localhost:3000` is a URL with the scheme `localhost`.
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new TypeError("`baseUrl` must be the address of the service, e.g. 'https://api.example.com'.")
  const { origin, pathname } = url
  return `${origin}${pathname.replace(/\/+$/, '')}`
}
