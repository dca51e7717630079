/** Requests for lists and aggregates → what is exported. */
import type { Call } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { AggregateShape, Plan } from '../../../engine/plan/plan.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { ListScope } from '../query/collection-view.ts'
import { isPaging } from '../query/list-parameters.ts'
import type { BoundAggregate, BoundList } from '../query/list-template.ts'
import { parameterFault, parseQuery } from '../query/query-string.ts'
import { linkTarget, listLinks, pageLinks } from '../reply/links.ts'
import type { ExportRequest } from './export.ts'
import { aggregateColumns, type ExportFormat } from './formats.ts'
import { type ExportPage, type ExportSource, listSource, rowsOf } from './sources.ts'

/** Their answer is one piece. */
const maxGroups = 10_000

interface Caller {
  readonly call: Call
  readonly principal: Principal
  readonly baseUrl: string | undefined
}

function namesPage({ query }: Call): boolean {
  return parseQuery(query).some(isPaging)
}

/** `id`: of the parent, if the scope has one. Throws BAD_REQUEST for related items in a format that has no place for them. */
export function listExport(
  run: Run,
  scope: ListScope,
  { bound, id }: { readonly bound: BoundList; readonly id: number | undefined },
  caller: Caller,
  format: ExportFormat,
): ExportRequest {
  const { call, principal } = caller
  const { shape, presentation } = bound.template
  const columns = shape.select.flatMap(({ kind, key }) =>
    kind === 'field' ? [{ name: key, path: [key] }] : [],
  )
  if (columns.length < shape.select.length && !format.isNested) {
    const message = 'The parameter "include" has no place in CSV: accept application/x-ndjson instead.'
    throw parameterFault('include', 'excluded', message)
  }
  const source = namesPage(call)
    ? onePage(async as => {
        const args = id === undefined ? bound.args : [id, ...bound.args]
        const answer = await run.list({ shape, args }, as)
        return { rows: rowsOf(answer), isLast: true, links: listLinks(linkTarget(caller), bound, answer) }
      })
    : listSource(run, bound, id)
  return { call, principal, source, columns, presentation, name: nameOf(scope) }
}

/** All groups, unless the query names a page. */
export function aggregateExport(
  run: Run,
  scope: ListScope,
  { bound, plan }: { readonly bound: BoundAggregate; readonly plan: Plan<AggregateShape> },
  caller: Caller,
): ExportRequest {
  const { call, principal } = caller
  const { shape, presentation } = bound.template
  const isPage = namesPage(call)
  const args = isPage ? plan.args : plan.args.with(shape.offset, 0).with(shape.limit, maxGroups)
  const source = onePage(async as => {
    const answer = await run.aggregate({ shape, args }, as)
    if (answer.hasMore === true && !isPage) throw tooManyGroups()
    const links = isPage ? pageLinks(linkTarget(caller), bound, bound.page, answer) : []
    return { rows: rowsOf(answer), isLast: true, links }
  })
  const columns = aggregateColumns(shape.select)
  return { call, principal, source, columns, presentation, name: `${nameOf(scope)}_aggregate` }
}

function nameOf({ target, within }: ListScope): string {
  return within?.relation ?? target.collection.name
}

function onePage(read: (principal: Principal) => Promise<Omit<ExportPage, 'advance'>>): ExportSource {
  return { isSized: false, next: async principal => ({ ...(await read(principal)), advance: () => {} }) }
}

function tooManyGroups(): ApiError {
  const message = `At most ${maxGroups} groups can be exported: filter, group by less, or request pages by "page".`
  return new ApiError('BAD_REQUEST', message)
}
