/** The arguments and results of routes. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { LogicApp, LogicUser } from '../logic/logic.ts'
import type { CallerActionCalls } from './actions.ts'
import type { ActionDataIn, OnceResult, TransactionEffectsIn } from './data.ts'
import type { Flat } from './item.ts'
import type { ReceivedIn } from './received.ts'
import type { AnyEarlier, RunTools } from './run.ts'

type ParameterOf<Segment> = Segment extends `:${infer Name}` ? Name : never
type ParametersOf<Path> = Path extends `${infer Segment}/${infer Rest}`
  ? ParameterOf<Segment> | ParametersOf<Rest>
  : ParameterOf<Path>

/** A request to a route. */
export interface RouteRequest<Params = Readonly<Record<string, string>>> {
  readonly method: string
  /** Without the path of `baseUrl`, still encoded. */
  readonly path: string
  /** The decoded values of `:name` in the path. */
  readonly params: Params
  readonly query: URLSearchParams
  /** By name, in lower case, as they were sent: credentials too. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body as it was sent. */
  readonly bytes: Uint8Array
  /** The body as UTF-8; bytes that are not UTF-8 become U+FFFD. */
  readonly text: string
  /** The client's address: see `trustProxy`. */
  readonly ip: string
}

/** What `run` returns; undefined: 204. */
export interface RouteAnswer {
  /** 200 to 599. Default: 200, without a body 204. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * A text, bytes, a stream (`ReadableStream`, or anything iterable that yields texts or bytes), or a plain object or array,
   * which is sent as JSON.
   */
  readonly body?: string | object | null
}

type SignedRequest = Pick<RouteRequest, 'bytes' | 'headers'>

interface VerifyOptions {
  /** Several, while a secret is replaced: one of them must have signed. */
  readonly secret: string | readonly string[]
}

interface TimedVerifyOptions extends VerifyOptions {
  /** How old the signature may be, and how far in the future. Default: 300. */
  readonly toleranceSeconds?: number
}

interface HmacOptions extends VerifyOptions {
  /** The name of the header that has the signature of the body. */
  readonly header: string
  readonly algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  /** Default: `hex`. */
  readonly encoding?: 'hex' | 'base64'
  /** What precedes the signature in the header, e.g. `sha256=`. */
  readonly prefix?: string
}

/**
 * Checks who has signed a request. Each throws unless the signature of the whole body is right: the answer is then a 401
 * without a reason, which the log has at `debug`. A signature that was right once is right again within the tolerance:
 * `once` tells a repetition, by a key that is signed: the id of the event in the body, or a hash of the body.
 */
export interface Verify {
  /** Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp`, `webhook-signature`. The secret: `whsec_…`. */
  standardWebhook(request: SignedRequest, options: TimedVerifyOptions): void
  /** `Stripe-Signature`. */
  stripe(request: SignedRequest, options: TimedVerifyOptions): void
  /** `X-Hub-Signature-256`, which has no time. */
  github(request: SignedRequest, options: VerifyOptions): void
  /** `X-Shopify-Hmac-Sha256`, which has no time. */
  shopify(request: SignedRequest, options: VerifyOptions): void
  /** `X-Slack-Signature` and `X-Slack-Request-Timestamp`. */
  slack(request: SignedRequest, options: TimedVerifyOptions): void
  /** A header with the HMAC of the body. */
  hmac(request: SignedRequest, options: HmacOptions): void
}

interface RouteOnceIn<in out C, in out Earlier extends AnyEarlier> {
  /**
   * Runs the code as `data.transaction` does, unless it has taken effect with this key before. The key belongs to the whole
   * model; it commits with the changes, and is kept for 90 days (`logic.limits`). A call with a key that another one
   * uses at this time waits for it.
   */
  once(
    key: string,
    code: (data: ActionDataIn<C, Earlier>, effects: TransactionEffectsIn<C, Earlier>) => Awaitable<unknown>,
  ): Promise<OnceResult>
}

export interface RouteContext<C, Input, Path, Earlier extends AnyEarlier, Callers>
  extends Pick<RunTools<Earlier['jobs']>, 'mail' | 'fetch' | 'log' | 'signal' | 'later' | 'emit' | 'now'>,
    RouteOnceIn<C, Earlier> {
  readonly request: RouteRequest<{ readonly [Name in ParametersOf<Path>]: string }>
  readonly input: Flat<ReceivedIn<C, Input>>
  /** As in actions. */
  readonly caller: LogicUser | ('anonymous' extends Callers ? LogicApp | null : never)
  /** As the caller, with the scopes of the credential, or with `asSystem` as the service. */
  readonly data: ActionDataIn<C, Earlier>
  /** Calls an action as a transaction of its own. */
  readonly actions: CallerActionCalls<C, Earlier['actions']>
  readonly verify: Verify
}
