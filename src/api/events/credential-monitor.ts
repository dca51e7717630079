/** Rechecks the credentials of connected clients, and disconnects clients whose credential is refused. */

import type { Awaitable } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'

/** The headers that carry a credential. */
export interface CredentialHeaders {
  readonly authorization?: string | undefined
  readonly 'x-api-key'?: string | undefined
  /** The session cookie, of a request from the service's own pages; a session that has ended is refused. */
  readonly cookie?: string | undefined
  /** The HTTP request proved possession of the key, if the credential needs it (RFC 9449, 7). */
  readonly proven?: boolean
}

/** Fails with UNAUTHORIZED. */
export type Identify = (credential: CredentialHeaders, address: string) => Awaitable<Principal>

export interface ConnectedClient {
  /** Undefined for an anonymous client: nothing can expire. */
  readonly credential: CredentialHeaders | undefined
  readonly address: string
  readonly principal: Principal
  /** The same credential now gives other rights. */
  changePrincipal(principal: Principal): void
  /** The credential has expired or was revoked. */
  disconnect(error: ApiError): void
}

/** The longest time for which a revoked credential still works. */
const recheckIntervalMs = 500

/** A change in one of these may end or change a credential. */
const credentialCollections = ['api_keys', 'users']

export class CredentialMonitor {
  readonly #identify: Identify
  readonly #onFault: (error: unknown) => void
  readonly #clients = new Set<ConnectedClient>()
  #timer: NodeJS.Timeout | undefined
  #isRechecking = false
  /** Whether the current failure to check credentials has been reported. */
  #isReported = false

  constructor(identify: Identify, onFault: (error: unknown) => void) {
    this.#identify = identify
    this.#onFault = onFault
  }

  add(client: ConnectedClient): void {
    if (client.credential === undefined) return
    this.#clients.add(client)
    this.#timer ??= setInterval(() => this.#recheck(), recheckIntervalMs).unref()
  }

  remove(client: ConnectedClient): void {
    this.#clients.delete(client)
    if (this.#clients.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Checks every credential if changes in these collections may have revoked one. */
  checkAfterChangesOf(collections: ReadonlySet<string>): Awaitable<void> {
    if (credentialCollections.some(name => collections.has(name))) return this.check()
  }

  /** Checks every credential now. Returns a promise only where a check takes time. */
  check(): Awaitable<void> {
    const results = new Map<string, Awaitable<Principal | ApiError | undefined>>()
    const pending: Promise<void>[] = []
    for (const client of this.#clients) {
      const { authorization, 'x-api-key': apiKey, cookie } = client.credential ?? {}
      // No header contains a line end.
      const key = `${authorization}\n${apiKey}\n${cookie}`
      const result = results.get(key) ?? this.#identifyAgain(client)
      results.set(key, result)
      if (result instanceof Promise) pending.push(result.then(resolved => this.#apply(client, resolved)))
      else this.#apply(client, result)
    }
    if (pending.length > 0) return Promise.all(pending).then(() => {})
  }

  /** While a check takes longer than the interval, no further check begins: checks must not pile up. */
  async #recheck(): Promise<void> {
    if (this.#isRechecking) return
    this.#isRechecking = true
    try {
      await this.check()
    } catch (error) {
      this.#onFault(error)
    } finally {
      this.#isRechecking = false
    }
  }

  /** Resolves to undefined if the check itself fails: the next one may succeed. */
  #identifyAgain({ credential, address }: ConnectedClient): Awaitable<Principal | ApiError | undefined> {
    const handleError = (error: unknown): ApiError | undefined => {
      if (error instanceof ApiError && error.status < 500) return error
      if (!this.#isReported) this.#onFault(error)
      this.#isReported = true
      return undefined
    }
    try {
      const principal = this.#identify(credential ?? {}, address)
      return principal instanceof Promise ? principal.catch(handleError) : principal
    } catch (error) {
      return handleError(error)
    }
  }

  #apply(client: ConnectedClient, result: Principal | ApiError | undefined): void {
    if (result === undefined || !this.#clients.has(client)) return
    this.#isReported = false
    if (result instanceof ApiError) return void client.disconnect(result)
    const { userId, access } = client.principal
    if (result.userId !== userId || result.access !== access) client.changePrincipal(result)
  }
}
