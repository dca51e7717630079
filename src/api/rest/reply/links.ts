/** The `Link` header of lists (RFC 8288). */
import type { Call } from '../../../base/call.ts'
import type { ListAnswer } from '../../../engine/plan/answer.ts'
import type { BoundList } from '../query/list-template.ts'

/** In characters. Many clients refuse longer headers. */
const maxHeaderLength = 6000

/**
 * The address of the read, without its query: absolute if the public URL is known, so that every client can follow a link as it
 * is; otherwise relative. Never made from `Host`: responses are shared between callers, so one caller could lead the others away.
 */
export function linkTarget({
  call,
  baseUrl = '',
}: {
  readonly call: Pick<Call, 'path'>
  readonly baseUrl: string | undefined
}): string {
  return baseUrl + call.path
}

function link(target: string, query: string, relation: string): string {
  return `<${target}?${query}>; rel="${relation}"`
}

/** As many of the links as fit, as a flat header; no header when none fits. */
function linkHeader(links: readonly string[]): readonly string[] {
  let header = ''
  for (const text of links) {
    if (header.length + text.length > maxHeaderLength) break
    header = header === '' ? text : `${header}, ${text}`
  }
  return header === '' ? [] : ['Link', header]
}

/** `next`, `prev`, `first` and `last`, if they exist; `last` only if the exact total is known. */
export function pageLinks(
  target: string,
  { linkQuery, perPage }: Pick<BoundList, 'linkQuery' | 'perPage'>,
  page: number,
  { total, isEstimate, hasMore }: Pick<ListAnswer, 'total' | 'isEstimate' | 'hasMore'>,
): readonly string[] {
  const last = total === undefined || isEstimate ? undefined : Math.max(1, Math.ceil(total / perPage))
  const to = (toPage: number, relation: string) =>
    link(target, `${linkQuery}page=${toPage}&per_page=${perPage}`, relation)
  const links = [to(1, 'first')]
  if (last !== undefined) links.push(to(last, 'last'))
  if (page > 1) links.unshift(to(Math.min(page - 1, last ?? page), 'prev'))
  if (last === undefined ? hasMore : page < last) links.unshift(to(page + 1, 'next'))
  return linkHeader(links)
}

/** The links of a list, by page or by cursor. */
export function listLinks(target: string, bound: BoundList, answer: ListAnswer): readonly string[] {
  const { page, template } = bound
  if (page !== undefined) return pageLinks(target, bound, page, answer)
  return cursorLinks(target, bound, answer.next ? template.cursors.encode(answer.next) : null)
}

/** `first`, and `next` when a page follows. */
export function cursorLinks(
  target: string,
  { linkQuery, perPage }: BoundList,
  next: string | null,
): readonly string[] {
  const to = (cursor: string, relation: string) =>
    link(target, `${linkQuery}cursor=${cursor}&per_page=${perPage}`, relation)
  return linkHeader(next === null ? [to('', 'first')] : [to(next, 'next'), to('', 'first')])
}
