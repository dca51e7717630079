/** Data about the current request that oidc-provider does not have. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { Context } from 'oidc-provider'
import type { Parameters } from '../requests/form.ts'
import { Provider } from './load.ts'

/** What a session stores about its browser. */
export interface BrowserInfo {
  readonly userAgent: string
  readonly address: string
  /** ISO 3166-1 alpha-2; undefined unless a trusted proxy reports it. */
  readonly country?: string | undefined
}

/** Why a request is refused, whatever oidc-provider would answer. */
export interface OauthRefusal {
  readonly error: string
  readonly description: string
  /** Whether only a client that oidc-provider has authenticated may see it. */
  readonly afterAuthentication: boolean
}

export interface RequestState {
  readonly browser: BrowserInfo
  /** The form in the body, as oidc-provider gets it. */
  readonly form?: Parameters | undefined
  readonly refusal?: OauthRefusal | undefined
  /** Set if the response is an error that may indicate guessing. */
  wasRefused?: boolean
  /** Why the code or refresh token was refused. */
  invalidGrantReason?: string
  /** See `deferred-writes.ts`. */
  deferredWrites?: (() => Promise<unknown>)[]
}

const states = new AsyncLocalStorage<RequestState>()

/** Runs `work`, in which `currentState` returns `state`. */
export function withRequestState<T>(state: RequestState, work: () => Promise<T>): Promise<T> {
  return states.run(state, work)
}

/** Undefined outside a request. */
export function currentState(): RequestState | undefined {
  return states.getStore()
}

/** Koa's context of the request that oidc-provider is answering. */
export function currentContext(): Context | undefined {
  return (Provider as unknown as { ctx: Context | undefined }).ctx
}

/** The browser of a request. `country`: ISO 3166-1 alpha-2. */
export function browserOf(req: IncomingMessage, address: string, country: string | undefined): BrowserInfo {
  return { userAgent: String(req.headers['user-agent'] ?? '').slice(0, 300), address, country }
}
