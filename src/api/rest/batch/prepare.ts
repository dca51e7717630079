/** The routes of a batch → plans, and the replies to their answers. Casts rely on this: an answer has the kind of its plan. */

import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { ItemAnswer, ListAnswer, WriteAnswer } from '../../../engine/plan/answer.ts'
import { requirePlain } from '../../../engine/plan/plain-writes.ts'
import { includedLimit } from '../../../engine/plan/plan.ts'
import type { ProgramPlan, StepAnswer } from '../../../engine/plan/transaction.ts'
import type { Collection } from '../../../model/model.ts'
import type { PreparedRequest } from '../actions/answer.ts'
import { type HasCollection, requireUser } from '../admission.ts'
import { aggregatedScope, boundAggregate, furtherRequests } from '../aggregates.ts'
import { memberNames } from '../body.ts'
import { operationOf } from '../methods.ts'
import type { CollectionView, ListScope } from '../query/collection-view.ts'
import { parseItem } from '../query/item.ts'
import { parseList } from '../query/list.ts'
import { renderAggregate, renderItem, renderList } from '../reply/read-reply.ts'
import type { RouteOf } from '../routes.ts'
import type { RestServices } from '../services.ts'
import { type PreparedWrite, prepareCreate, prepareDelete, prepareUpdate } from '../write.ts'

/** A parsed request. */
export type Prepared = PreparedPlan | PreparedRequest

export type Prepare<R> = (services: RestServices, route: R, call: Call, principal: Principal) => Prepared

/** Throws the errors of a write that do not depend on its body, which is not known yet. */
export type Check<R> = (services: RestServices, route: R, call: Call, principal: Principal) => void

/** A plan, and the reply to its answer. */
export interface PreparedPlan {
  readonly plan: ProgramPlan
  /** The requests that it draws from the budget besides its own. */
  readonly furtherRequests?: number
  /** Throws NOT_FOUND if a read finds nothing. */
  readonly reply: (answer: StepAnswer) => Reply
}

export const preparedItem: Prepare<RouteOf<'item'>> = (services, { collection, id }, call, principal) => {
  return itemRead(services.viewOf(collection.name, principal), id, call, principal)
}

export const preparedMe: Prepare<RouteOf<'me'>> = (services, _route, call, principal) => {
  const id = requireUser(principal)
  return itemRead(services.viewOf('users', principal), id, call, principal)
}

export const preparedCollection: Prepare<RouteOf<'collection'>> = (
  services,
  { collection },
  call,
  principal,
) => {
  return listRead(services, services.viewOf(collection.name, principal).list, undefined, call, principal)
}

export const preparedWithin: Prepare<RouteOf<'within'>> = (
  services,
  { collection, id, relation },
  call,
  principal,
) => {
  const scope = services.viewOf(collection.name, principal).sublist(relation)
  if (!scope) throw new ApiError('NOT_FOUND')
  return listRead(services, scope, id, call, principal)
}

export const preparedAggregate: Prepare<RouteOf<'aggregate'>> = (services, route, call, principal) => {
  const { baseUrl } = services
  const scope = aggregatedScope(route, services.viewOf(route.collection.name, principal))
  const { bound, plan } = boundAggregate(scope, route.within?.id, call.query)
  return {
    plan,
    furtherRequests: furtherRequests(scope, plan),
    reply: answer =>
      renderAggregate(answer as ListAnswer, bound, { call, access: principal.access, baseUrl }),
  }
}

export const preparedCreation: Prepare<RouteOf<'collection'>> = (services, route, call, principal) => {
  const view = writableView(services, route, call, principal)
  return preparedPlan(prepareCreate(services.model, view, call, principal))
}

export const preparedChange: Prepare<RouteOf<'item'>> = (services, route, call, principal) => {
  const view = writableView(services, route, call, principal)
  const prepare = call.method === 'DELETE' ? prepareDelete : prepareUpdate
  return preparedPlan(prepare(services.model, view, route.id, call, principal))
}

export const checkWrite: Check<HasCollection> = (services, { collection }, call, principal) => {
  parseItem(services.viewOf(collection.name, principal), call.query)
  requirePlainWrite(services, collection, call, principal)
}

function writableView(
  services: RestServices,
  { collection }: HasCollection,
  call: Call,
  principal: Principal,
): CollectionView {
  requirePlainWrite(services, collection, call, principal)
  const view = services.viewOf(collection.name, principal)
  if (Array.isArray(call.parsed?.body))
    throw new ApiError('BAD_REQUEST', 'A batch cannot contain bulk creates.')
  return view
}

function requirePlainWrite(
  { hooks }: RestServices,
  collection: Collection,
  call: Call,
  principal: Principal,
): void {
  const operation = operationOf[call.method] ?? 'update'
  requirePlain({ collection, operation, sets: memberNames(call.parsed?.body), principal, hooks })
}

function preparedPlan({ plan, reply }: PreparedWrite): PreparedPlan {
  return { plan, reply: answer => reply(answer as WriteAnswer) }
}

function itemRead(view: CollectionView, id: number, call: Call, { access }: Principal): PreparedPlan {
  const template = parseItem(view, call.query)
  const args = template.includes ? [id, includedLimit] : [id]
  return {
    plan: { shape: template.shape, args },
    reply: answer => renderItem(answer as ItemAnswer, template, access, call),
  }
}

function listRead(
  { baseUrl }: RestServices,
  scope: ListScope,
  id: number | undefined,
  call: Call,
  { access }: Principal,
): PreparedPlan {
  const bound = parseList(scope, call.query)
  const args = id === undefined ? bound.args : [id, ...bound.args]
  return {
    plan: { shape: bound.template.shape, args },
    reply: answer => renderList(answer as ListAnswer, bound, { call, access, baseUrl }),
  }
}
