/** The routes of a model: request → the model's code → reply. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import { type Principal, service } from '../../base/principal.ts'
import { Quota } from '../../base/quota.ts'
import { afterAtMost } from '../../delivery/consumer/timetable.ts'
import { type CodeParts, CodeRun } from '../../delivery/runs/code.ts'
import { errorForCaller, thrownError } from '../../engine/logic/data/call-error.ts'
import { admitRoute } from '../../engine/logic/operations/access.ts'
import { callerOf } from '../../model/logic/caller.ts'
import type { Model, Route } from '../../model/model.ts'
import type { LogicLog } from '../../model/types/run.ts'
import { refuseMethod } from '../rest/methods.ts'
import { isStream, iteratorOf, partOf, replyOf } from './answer.ts'
import { RoutePaths, type RoutesAtPath } from './paths.ts'
import { inputOf, requestOf } from './request.ts'
import { createVerify, SignatureRefused } from './verify.ts'

/** What the HTTP server knows of a request besides the call. */
export interface RouteConnection {
  /** Reads the body into `call.body`. Rejects with PAYLOAD_TOO_LARGE or REQUEST_TIMEOUT. */
  readBody(): Awaitable<void>
  /** Calls the listener when the response has ended. */
  onClose(listener: () => void): void
  /** Calls the listener when the client has ended its side: it has gone, or sends nothing more. */
  onClientEnd(listener: () => void): void
}

export interface RouteParts {
  readonly code: CodeParts
  readonly logOf: (route: Route, call: Call) => LogicLog
  readonly connectionOf: (call: Call) => RouteConnection
  /** Draws from the budget of the caller. Throws RATE_LIMITED. */
  readonly draw: (principal: Principal, call: Call) => Awaitable<unknown>
  /** Draws from the budget of the route, which all callers share. Throws RATE_LIMITED. */
  readonly drawRoute: (route: Route) => Awaitable<void>
  readonly giveRoute: (route: Route) => void
  /** The calls of one route that one caller may have running, in this worker: until their responses have ended. */
  readonly maxRunning: number
  /** From the call of the code to the end of the response. */
  readonly timeoutMs: number
  /** Of a body that is not a stream, and of a part of a stream. */
  readonly maxAnswerBytes: number
  /** During development: a route that forgets to verify is answered with an error. */
  readonly isDevelopment: boolean
}

export interface Routes {
  /** The routes at a path; undefined if there is none. */
  at(path: string): RoutesAtPath | undefined
  /** The declared path, with the names of its parameters; undefined if there is none. */
  labelOf(path: string): string | undefined
  /** Throws or rejects with an `ApiError`. */
  answer(found: RoutesAtPath, call: Call, principal: Principal): Awaitable<Reply>
}

/** Undefined for a model without routes. */
export function createRoutes(parts: RouteParts): Routes | undefined {
  const { routes } = parts.code.model.logic
  if (routes.size === 0) return undefined
  const paths = new RoutePaths(routes.values())
  const running = new Quota(parts.maxRunning, 'calls of this route')
  return {
    at: path => paths.at(path),
    labelOf: path => paths.at(path)?.routes[0]?.path,
    answer: (found, call, principal) => answer({ ...parts, running }, found, call, principal),
  }
}

interface CallParts extends RouteParts {
  readonly running: Quota
}

function answer(
  parts: CallParts,
  { routes, params }: RoutesAtPath,
  call: Call,
  principal: Principal,
): Awaitable<Reply> {
  const route = routeFor(routes, call.method)
  if (route !== undefined) return new RouteCall(parts, route, call, principal).answer(params(route))
  return then(parts.draw(principal, call), () => {
    const allowed = methodsOf(routes)
    if (call.method !== 'OPTIONS') refuseMethod(allowed)
    return { status: 204, headers: ['Allow', allowed.join(', '), 'Cache-Control', 'no-store'], body: null }
  })
}

function routeFor(routes: readonly Route[], method: string): Route | undefined {
  return routes.find(each => each.method === (method === 'HEAD' ? 'GET' : method))
}

function methodsOf(routes: readonly Route[]): readonly string[] {
  return [...routes.flatMap(each => (each.method === 'GET' ? ['GET', 'HEAD'] : [each.method])), 'OPTIONS']
}

/** Returns the route whose code would run. Throws what is answered before: METHOD_NOT_ALLOWED, and as `admitRoute` and `inputOf`. */
export function admittedRoute(
  { model, now }: { readonly model: Model; readonly now: () => EpochMs },
  { routes }: RoutesAtPath,
  call: Call,
  principal: Principal,
): Route {
  const route = routeFor(routes, call.method)
  if (route === undefined) refuseMethod(methodsOf(routes))
  admitRoute(model, route, principal)
  inputOf(route, call, new Date(now()).toISOString(), principal.userId)
  return route
}

class ClientGone extends ApiError {
  constructor() {
    super('REQUEST_TIMEOUT', 'The connection ended before the answer.')
  }
}

class RouteCall {
  readonly #parts: CallParts
  readonly #route: Route
  readonly #call: Call
  readonly #principal: Principal
  readonly #code: CodeRun
  #usesVerify = false
  #isVerified = false
  /** Whether its input is valid, so that its code runs. */
  #hasBegun = false
  /** Of the body, if it is a stream. */
  #iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined

  constructor(parts: CallParts, route: Route, call: Call, principal: Principal) {
    this.#parts = parts
    this.#route = route
    this.#call = call
    this.#principal = principal
    this.#code = new CodeRun(parts.code, { place: this.#place, principal, log: parts.logOf(route, call) })
  }

  async answer(params: Readonly<Record<string, string>>): Promise<Reply> {
    const { connectionOf, drawRoute } = this.#parts
    const connection = connectionOf(this.#call)
    await this.#receive(connection)
    await drawRoute(this.#route)
    try {
      const context = this.#context(params)
      this.#hasBegun = true
      this.#endWith(connection)
      return await this.#reply(context)
    } catch (error) {
      await this.#code.close()
      if (error instanceof SignatureRefused) {
        const reason = error.cause instanceof Error ? error.cause.message : undefined
        this.#code.tools.log.debug('the signature of a request was refused', { reason })
      }
      if (this.#mayBeStranger) await this.#drawFromCaller()
      throw this.#errorOf(error)
    }
  }

  /** Whether the request has failed without having proven who has sent it: by its input, or before its signature was verified. */
  get #mayBeStranger(): boolean {
    return !this.#hasBegun || (this.#usesVerify && !this.#isVerified)
  }

  get #place(): string {
    return `routes.${this.#route.name}`
  }

  /** What is refused before the draw from the route's budget counts as the caller's. */
  async #receive(connection: RouteConnection): Promise<void> {
    try {
      admitRoute(this.#parts.code.model, this.#route, this.#principal)
      this.#countWith(connection)
      // Before that draw, so that a slow sender holds nothing of the budget.
      await connection.readBody()
    } catch (error) {
      await this.#parts.draw(this.#principal, this.#call)
      throw error
    }
  }

  /** Throws RATE_LIMITED. */
  #countWith(connection: RouteConnection): void {
    const key = `${this.#route.name} ${this.#principal.budgetKey}`
    this.#parts.running.take(key)
    connection.onClose(() => this.#parts.running.release(key))
  }

  /** Strangers must not use up the budget of the route: the request counts as the caller's. Rejects with RATE_LIMITED. */
  async #drawFromCaller(): Promise<void> {
    this.#parts.giveRoute(this.#route)
    await this.#parts.draw(this.#principal, this.#call)
  }

  #context(params: Readonly<Record<string, string>>): object {
    const { tools } = this.#code
    const useVerify = () => {
      this.#usesVerify = true
    }
    const verify = createVerify(this.#parts.code.clock.now, () => {
      this.#isVerified = true
    })
    return Object.freeze({
      ...tools,
      request: requestOf(this.#call, params),
      input: inputOf(this.#route, this.#call, tools.now, this.#principal.userId),
      caller: callerOf(this.#principal),
      get verify() {
        useVerify()
        return verify
      },
    })
  }

  /** Ends the code after the time limit, and with the connection. */
  #endWith(connection: RouteConnection): void {
    const { timeoutMs, code } = this.#parts
    const cancel = afterAtMost(code.clock, timeoutMs, () => {
      this.#code.end(new Error(`It took longer than ${timeoutMs / 1000} s (\`route\` of \`logic.limits\`).`))
    })
    connection.onClose(() => {
      cancel()
      this.#endOfClient()
    })
    // Before the answer, it may wait for it, and what the code has begun is better completed.
    connection.onClientEnd(() => {
      if (this.#iterator) this.#endOfClient()
    })
  }

  #endOfClient(): void {
    this.#code.end(new ClientGone())
    const iterator = this.#iterator
    if (iterator === undefined) return
    // A stream that has not ended cleans up.
    this.#iterator = undefined
    this.#code.release(() => iterator.return?.())
  }

  async #reply(context: object): Promise<Reply> {
    const run = this.#route.run as (context: object) => unknown
    const returned = await this.#code.run(() => run(context))
    const { body, ...reply } = replyOf(returned, this.#parts.maxAnswerBytes)
    if (this.#usesVerify && !this.#isVerified) await this.#settleUnverified(reply.status)
    await this.#storeJobs()
    if (isStream(body)) {
      this.#iterator = await this.#code.resume(() => iteratorOf(body.stream))
      return { ...reply, body: this.#streamed(this.#iterator) }
    }
    await this.#code.close()
    return { ...reply, body }
  }

  async #settleUnverified(status: number): Promise<void> {
    if (status >= 400) return this.#drawFromCaller()
    const message = 'the route has `verify`, but answered before it has verified the signature of the request'
    this.#code.tools.log.error(message)
    if (this.#parts.isDevelopment) throw new Error(message)
  }

  /** The jobs that the code has started since the last call. */
  async #storeJobs(): Promise<void> {
    const jobs = this.#code.startedJobs.splice(0)
    if (jobs.length === 0) return
    await this.#parts.code.run.transaction({
      principal: service,
      serial: undefined,
      *steps() {
        yield* jobs
      },
    })
  }

  async *#streamed(iterator: AsyncIterator<unknown> | Iterator<unknown>): AsyncGenerator<string | Buffer> {
    const code = this.#code
    try {
      for (;;) {
        const { done, value } = await code.resume(() => iterator.next())
        if (done) break
        yield partOf(value, this.#parts.maxAnswerBytes)
      }
      this.#iterator = undefined
      await code.requireAwaited()
      await this.#storeJobs()
    } catch (error) {
      if (!(error instanceof ClientGone)) throw this.#failure(error)
    } finally {
      await code.close()
    }
  }

  /** Errors of the API reach the client; of all others, clients see no details. */
  #errorOf(error: unknown): unknown {
    const shown = errorForCaller(error)
    return shown instanceof ApiError ? shown : this.#failure(error)
  }

  #failure(thrown: unknown): ApiError {
    const cause = new Error(`${this.#place} has failed.`, { cause: thrownError(thrown) })
    return new ApiError('INTERNAL_ERROR', undefined, { cause })
  }
}
