/** The REST transport: `/api/v1`. URL → plan → response. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { type StaticAsset, serveStatic } from '../../base/static-assets.ts'
import type { RunView } from '../../delivery/runs/view.ts'
import type { Files } from '../../engine/files/files.ts'
import { type Idempotency, keyHeader } from '../../engine/idempotency/idempotency.ts'
import { type OperationParts, operationParts } from '../../engine/logic/operations/call.ts'
import type { CrudOperation, Model } from '../../model/model.ts'
import { requireJson } from './accept.ts'
import type { ItemActions, OpenPersonalData, SubresourceHandlers } from './actions/action.ts'
import { refuseParameters } from './actions/answer.ts'
import type { Admit } from './admission.ts'
import { answerBatch } from './batch/batch.ts'
import { createEventsHandler } from './events/events.ts'
import type { EventRouteParts } from './events/parts.ts'
import type { Explain } from './explain.ts'
import { Exports } from './export/export.ts'
import { type AdmitField, receiveForm } from './files/form.ts'
import { withUploads } from './files/receive.ts'
import { isForm, takesForms } from './files/routes.ts'
import { admitField, requireProbe } from './files/write.ts'
import { type Methods, operationOf, refuseMethod } from './methods.ts'
import { openapi } from './openapi/document.ts'
import { type CollectionView, type CollectionViews, createViews } from './query/collection-view.ts'
import { vary } from './reply/headers.ts'
import { kindOf, type RouteKind } from './route-kinds.ts'
import { findRoute, prefix, type Route } from './routes.ts'
import type { RestServices, Write } from './services.ts'
import { mergePatch, type WriteServices } from './write.ts'

export { errorReply } from './reply/error-reply.ts'

export interface RestOptions extends WriteServices {
  /** Draws what the size of a reply costs. */
  readonly drawForReply?: (call: Call, principal: Principal, body: string) => Awaitable<undefined>
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
  /** Undefined: no data of a person can be exported. */
  readonly personalData?: OpenPersonalData
  /** The file store. Undefined: no file is received or sent. */
  readonly files?: Files | undefined
  /** Answers paths outside the API. */
  readonly pages?: ((call: Call) => Awaitable<Reply>) | undefined
}

/** Responds to a call, synchronously where the store answers synchronously. Throws or rejects with an `ApiError`: see `errorReply`. */
export type Rest = (call: Call, principal: Principal) => Awaitable<Reply>

function answerOptions(allowed: Methods): Reply {
  const headers = ['Allow', allowed.join(', '), 'Cache-Control', 'no-store']
  // RFC 5789, 3.1
  if (allowed.includes('PATCH')) headers.push('Accept-Patch', mergePatch.join(', '))
  return { status: 204, headers, body: null }
}

/** The OpenAPI document, made at its first request, and compressed once for each content coding. */
function answerDocument({ model, baseUrl }: RestOptions): (call: Call) => Awaitable<Reply> {
  const read = () => JSON.stringify(openapi(model, baseUrl))
  const document: StaticAsset = { type: 'json', read, maxAgeSeconds: 0, varies: vary }
  const answer = serveStatic({ assets: new Map([[`${prefix}/openapi.json`, document]]) })
  return call => {
    refuseParameters(call.query)
    return answer(call)
  }
}

function requireView(views: CollectionViews, collection: string): CollectionView {
  const view = views.get(collection)
  if (!view) throw new ApiError('NOT_FOUND')
  return view
}

class RestHandler {
  readonly #model: Model
  readonly #idempotency: Idempotency
  readonly #pages: RestOptions['pages']
  readonly #services: RestServices

  constructor(options: RestOptions) {
    const { model, run, hooks, baseUrl, draw, idempotency, pages } = options
    const { logic = operationParts(model, hooks), explain, runs, personalData, files } = options
    const { actions = new Map(), subresources = new Map() } = options
    const viewsOf = createViews(model, hooks)
    const viewOf = (name: string, { access }: Principal) => requireView(viewsOf(access), name)
    const document = answerDocument(options)
    const events = options.events && createEventsHandler({ model, run, draw, viewsOf }, options.events)
    const services: RestServices = {
      model,
      run,
      hooks,
      baseUrl,
      draw,
      viewOf,
      actions,
      subresources,
      logic,
      document,
      exports: new Exports({ draw, events: options.events, closing: options.events?.events.hub.closing }),
      events,
      explain,
      runs,
      personalData,
      files,
      idempotency,
      batch: (call, principal, attempt) => answerBatch(services, call, principal, attempt),
    }
    this.#model = model
    this.#idempotency = idempotency
    this.#pages = pages
    this.#services = services
  }

  answer(call: Call, principal: Principal): Awaitable<Reply> {
    const route = findRoute(this.#model, call.path)
    if (!route) {
      if (this.#pages && !call.path.startsWith(`${prefix}/`)) return this.#pages(call)
      throw new ApiError('NOT_FOUND')
    }
    const kind = kindOf(route)
    const methods = kind.methods(route)
    if (!methods.includes(call.method)) refuseMethod(methods)
    if (call.method === 'OPTIONS') return answerOptions(methods)
    const operation = operationOf[call.method] ?? 'update'
    if (!kind.checksAccept) this.#requireJson(kind, route, operation, call, principal)
    if (operation === 'read') {
      const read = kind.read ?? refuseMethod(methods)
      return read(this.#services, route, call, principal)
    }
    const write = kind.write ?? refuseMethod(methods)
    if (kind.isKeyed && isForm(call) && 'collection' in route && takesForms(route.collection))
      return this.#receiveForm(kind.admit, route, call, principal)
    if (!kind.isKeyed || call.headers[keyHeader] === undefined)
      return write(this.#services, route, call, principal, undefined)
    return this.#writeOnce(kind.admit, write, route, call, principal)
  }

  /** A form with its files in place, as a call whose body is parsed. */
  async #receiveForm(admit: Admit<Route>, route: Route, call: Call, principal: Principal): Promise<Reply> {
    const { files } = this.#services
    if (files === undefined || !('collection' in route)) throw new ApiError('NOT_FOUND')
    admit(this.#model, route, principal, operationOf[call.method] ?? 'update')
    const { collection } = route
    let mayReceive: AdmitField = async field => admitField(this.#model, collection, field, principal)
    if (route.kind === 'item') {
      await requireProbe(this.#services, route, call, principal)
      mayReceive = field => requireProbe(this.#services, { collection, id: route.id, field }, call, principal)
    }
    const form = await receiveForm({ call, collection, files, principal, admitField: mayReceive })
    return withUploads(files, form.uploads, () => this.answer(form.call, principal))
  }

  /** A method of its own, so that requests without a key allocate no closure. */
  #writeOnce(
    admit: Admit<Route>,
    write: Write<Route>,
    route: Route,
    call: Call,
    principal: Principal,
  ): Awaitable<Reply> {
    try {
      return this.#idempotency.answer(call, principal, attempt =>
        write(this.#services, route, call, principal, attempt),
      )
    } catch (error) {
      admit(this.#model, route, principal, operationOf[call.method] ?? 'update')
      throw error
    }
  }

  #requireJson(
    kind: RouteKind<Route>,
    route: Route,
    operation: CrudOperation,
    call: Call,
    principal: Principal,
  ): void {
    try {
      requireJson(call.headers.accept, operation === 'read' && kind.isExported === true)
    } catch (error) {
      kind.admit(this.#model, route, principal, operation)
      throw error
    }
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
