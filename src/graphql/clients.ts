/** Those who stay connected: their credentials are asked for again and again, and they leave when refused. */
import { ApiError } from '../errors.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'

/** The headers in which a credential comes. */
export interface CredentialHeaders {
  readonly authorization?: string | undefined
  readonly 'x-api-key'?: string | undefined
  /** Came with the HTTP request, which was accepted with whatever proof the credential takes (RFC 9449, 7). */
  readonly proven?: boolean
}

export type Identify = (credential: CredentialHeaders, address: string) => Awaitable<Principal>

export interface Client {
  /** Undefined: nobody is signed in, and nothing can expire. */
  readonly credential: CredentialHeaders | undefined
  readonly address: string
  readonly principal: Principal
  /** The same credential now stands for other rights. */
  become(principal: Principal): void
  /** The credential has expired, or was revoked. */
  refuse(error: ApiError): void
}

/** How often credentials are asked for, in milliseconds: a revoked one works no longer than this. */
const EVERY = 500

export class Clients {
  readonly #identify: Identify
  readonly #onFault: (error: unknown) => void
  readonly #clients = new Set<Client>()
  #timer: NodeJS.Timeout | undefined
  /** Whether it was told that credentials cannot be looked at. */
  #isTold = false

  constructor(identify: Identify, onFault: (error: unknown) => void) {
    this.#identify = identify
    this.#onFault = onFault
  }

  add(client: Client): void {
    if (client.credential === undefined) return
    this.#clients.add(client)
    this.#timer ??= setInterval(() => this.#sweep(), EVERY).unref()
  }

  remove(client: Client): void {
    this.#clients.delete(client)
    if (this.#clients.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Asks for every credential now. Waits only where the answer takes time. */
  check(): Awaitable<void> {
    const known = new Map<string, Awaitable<Principal | ApiError | undefined>>()
    const waiting: Promise<void>[] = []
    for (const client of this.#clients) {
      const { authorization, 'x-api-key': key } = client.credential ?? {}
      const text = `${authorization} ${key}`
      const now = known.get(text) ?? this.#ask(client)
      known.set(text, now)
      if (now instanceof Promise) waiting.push(now.then(later => this.#settle(client, later)))
      else this.#settle(client, now)
    }
    if (waiting.length > 0) return Promise.all(waiting).then(() => {})
  }

  #sweep(): void {
    const checked = this.check()
    if (checked instanceof Promise) checked.catch(this.#onFault)
  }

  /** Undefined: it cannot be told now, and the next look may tell. */
  #ask({ credential, address }: Client): Awaitable<Principal | ApiError | undefined> {
    const failed = (error: unknown) => {
      if (error instanceof ApiError && error.status < 500) return error
      if (!this.#isTold) this.#onFault(error)
      this.#isTold = true
      return undefined
    }
    try {
      const principal = this.#identify(credential ?? {}, address)
      return principal instanceof Promise ? principal.catch(failed) : principal
    } catch (error) {
      return failed(error)
    }
  }

  #settle(client: Client, now: Principal | ApiError | undefined): void {
    if (now === undefined) return
    this.#isTold = false
    if (now instanceof ApiError) return void client.refuse(now)
    const { principal } = client
    if (now.userId !== principal.userId || now.access !== principal.access) client.become(now)
  }
}
