/** The operations of a batch as requests: their plans, and the replies to the answers. */

import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { OperationLimits } from '../../../engine/logic/operations/call.ts'
import type { ItemAnswer, ListAnswer, WriteAnswer } from '../../../engine/plan/answer.ts'
import { requirePlain } from '../../../engine/plan/plain-writes.ts'
import { includedLimit } from '../../../engine/plan/plan.ts'
import type { ProgramPlan, StepAnswer } from '../../../engine/plan/transaction.ts'
import { type ActionServices, type PreparedRequest, preparedRequest } from '../actions/answer.ts'
import { isOperation, type OperationRoute, type QueryRoute } from '../actions/routes.ts'
import { admitTo, noUser, operationOf, refuseMethod } from '../admission.ts'
import { type AggregateRoute, aggregatedScope, boundAggregate, furtherRequests } from '../aggregates.ts'
import { memberNames } from '../body.ts'
import { allowedMethods } from '../methods.ts'
import type { CollectionView, ListScope } from '../query/collection-view.ts'
import { parseItem } from '../query/item.ts'
import { parseList } from '../query/list.ts'
import { type PagedRead, renderAggregate, renderItem, renderList } from '../reply/read-reply.ts'
import { findRoute, type Route } from '../routes.ts'
import { prepareCreate, prepareDelete, prepareUpdate, type WriteServices } from '../write.ts'

/** A parsed request. */
export type Prepared = PreparedPlan | PreparedRequest

/** A plan, and the reply to its answer. */
export interface PreparedPlan {
  readonly plan: ProgramPlan
  /** The requests that it draws from the budget besides its own. */
  readonly furtherRequests?: number
  /** Throws NOT_FOUND if a read finds nothing. */
  readonly reply: (answer: StepAnswer) => Reply
}

type CollectionRoute = Exclude<
  Route,
  {
    readonly kind:
      | 'openapi'
      | 'batch'
      | 'events'
      | 'explain'
      | 'runs'
      | 'action'
      | 'query'
      | 'nested'
      | 'subresource'
  }
>
/** The routes that an operation of a batch may have. */
export type BatchRoute = CollectionRoute | OperationRoute | QueryRoute
type WritableRoute = Extract<Route, { readonly kind: 'collection' | 'item' }>

/** Casts rely on this: the answer to a plan has the kind of the plan. */
export class BatchRequests {
  readonly #services: WriteServices
  readonly #actions: ActionServices

  constructor(services: WriteServices, actions: ActionServices) {
    this.#services = services
    this.#actions = actions
  }

  /** The limits of the actions of a batch. */
  get limits(): OperationLimits {
    return this.#actions.logic.limits
  }

  /** Throws the error that a separate request would get. */
  prepare(route: BatchRoute, call: Call, principal: Principal): Prepared {
    if ('operation' in route) return preparedRequest(this.#actions, route, call, principal)
    return call.method === 'GET'
      ? this.#read(route, call, principal)
      : this.#write(this.#writable(route), call, principal)
  }

  /** Throws the same errors for a write whose body is not known yet, if they do not depend on the body. */
  check(route: BatchRoute, call: Call, principal: Principal): void {
    if ('operation' in route) return
    const writable = this.#writable(route)
    parseItem(this.#actions.viewOf(writable.collection.name, principal), call.query)
    this.#requirePlain(writable, call, principal)
  }

  /** The route of an operation. Throws if a batch does not accept its path or method, or the caller may not use them at all. */
  admittedRoute(call: Call, principal: Principal): BatchRoute {
    const { model } = this.#services
    const route = findRoute(model, call.path)
    if (route?.kind === 'batch') throw new ApiError('BAD_REQUEST', 'A batch cannot contain another batch.')
    if (route?.kind === 'events') throw new ApiError('BAD_REQUEST', 'A batch cannot read events.')
    if (!route || route.kind === 'openapi' || route.kind === 'explain' || route.kind === 'runs') {
      throw new ApiError('NOT_FOUND')
    }
    if (route.kind === 'subresource' || (route.kind === 'action' && !isOperation(route))) {
      const { name } = route.kind === 'action' ? route.action : route.subresource
      const path = `/${route.collection.name}/{id}/${name}`
      throw new ApiError('BAD_REQUEST', `${path} cannot be part of a batch: send it in a separate request.`)
    }
    if (route.kind === 'nested') {
      const path = `/${route.relation.target}/${route.nested}`
      throw new ApiError('BAD_REQUEST', `In a batch, read the item as ${path}.`)
    }
    if (!allowedMethods(route).includes(call.method)) refuseMethod(route)
    admitTo(model, route, operationOf[call.method] ?? 'read', principal)
    return route
  }

  #writable(route: CollectionRoute): WritableRoute {
    return route.kind === 'collection' || route.kind === 'item' ? route : refuseMethod(route)
  }

  #read(route: CollectionRoute, call: Call, principal: Principal): PreparedPlan {
    if (route.kind === 'me') {
      if (principal.userId === null) throw noUser(principal)
      return preparedItem(this.#actions.viewOf('users', principal), principal.userId, call, principal)
    }
    const view = this.#actions.viewOf(route.collection.name, principal)
    if (route.kind === 'item') return preparedItem(view, route.id, call, principal)
    if (route.kind === 'aggregate') return preparedAggregate(route, view, this.#paged(call, principal))
    if (route.kind === 'collection') return preparedList(view.list, undefined, this.#paged(call, principal))
    const scope = view.sublist(route.relation)
    if (!scope) throw new ApiError('NOT_FOUND')
    return preparedList(scope, route.id, this.#paged(call, principal))
  }

  #paged(call: Call, { access }: Principal): PagedRead {
    return { call, access, baseUrl: this.#services.baseUrl }
  }

  #write(route: WritableRoute, call: Call, principal: Principal): PreparedPlan {
    this.#requirePlain(route, call, principal)
    const { plan, reply } = this.#preparedWrite(route, call, principal)
    return { plan, reply: answer => reply(answer as WriteAnswer) }
  }

  #preparedWrite(route: WritableRoute, call: Call, principal: Principal) {
    const { model } = this.#services
    const view = this.#actions.viewOf(route.collection.name, principal)
    if (Array.isArray(call.parsed?.body))
      throw new ApiError('BAD_REQUEST', 'A batch cannot contain bulk creates.')
    if (route.kind === 'collection') return prepareCreate(model, view, call, principal)
    const prepare = call.method === 'DELETE' ? prepareDelete : prepareUpdate
    return prepare(model, view, route.id, call, principal)
  }

  #requirePlain({ collection }: WritableRoute, call: Call, principal: Principal): void {
    const { hooks } = this.#services
    const operation = operationOf[call.method] ?? 'update'
    requirePlain({ collection, operation, sets: memberNames(call.parsed?.body), principal, hooks })
  }
}

function preparedItem(view: CollectionView, id: number, call: Call, { access }: Principal): PreparedPlan {
  const template = parseItem(view, call.query)
  const args = template.includes ? [id, includedLimit] : [id]
  return {
    plan: { shape: template.shape, args },
    reply: answer => renderItem(answer as ItemAnswer, template, access, call),
  }
}

function preparedList(scope: ListScope, id: number | undefined, read: PagedRead): PreparedPlan {
  const bound = parseList(scope, read.call.query)
  const args = id === undefined ? bound.args : [id, ...bound.args]
  return {
    plan: { shape: bound.template.shape, args },
    reply: answer => renderList(answer as ListAnswer, bound, read),
  }
}

function preparedAggregate(route: AggregateRoute, view: CollectionView, read: PagedRead): PreparedPlan {
  const scope = aggregatedScope(route, view)
  const { bound, plan } = boundAggregate(scope, route.within?.id, read.call.query)
  return {
    plan,
    furtherRequests: furtherRequests(scope, plan),
    reply: answer => renderAggregate(answer as ListAnswer, bound, read),
  }
}
