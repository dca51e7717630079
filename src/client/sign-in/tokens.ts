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
const marginMs = 30_000
/** The lifetime to assume if the server does not send one. */
const lifetimeMs = 3_600_000
const maxFormer = 20

export class TokenStore {
  readonly #parts: TokensParts
  readonly #storage: TextStorage
  /** Undefined for `memory`: duplicating a tab copies only `sessionStorage`. */
  readonly #tabs: Tabs | undefined
  /** Refresh tokens that were revoked in this tab. */
  readonly #revoked = new Set<string>()
  #refreshing: Promise<void> | undefined

  constructor(parts: TokensParts) {
    this.#parts = parts
    this.#storage = openStorage(parts.storage)
    if (parts.storage === 'memory') return
    this.#tabs = Tabs.open({
      name: parts.name,
      successorOf: refresh => this.#successorOf(refresh),
      adopt: (refresh, by) => this.#tokens?.refresh === refresh && this.#adopt(by),
    })
  }

  get isSignedIn(): boolean {
    return this.#tokens !== undefined
  }

  keep(response: TokenResponse): void {
    this.#keep(tokensOf(response, []))
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

  #keep(tokens: Tokens): void {
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

  #adopt(by: Tokens | null): void {
    if (by === null) this.#drop()
    else this.#keep(by)
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
    const known = await this.#tabs?.ask(tokens.refresh)
    if (!this.#holds(tokens)) return
    if (known !== undefined) return this.#adopt(known)
    await this.#replace(tokens, tokens.refresh)
  }

  async #replace(tokens: Tokens, refresh: string): Promise<void> {
    const response = await this.#refreshed(tokens, refresh)
    if (response === undefined) return
    const former = [...tokens.former, refresh].slice(-maxFormer)
    const next = tokensOf({ refresh_token: refresh, ...response }, former)
    if (this.#holds(tokens)) {
      this.#keep(next)
      this.#tabs?.notify(refresh, next)
    } else if (!this.isSignedIn) await this.#revoke(next).catch(() => undefined)
  }

  /** Returns undefined if the server refuses the refresh token: the user must sign in again. */
  async #refreshed(tokens: Tokens, refresh: string): Promise<TokenResponse | undefined> {
    try {
      return await this.#parts.server.refreshed(this.#parts.clientId, refresh)
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 400)) throw error
      if (this.#holds(tokens)) this.#forget(tokens)
      return undefined
    }
  }

  /** Whether these are still the tab's tokens: the user may have signed out meanwhile. */
  #holds({ access }: Tokens): boolean {
    return this.#tokens?.access === access
  }

  #revoke({ access, refresh = access }: Tokens): Promise<void> {
    return this.#parts.server.revoke(this.#parts.clientId, refresh)
  }
}

function tokensOf(response: TokenResponse, former: readonly string[]): Tokens {
  const { access_token: access, refresh_token: refresh, expires_in } = response
  const ms = expires_in === undefined ? lifetimeMs : expires_in * 1_000
  return { access, refresh, refreshAt: Date.now() + Math.max(ms - marginMs, ms / 2), former }
}
