/** The REST transport: `/api/v1`. URL → plan → response. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { type StaticAsset, serveStatic } from '../../base/static-assets.ts'
import type { RunView } from '../../delivery/runs/view.ts'
import { type Idempotency, type KeyedAttempt, keyHeader } from '../../engine/idempotency/idempotency.ts'
import { type OperationParts, operationParts } from '../../engine/logic/operations/call.ts'
import { includedLimit } from '../../engine/plan/plan.ts'
import type { CrudOperation } from '../../model/model.ts'
import { requireJson } from './accept.ts'
import type { ItemActions, SubresourceHandlers } from './actions/action.ts'
import { admitNested } from './actions/admission.ts'
import {
  type ActionServices,
  answerAction,
  answerQuery,
  refuseParameters,
  requireNested,
} from './actions/answer.ts'
import type { NestedRoute } from './actions/routes.ts'
import { answerSubresource, endSubresource } from './actions/subresources.ts'
import { admitTo, noUser, operationOf, refuseMethod } from './admission.ts'
import { type AggregateRoute, aggregatedScope, answerAggregate, boundAggregate } from './aggregates.ts'
import { answerBatch } from './batch/batch.ts'
import { BatchRequests } from './batch/requests.ts'
import { answerCreate } from './create.ts'
import { createEventsHandler, type EventsHandler } from './events/events.ts'
import type { EventRouteParts } from './events/parts.ts'
import { answerExplain, type Explain, requireExplainer } from './explain.ts'
import { allowedMethods, isReadable } from './methods.ts'
import { openapi } from './openapi/document.ts'
import {
  type CollectionView,
  type CollectionViews,
  createViews,
  type ListScope,
} from './query/collection-view.ts'
import { parseItem } from './query/item.ts'
import { parseList } from './query/list.ts'
import { vary } from './reply/headers.ts'
import { type PagedRead, renderItem, renderList } from './reply/read-reply.ts'
import { findRoute, prefix, type Route } from './routes.ts'
import { answerRuns } from './runs.ts'
import { answerChange, mergePatch, type WriteServices } from './write.ts'

export { errorReply } from './reply/error-reply.ts'

export interface RestOptions extends WriteServices {
  readonly idempotency: Idempotency
  /** The implementations of `builtinActions`. */
  readonly actions?: ItemActions
  /** The implementations of subresources: see `Subresource`. */
  readonly subresources?: SubresourceHandlers
  /** The services of the model's actions and queries. */
  readonly logic?: OperationParts
  /** Undefined: the path `/events` does not exist. */
  readonly events?: EventRouteParts
  /** Undefined: the path `/explain` does not exist. */
  readonly explain?: Explain
  /** Runs of reactions and jobs. Undefined: the path `/events/runs` does not exist. */
  readonly runs?: RunView
  /** Answers paths outside the API. */
  readonly pages?: ((call: Call) => Awaitable<Reply>) | undefined
}

/** Responds to a call, synchronously where the store answers synchronously. Throws or rejects with an `ApiError`: see `errorReply`. */
export type Rest = (call: Call, principal: Principal) => Awaitable<Reply>

function answerOptions(route: Route): Reply {
  const allowed = allowedMethods(route)
  if (allowed.length === 0) throw new ApiError('NOT_FOUND')
  const headers = ['Allow', allowed.join(', '), 'Cache-Control', 'no-store']
  // RFC 5789, 3.1
  if (allowed.includes('PATCH')) headers.push('Accept-Patch', mergePatch.join(', '))
  return { status: 204, headers, body: null }
}

/** The OpenAPI document, made at its first request, and compressed once for each content coding. */
function answerDocument({ model, baseUrl }: RestOptions): (call: Call) => Awaitable<Reply> {
  const read = () => JSON.stringify(openapi(model, baseUrl))
  const document: StaticAsset = { type: 'json', read, maxAgeSeconds: 0, varies: vary }
  return serveStatic({ assets: new Map([[`${prefix}/openapi.json`, document]]) })
}

class RestHandler {
  readonly #options: RestOptions
  readonly #viewsFor: (access: Principal['access']) => CollectionViews
  readonly #answerDocument: (call: Call) => Awaitable<Reply>
  readonly #requests: BatchRequests
  readonly #services: ActionServices
  readonly #events: EventsHandler | undefined

  constructor(options: RestOptions) {
    this.#options = options
    this.#answerDocument = answerDocument(options)
    this.#viewsFor = createViews(options.model, options.hooks)
    this.#events =
      options.events && createEventsHandler({ ...options, ...options.events, viewsOf: this.#viewsFor })
    const { model, run, hooks, logic = operationParts(model, hooks) } = options
    const { actions = new Map(), subresources = new Map() } = options
    const viewOf = (name: string, principal: Principal) => this.#view(name, principal)
    this.#services = { model, run, actions, subresources, logic, viewOf }
    this.#requests = new BatchRequests(options, this.#services)
  }

  answer(call: Call, principal: Principal): Awaitable<Reply> {
    const route = findRoute(this.#options.model, call.path)
    if (!route) {
      if (this.#options.pages && !call.path.startsWith(`${prefix}/`)) return this.#options.pages(call)
      throw new ApiError('NOT_FOUND')
    }
    if (route.kind === 'runs' && allowedMethods(route).includes(call.method) && call.method !== 'OPTIONS')
      return answerRuns(this.#options.runs, route, call, principal)
    const isRead = call.method === 'GET' || call.method === 'HEAD'
    if (isRead && isReadable(route)) {
      if (route.kind === 'events') return this.#readEvents(call, principal)
      if (route.kind === 'explain' || route.kind === 'runs') refuseMethod(route)
      this.#requireJson(route, 'read', call, principal)
      return this.#read(route, call, principal)
    }
    if (call.method === 'OPTIONS') return answerOptions(route)
    if (!allowedMethods(route).includes(call.method)) refuseMethod(route)
    if (route.kind === 'explain') requireExplainer(principal)
    this.#requireJson(route, operationOf[call.method] ?? 'update', call, principal)
    if (route.kind === 'explain') return answerExplain(this.#options, call, principal)
    if (call.headers[keyHeader] === undefined) return this.#write(route, call, principal)
    return this.#writeOnce(route, call, principal)
  }

  #writeOnce(route: Route, call: Call, principal: Principal): Awaitable<Reply> {
    const { idempotency, model } = this.#options
    try {
      return idempotency.answer(call, principal, attempt => this.#write(route, call, principal, attempt))
    } catch (error) {
      admitTo(model, route, operationOf[call.method] ?? 'update', principal)
      throw error
    }
  }

  #requireJson(route: Route, operation: CrudOperation, call: Call, principal: Principal): void {
    try {
      requireJson(call.headers.accept)
    } catch (error) {
      admitTo(this.#options.model, route, operation, principal)
      throw error
    }
  }

  #view(collection: string, principal: Principal): CollectionView {
    const view = this.#viewsFor(principal.access).get(collection)
    if (!view) throw new ApiError('NOT_FOUND')
    return view
  }

  #read(
    route: Exclude<Route, { kind: 'events' | 'explain' | 'runs' }>,
    call: Call,
    principal: Principal,
  ): Awaitable<Reply> {
    if (route.kind === 'openapi') return this.#readDocument(call)
    if (route.kind === 'me') return this.#readMe(route, call, principal)
    if (route.kind === 'batch' || route.kind === 'action') refuseMethod(route)
    if (route.kind === 'query') return answerQuery(this.#services, route, call, principal)
    if (route.kind === 'subresource') return answerSubresource(this.#services, route, call, principal)
    if (route.kind === 'nested') return this.#readNested(route, call, principal)
    const view = this.#view(route.collection.name, principal)
    if (route.kind === 'item') return this.#readItem(route, view, route.id, call, principal)
    if (route.kind === 'aggregate') return this.#readAggregate(route, view, call, principal)
    if (route.kind === 'collection') return this.#readList(route, view.list, undefined, call, principal)
    const scope = view.sublist(route.relation)
    if (!scope) throw new ApiError('NOT_FOUND')
    return this.#readList(route, scope, route.id, call, principal)
  }

  #readEvents(call: Call, principal: Principal): Awaitable<Reply> {
    if (!this.#events) throw new ApiError('NOT_FOUND')
    return this.#events(call, principal)
  }

  #readItem(
    route: Route,
    view: CollectionView,
    id: number,
    call: Call,
    principal: Principal,
  ): Awaitable<Reply> {
    const template =
      view.items.get(call.query) ?? this.#parse(route, principal, () => parseItem(view, call.query))
    const args = template.includes ? [id, includedLimit] : [id]
    const answer = this.#options.run.item({ shape: template.shape, args }, principal)
    return then(answer, item => renderItem(item, template, principal.access, call))
  }

  #readNested(route: NestedRoute, call: Call, principal: Principal): Awaitable<Reply> {
    const { model, run } = this.#options
    admitNested(model, route, principal)
    const view = this.#view(route.relation.target, principal)
    return then(requireNested(run, route, principal), () =>
      this.#readItem(route, view, route.nested, call, principal),
    )
  }

  #readList(
    route: Route,
    scope: ListScope,
    id: number | undefined,
    call: Call,
    principal: Principal,
  ): Awaitable<Reply> {
    const { query } = call
    const bound = this.#parse(route, principal, () => parseList(scope, query))
    const args = id === undefined ? bound.args : [id, ...bound.args]
    const answer = this.#options.run.list({ shape: bound.template.shape, args }, principal)
    return then(answer, list => renderList(list, bound, this.#paged(call, principal)))
  }

  #paged(call: Call, { access }: Principal): PagedRead {
    return { call, access, baseUrl: this.#options.baseUrl }
  }

  #readAggregate(
    route: AggregateRoute,
    view: CollectionView,
    call: Call,
    principal: Principal,
  ): Awaitable<Reply> {
    const scope = aggregatedScope(route, view)
    const aggregate = this.#parse(route, principal, () => boundAggregate(scope, route.within?.id, call.query))
    return answerAggregate(this.#options, scope, aggregate, call, principal)
  }

  #parse<T>(route: Route, principal: Principal, parse: () => T): T {
    admitTo(this.#options.model, route, 'read', principal)
    return parse()
  }

  #readMe(route: Route, call: Call, principal: Principal): Awaitable<Reply> {
    if (principal.userId === null) throw noUser(principal)
    const view = this.#view('users', principal)
    return this.#readItem(route, view, principal.userId, call, principal)
  }

  #readDocument(call: Call): Awaitable<Reply> {
    refuseParameters(call.query)
    return this.#answerDocument(call)
  }

  #write(route: Route, call: Call, principal: Principal, attempt?: KeyedAttempt): Awaitable<Reply> {
    if (route.kind === 'batch') return answerBatch(this.#options, this.#requests, call, principal, attempt)
    if (route.kind === 'subresource') return endSubresource(this.#services, route, call, principal, attempt)
    if (route.kind === 'action') return answerAction(this.#services, route, call, principal, attempt)
    if (route.kind !== 'collection' && route.kind !== 'item') refuseMethod(route)
    const view = this.#view(route.collection.name, principal)
    if (route.kind === 'collection') return answerCreate(this.#options, view, call, principal, attempt)
    return answerChange(this.#options, view, route.id, call, principal, attempt)
  }
}

/** The REST transport of a model: every path under `/api/v1`, and those of `pages`. */
export function createRest(options: RestOptions): Rest {
  const handler = new RestHandler(options)
  const { drawForReply } = options
  if (drawForReply === undefined) return (call, principal) => handler.answer(call, principal)
  return (call, principal) =>
    then(handler.answer(call, principal), reply => {
      // Pages cost the same, whatever their size.
      if (typeof reply.body !== 'string' || !call.path.startsWith(prefix)) return reply
      return then(drawForReply(call, principal, reply.body), () => reply)
    })
}
