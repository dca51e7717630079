/** GET of items, lists and aggregates → plans; their answers → responses. */
import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { admit } from '../../engine/plan/guard/guard.ts'
import { includedLimit } from '../../engine/plan/plan.ts'
import { admitNested } from './actions/admission.ts'
import { requireNested } from './actions/answer.ts'
import type { NestedRoute } from './actions/routes.ts'
import { admitAggregate, admitWithin, requireUser } from './admission.ts'
import { aggregatedScope, answerAggregate, boundAggregate } from './aggregates.ts'
import { exportFormat } from './export/export.ts'
import { listExport } from './export/requests.ts'
import type { CollectionView, ItemTemplate, ListScope } from './query/collection-view.ts'
import { parseItem } from './query/item.ts'
import { parseList } from './query/list.ts'
import { renderItem, renderList } from './reply/read-reply.ts'
import type { RouteOf } from './routes.ts'
import type { Read, RestServices } from './services.ts'

export const readItem: Read<RouteOf<'item'>> = (services, { collection, id }, call, principal) => {
  return answerItem(services, services.viewOf(collection.name, principal), id, call, principal)
}

export const readMe: Read<RouteOf<'me'>> = (services, _route, call, principal) => {
  const id = requireUser(principal)
  return answerItem(services, services.viewOf('users', principal), id, call, principal)
}

export const readNested: Read<NestedRoute> = (services, route, call, principal) => {
  admitNested(services.model, route, principal)
  const view = services.viewOf(route.relation.target, principal)
  return then(requireNested(services.run, route, principal), () =>
    answerItem(services, view, route.nested, call, principal),
  )
}

export const readCollection: Read<RouteOf<'collection'>> = (services, { collection }, call, principal) => {
  const { list } = services.viewOf(collection.name, principal)
  admit(services.model, collection, 'read', principal.access)
  return answerList(services, list, undefined, call, principal)
}

export const readWithin: Read<RouteOf<'within'>> = (services, route, call, principal) => {
  const scope = services.viewOf(route.collection.name, principal).sublist(route.relation)
  if (!scope) throw new ApiError('NOT_FOUND')
  admitWithin(services.model, route, principal, 'read')
  return answerList(services, scope, route.id, call, principal)
}

export const readAggregate: Read<RouteOf<'aggregate'>> = (services, route, call, principal) => {
  const scope = aggregatedScope(route, services.viewOf(route.collection.name, principal))
  admitAggregate(services.model, route, principal, 'read')
  const aggregate = boundAggregate(scope, route.within?.id, call.query)
  return answerAggregate(services, scope, aggregate, call, principal)
}

function admittedTemplate(
  { model }: RestServices,
  view: CollectionView,
  { query }: Call,
  { access }: Principal,
): ItemTemplate {
  admit(model, view.collection, 'read', access)
  return parseItem(view, query)
}

function answerItem(
  services: RestServices,
  view: CollectionView,
  id: number,
  call: Call,
  principal: Principal,
): Awaitable<Reply> {
  const template = view.items.get(call.query) ?? admittedTemplate(services, view, call, principal)
  const args = template.includes ? [id, includedLimit] : [id]
  const answer = services.run.item({ shape: template.shape, args }, principal)
  return then(answer, item => renderItem(item, template, principal.access, call))
}

/** `id`: of the parent, if the scope has one. */
function answerList(
  { run, baseUrl, exports }: RestServices,
  scope: ListScope,
  id: number | undefined,
  call: Call,
  principal: Principal,
): Awaitable<Reply> {
  const bound = parseList(scope, call.query)
  const format = exportFormat(call)
  if (format)
    return exports.answer(format, listExport(run, scope, { bound, id }, { call, principal, baseUrl }, format))
  const args = id === undefined ? bound.args : [id, ...bound.args]
  const answer = run.list({ shape: bound.template.shape, args }, principal)
  return then(answer, list => renderList(list, bound, { call, access: principal.access, baseUrl }))
}
