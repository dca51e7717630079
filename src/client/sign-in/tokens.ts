/** Stores the tokens of one tab, and runs one refresh at a time. */
import { ApiError } from '../api-error.ts'
import { openStorage, type TextStorage } from './page.ts'
import type { AuthorizationServer, TokenResponse } from './server.ts'
import { type Successor, Tabs, type Tokens } from './tabs.ts'

interface TokensParts {
  readonly server: AuthorizationServer
  readonly clientId: string
  /** The key of the stored tokens: several apps may share an origin. */
  readonly name: string
  readonly storage: 'session' | 'memory'
  readonly onChange: (isSignedIn: boolean) => void
}

/** Tokens are refreshed this long before they expire; short-lived ones after half of their lifetime. */
const refreshMarginMs = 30_000
/** The lifetime to assume if the server does not send one. */
const defaultLifetimeMs = 3_600_000
const maxFormer = 20

export class TokenStore {
  readonly #parts: TokensParts
  readonly #storage: TextStorage
  /** Undefined for `memory`: duplicating a tab copies only `sessionStorage`. */
  readonly #tabs: Tabs | undefined
  /** Refresh tokens that this tab has revoked. */
  readonly #revoked = new Set<string>()
  #refreshing: Promise<void> | undefined

  constructor(parts: TokensParts) {
    this.#parts = parts
    this.#storage = openStorage(parts.storage)
    if (parts.storage === 'memory') return
    this.#tabs = Tabs.open({
      name: parts.name,
      successorOf: refresh => this.#successorOf(refresh),
      adopt: (refresh, successor) => this.#tokens?.refresh === refresh && this.#adopt(successor),
    })
  }

  get isSignedIn(): boolean {
    return this.#tokens !== undefined
  }

  store(response: TokenResponse): void {
    this.#store(tokensOf(response, []))
  }

  /** `refused`: the token that the service refused. Returns undefined if nobody is signed in. */
  async access(refused?: string): Promise<string | undefined> {
    const tokens = this.#tokens
    if (tokens === undefined) return undefined
    if (tokens.access !== refused && Date.now() < tokens.refreshAt) return tokens.access
    this.#refreshing ??= this.#exclusively(() => this.#refresh(tokens.access)).finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
    return this.#tokens?.access
  }

  /** Forgets the tokens, then revokes them. */
  async end(): Promise<void> {
    const tokens = this.#tokens
    if (tokens === undefined) return
    this.#forget(tokens)
    await this.#revoke(tokens)
  }

  get #tokens(): Tokens | undefined {
    const text = this.#storage.getItem(this.#parts.name)
    return text === null ? undefined : JSON.parse(text)
  }

  #store(tokens: Tokens): void {
    const wasSignedIn = this.isSignedIn
    this.#storage.setItem(this.#parts.name, JSON.stringify(tokens))
    if (!wasSignedIn) this.#parts.onChange(true)
  }

  #forget({ refresh }: Tokens): void {
    this.#drop()
    if (refresh === undefined) return
    this.#revoked.add(refresh)
    this.#tabs?.notify(refresh, null)
  }

  #drop(): void {
    this.#storage.removeItem(this.#parts.name)
    this.#parts.onChange(false)
  }

  #adopt(successor: Tokens | null): void {
    if (successor === null) this.#drop()
    else this.#store(successor)
  }

  #successorOf(refresh: string): Successor {
    if (this.#revoked.has(refresh)) return null
    const tokens = this.#tokens
    return tokens?.former.includes(refresh) ? tokens : undefined
  }

  #exclusively(work: () => Promise<void>): Promise<void> {
    return this.#tabs ? this.#tabs.exclusively(work) : work()
  }

  /** Another tab may have refreshed the tokens while this tab waited for the lock, or was suspended. */
  async #refresh(old: string): Promise<void> {
    const tokens = this.#tokens
    if (tokens === undefined || tokens.access !== old) return
    if (tokens.refresh === undefined) return this.#forget(tokens)
    const successor = await this.#tabs?.ask(tokens.refresh)
    if (!this.#areCurrent(tokens)) return
    if (successor !== undefined) return this.#adopt(successor)
    await this.#replace(tokens, tokens.refresh)
  }

  async #replace(tokens: Tokens, refresh: string): Promise<void> {
    const response = await this.#requestTokens(tokens, refresh)
    if (response === undefined) return
    const former = [...tokens.former, refresh].slice(-maxFormer)
    const next = tokensOf({ refresh_token: refresh, ...response }, former)
    if (this.#areCurrent(tokens)) {
      this.#store(next)
      this.#tabs?.notify(refresh, next)
    } else if (!this.isSignedIn) await this.#revoke(next).catch(() => undefined)
  }

  /** Returns undefined if the server refuses the refresh token: the user must sign in again. */
  async #requestTokens(tokens: Tokens, refresh: string): Promise<TokenResponse | undefined> {
    try {
      return await this.#parts.server.refresh(this.#parts.clientId, refresh)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error
      if (this.#areCurrent(tokens)) this.#forget(tokens)
      return undefined
    }
  }

  /** Whether these are still the tab's tokens: the user may have signed out meanwhile. */
  #areCurrent({ access }: Tokens): boolean {
    return this.#tokens?.access === access
  }

  #revoke({ access, refresh = access }: Tokens): Promise<void> {
    return this.#parts.server.revoke(this.#parts.clientId, refresh)
  }
}

function tokensOf(response: TokenResponse, former: readonly string[]): Tokens {
  const { access_token: access, refresh_token: refresh, expires_in } = response
  const lifetimeMs = expires_in === undefined ? defaultLifetimeMs : expires_in * 1_000
  return {
    access,
    refresh,
    refreshAt: Date.now() + Math.max(lifetimeMs - refreshMarginMs, lifetimeMs / 2),
    former,
  }
}
