/** The browsers whose requests are being answered: what is remembered of one in its session. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { Context } from 'oidc-provider'
import { Provider } from './library.ts'

export interface BrowserInfo {
  readonly userAgent: string
  readonly address: string
}

const unknown: BrowserInfo = { userAgent: '', address: '' }

/** What the library answers at the moment. */
export function currentContext(): Context | undefined {
  return (Provider as unknown as { ctx: Context | undefined }).ctx
}

export class Browsers {
  readonly #byRequest = new WeakMap<IncomingMessage, BrowserInfo>()
  /** The one that signs in outside of an authorization request. */
  readonly #signingIn = new AsyncLocalStorage<BrowserInfo>()

  /** `address`: where the request comes from; the library's own view of it counts for nothing. */
  see(req: IncomingMessage, address: string): BrowserInfo {
    const seen = { userAgent: String(req.headers['user-agent'] ?? '').slice(0, 300), address }
    this.#byRequest.set(req, seen)
    return seen
  }

  /** Runs `work` for a browser that the library does not answer. */
  during<T>(browser: BrowserInfo, work: () => Promise<T>): Promise<T> {
    return this.#signingIn.run(browser, work)
  }

  current(): BrowserInfo {
    const ctx = currentContext()
    return (ctx && this.#byRequest.get(ctx.req)) ?? this.#signingIn.getStore() ?? unknown
  }
}
