/** `GET /{collection}/aggregate`, and the same for the items that belong to an item. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { AggregateShape, Plan } from '../../engine/plan/plan.ts'
import { mayScan } from '../../engine/plan/scans.ts'
import { exportFormat } from './export/export.ts'
import { aggregateExport } from './export/requests.ts'
import { parseAggregate } from './query/aggregate.ts'
import type { CollectionView, ListScope } from './query/collection-view.ts'
import type { BoundAggregate } from './query/list-template.ts'
import { renderAggregate } from './reply/read-reply.ts'
import type { RouteOf } from './routes.ts'
import { scanRequests } from './scan-cost.ts'
import type { RestServices } from './services.ts'

/** Throws NOT_FOUND where the caller may not follow the relation. */
export function aggregatedScope({ within }: RouteOf<'aggregate'>, view: CollectionView): ListScope {
  const scope = within ? view.sublist(within.relation) : view.list
  if (!scope) throw new ApiError('NOT_FOUND')
  return scope
}

/** A parsed aggregate. `id`: of the parent, if the scope has one. */
export function boundAggregate(
  scope: ListScope,
  id: number | undefined,
  query: string,
): { readonly bound: BoundAggregate; readonly plan: Plan<AggregateShape> } {
  const bound = parseAggregate(scope, query)
  const args = id === undefined ? bound.args : [id, ...bound.args]
  return { bound, plan: { shape: bound.template.shape, args } }
}

/** The requests that an aggregate draws besides its own, if no index serves its filter. */
export function furtherRequests(scope: ListScope, { shape }: Plan<AggregateShape>): number {
  const isIndexed = scope.within !== undefined || !mayScan(shape.filter, scope.target.collection)
  return isIndexed ? 0 : scanRequests - 1
}

export function answerAggregate(
  { run, draw, baseUrl, exports }: Pick<RestServices, 'run' | 'draw' | 'baseUrl' | 'exports'>,
  scope: ListScope,
  { bound, plan }: ReturnType<typeof boundAggregate>,
  call: Call,
  principal: Principal,
): Awaitable<Reply> {
  const format = exportFormat(call)
  const extraRequests = furtherRequests(scope, plan)
  const budgetDrawn = extraRequests > 0 ? draw?.(call, principal, extraRequests) : undefined
  return then(budgetDrawn, () =>
    format
      ? exports.answer(format, aggregateExport(run, scope, { bound, plan }, { call, principal, baseUrl }))
      : then(run.aggregate(plan, principal), answer =>
          renderAggregate(answer, bound, { call, access: principal.access, baseUrl }),
        ),
  )
}
