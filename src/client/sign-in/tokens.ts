/** The tokens of one tab: kept, refreshed once at a time, and told to the other tabs that have the same. */
import { ApiError } from '../api-error.ts'
import { openStorage, page, type TextStorage } from './page.ts'
import type { AuthorizationServer, TokenResponse } from './server.ts'

interface Tokens {
  readonly access: string
  readonly refresh: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** A duplicated tab has a copy of the tokens, of which the first refresh makes the others void. */
interface Replaced {
  readonly refresh: string
  readonly by: Tokens | null
}

interface TokensParts {
  readonly server: AuthorizationServer
  readonly clientId: string
  /** Tells apart what several apps of one origin keep. */
  readonly name: string
  readonly storage: 'session' | 'memory'
  readonly onChange: (isSignedIn: boolean) => void
}

/** Before it expires, so that it does not on its way. */
const marginMs = 30_000
const lifetimeMs = 3_600_000

export class TokenStore {
  readonly #parts: TokensParts
  readonly #storage: TextStorage
  readonly #channel: InstanceType<NonNullable<typeof page.BroadcastChannel>> | undefined
  #refreshing: Promise<void> | undefined

  constructor(parts: TokensParts) {
    this.#parts = parts
    this.#storage = openStorage(parts.storage)
    if (!page.BroadcastChannel) return
    this.#channel = new page.BroadcastChannel(parts.name)
    this.#channel.unref?.()
    this.#channel.onmessage = ({ data }) => this.#replaced(data as Replaced)
  }

  get isSignedIn(): boolean {
    return this.#tokens !== undefined
  }

  keep(response: TokenResponse): void {
    this.#keep(tokensOf(response))
  }

  /** `refused`: what the service has not taken. Undefined: nobody is signed in. */
  async access(refused?: string): Promise<string | undefined> {
    const tokens = this.#tokens
    if (tokens === undefined) return undefined
    if (tokens.access !== refused && Date.now() < tokens.expiresAt - marginMs) return tokens.access
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
    await this.#parts.server.revoke(this.#parts.clientId, tokens.refresh ?? tokens.access)
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
    this.#tell(refresh, null)
  }

  #drop(): void {
    this.#storage.removeItem(this.#parts.name)
    this.#parts.onChange(false)
  }

  #tell(refresh: string | undefined, by: Tokens | null): void {
    if (refresh !== undefined) this.#channel?.postMessage({ refresh, by } satisfies Replaced)
  }

  #replaced({ refresh, by }: Replaced): void {
    if (this.#tokens?.refresh !== refresh) return
    if (by === null) this.#drop()
    else this.#keep(by)
  }

  /** One tab of the app at a time. */
  #exclusively(work: () => Promise<void>): Promise<void> {
    const { locks } = page.navigator ?? {}
    return locks ? locks.request(this.#parts.name, work) : work()
  }

  /** Another tab may have done it while this one waited. */
  async #refresh(old: string): Promise<void> {
    const tokens = this.#tokens
    if (tokens === undefined || tokens.access !== old) return
    if (tokens.refresh === undefined) return this.#forget(tokens)
    try {
      const response = await this.#parts.server.refreshed(this.#parts.clientId, tokens.refresh)
      const next = tokensOf({ refresh_token: tokens.refresh, ...response })
      this.#keep(next)
      this.#tell(tokens.refresh, next)
    } catch (error) {
      // Whoever is told so has to sign in again.
      if (error instanceof ApiError && error.status === 400) this.#forget(tokens)
      else throw error
    }
  }
}

function tokensOf({ access_token, refresh_token, expires_in }: TokenResponse): Tokens {
  const ms = expires_in === undefined ? lifetimeMs : expires_in * 1_000
  return { access: access_token, refresh: refresh_token, expiresAt: Date.now() + ms }
}
