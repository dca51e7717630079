/** Wraps functions in spans. Without traces they are returned unchanged. */

import type { Guard } from '../../../engine/plan/guard/guard.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { Authenticate } from '../../../identity/authenticate.ts'
import type { Exchange } from '../../http/http.ts'
import type { Traces } from '../../observability/traces.ts'
import type { PlanRunner } from '../store.ts'

export function tracedAuthenticate(authenticate: Authenticate, traces: Traces | undefined): Authenticate {
  if (traces === undefined) return authenticate
  return (source, address) => traces.step('authenticate', {}, () => authenticate(source, address))
}

type RequestHandler<Rest extends readonly unknown[], T> = (exchange: Exchange, ...rest: Rest) => T

export function tracedRequests<Rest extends readonly unknown[], T>(
  answer: RequestHandler<Rest, T>,
  traces: Traces | undefined,
): RequestHandler<Rest, T> {
  if (traces === undefined) return answer
  return (exchange, ...rest) => traces.request(exchange, () => answer(exchange, ...rest))
}

type OnSent = (exchange: Exchange, status: number, bytes: number | undefined) => void

export function tracedSent(
  sent: OnSent,
  traces: Traces | undefined,
  routeOf: (path: string) => string,
): OnSent {
  if (traces === undefined) return sent
  return (exchange, status, bytes) => {
    traces.answered(exchange, routeOf(exchange.path), status)
    sent(exchange, status, bytes)
  }
}

export function tracedGuard(guard: Guard, traces: Traces | undefined): Guard {
  if (traces === undefined) return guard
  const traced = (...[plan, principal]: Parameters<Guard>) =>
    traces.step('guard', {}, () => guard(plan, principal))
  return traced as Guard
}

export function tracedStore(store: Store, traces: Traces | undefined): PlanRunner {
  if (traces === undefined) return store
  const about = (operation: string, collection?: string) => ({
    'db.operation.name': operation,
    ...(collection !== undefined && { 'db.collection.name': collection }),
  })
  return {
    read: plan =>
      traces.step('read', about(plan.shape.kind, plan.shape.collection.name), () => store.read(plan)),
    composite: plan => traces.step('read', about('composite'), () => store.composite(plan)),
    write: plan =>
      traces.step('write', about(plan.shape.kind, plan.shape.collection.name), () => store.write(plan)),
    transaction: program =>
      traces.step('transaction', about('transaction'), () => store.transaction(program)),
  }
}
