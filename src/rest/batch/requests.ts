/** The operations of a batch as requests: what each asks of the store, and what is made of the answer. */

import type { Call, Reply } from '../../call.ts'
import { ApiError } from '../../errors.ts'
import type { OperationLimits } from '../../logic/operations/call.ts'
import type { ItemAnswer, ListAnswer, WriteAnswer } from '../../plan/answer.ts'
import { requirePlain } from '../../plan/plain-writes.ts'
import type { ProgramPlan, StepAnswer } from '../../plan/transaction.ts'
import type { Principal } from '../../principal.ts'
import { type ActionServices, type PreparedRequest, preparedRequest } from '../actions/answer.ts'
import { isOperation, type OperationRoute, type QueryRoute } from '../actions/routes.ts'
import { admitTo, noUser, operationOf, refuseMethod } from '../admission.ts'
import { type AggregateRoute, aggregatedScope, boundAggregate } from '../aggregates.ts'
import { allowedMethods } from '../methods.ts'
import type { CollectionView, CollectionViews, ListScope } from '../query/collection-view.ts'
import { parseItem } from '../query/item.ts'
import { parseList } from '../query/list.ts'
import { includedLimit } from '../query/select.ts'
import { renderAggregate, renderItem, renderList } from '../reply/read-reply.ts'
import { findRoute, type Route } from '../routes.ts'
import { prepareCreate, prepareDelete, prepareUpdate, type WriteServices } from '../write.ts'

/** A request that is understood. */
export type Prepared = PreparedPlan | PreparedRequest

/** What it asks of the store, and what is made of the answer. */
export interface PreparedPlan {
  readonly plan: ProgramPlan
  /** Throws NOT_FOUND where a read finds nothing. */
  readonly reply: (answer: StepAnswer) => Reply
}

type Known = Exclude<
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
type WritableRoute = Extract<Route, { readonly kind: 'collection' | 'item' }>

/** An answer is of the kind of its plan. */
export class BatchRequests {
  readonly #services: WriteServices
  readonly #viewOf: (access: Principal['access']) => CollectionViews
  readonly #actions: ActionServices

  constructor(
    services: WriteServices,
    viewOf: (access: Principal['access']) => CollectionViews,
    actions: ActionServices,
  ) {
    this.#services = services
    this.#viewOf = viewOf
    this.#actions = actions
  }

  /** Of the actions of a batch. */
  get limits(): OperationLimits {
    return this.#actions.logic.limits
  }

  /** Throws what a request of its own would be refused with. */
  prepare(call: Call, principal: Principal): Prepared {
    const route = this.#admitted(call, principal)
    if ('operation' in route) return preparedRequest(this.#actions, route, call, principal)
    return call.method === 'GET'
      ? this.#read(route, call, principal)
      : this.#write(this.#writable(route), call, principal)
  }

  /** The same for a write whose body is not known yet. */
  check(call: Call, principal: Principal): void {
    const admitted = this.#admitted(call, principal)
    if ('operation' in admitted) return
    const route = this.#writable(admitted)
    parseItem(this.#view(route.collection.name, principal), call.query)
    this.#requirePlain(route, call, principal)
  }

  #admitted(call: Call, principal: Principal): Known | OperationRoute | QueryRoute {
    const { model } = this.#services
    const route = findRoute(model, call.path)
    if (route?.kind === 'batch') throw new ApiError('BAD_REQUEST', 'A batch contains no other batch.')
    if (route?.kind === 'events') throw new ApiError('BAD_REQUEST', 'A batch reads no events.')
    if (!route || route.kind === 'openapi' || route.kind === 'explain' || route.kind === 'runs') {
      throw new ApiError('NOT_FOUND')
    }
    if (route.kind === 'subresource' || (route.kind === 'action' && !isOperation(route))) {
      const { name } = route.kind === 'action' ? route.action : route.subresource
      const path = `/${route.collection.name}/{id}/${name}`
      throw new ApiError('BAD_REQUEST', `${path} is no part of a batch: send it alone.`)
    }
    if (route.kind === 'nested') {
      const path = `/${route.relation.target}/${route.nested}`
      throw new ApiError('BAD_REQUEST', `A batch reads the item as ${path}.`)
    }
    if (!allowedMethods(route).includes(call.method)) refuseMethod(route)
    admitTo(model, route, operationOf[call.method] ?? 'read', principal)
    return route
  }

  #writable(route: Known): WritableRoute {
    return route.kind === 'collection' || route.kind === 'item' ? route : refuseMethod(route)
  }

  #view(collection: string, { access }: Principal): CollectionView {
    const view = this.#viewOf(access).get(collection)
    if (!view) throw new ApiError('NOT_FOUND')
    return view
  }

  #read(route: Known, call: Call, principal: Principal): PreparedPlan {
    if (route.kind === 'me') {
      if (principal.userId === null) throw noUser(principal)
      return preparedItem(this.#view('users', principal), principal.userId, call, principal)
    }
    const view = this.#view(route.collection.name, principal)
    if (route.kind === 'item') return preparedItem(view, route.id, call, principal)
    if (route.kind === 'aggregate') return preparedAggregate(route, view, call, principal)
    if (route.kind === 'collection') return preparedList(view.list, undefined, call, principal)
    const scope = view.sublist(route.relation)
    if (!scope) throw new ApiError('NOT_FOUND')
    return preparedList(scope, route.id, call, principal)
  }

  #write(route: WritableRoute, call: Call, principal: Principal): PreparedPlan {
    this.#requirePlain(route, call, principal)
    const { plan, reply } = this.#preparedWrite(route, call, principal)
    return { plan, reply: answer => reply(answer as WriteAnswer) }
  }

  #preparedWrite(route: WritableRoute, call: Call, principal: Principal) {
    const { model } = this.#services
    const view = this.#view(route.collection.name, principal)
    if (Array.isArray(call.parsed?.body))
      throw new ApiError('BAD_REQUEST', 'A batch contains no bulk creates.')
    if (route.kind === 'collection') return prepareCreate(model, view, call, principal)
    const prepare = call.method === 'DELETE' ? prepareDelete : prepareUpdate
    return prepare(model, view, route.id, call, principal)
  }

  #requirePlain({ collection }: WritableRoute, call: Call, principal: Principal): void {
    const { hooks } = this.#services
    const operation = operationOf[call.method] ?? 'update'
    requirePlain({ collection, operation, sets: Object.keys(Object(call.parsed?.body)), principal, hooks })
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

function preparedList(
  scope: ListScope,
  id: number | undefined,
  call: Call,
  { access }: Principal,
): PreparedPlan {
  const bound = parseList(scope, call.query)
  const args = id === undefined ? bound.args : [id, ...bound.args]
  return {
    plan: { shape: bound.template.shape, args },
    reply: answer => renderList(answer as ListAnswer, bound, access, call),
  }
}

function preparedAggregate(
  route: AggregateRoute,
  view: CollectionView,
  call: Call,
  { access }: Principal,
): PreparedPlan {
  const { bound, plan } = boundAggregate(aggregatedScope(route, view), route.within?.id, call.query)
  return { plan, reply: answer => renderAggregate(answer as ListAnswer, bound, access, call) }
}
