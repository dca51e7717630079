/** Responses to GET and HEAD: created once per answer of the store, and reused while the answer is valid. */
import { type Call, emptyHead, type Reply } from '../../../base/call.ts'
import { entityTag, matchesNone, requireMatch } from '../../../base/conditional.ts'
import { ApiError } from '../../../base/errors.ts'
import type { AccessClass } from '../../../base/principal.ts'
import type { ItemAnswer, ListAnswer, RenderedAnswer } from '../../../engine/plan/answer.ts'
import type { ItemTemplate } from '../query/collection-view.ts'
import type { BoundAggregate, BoundList } from '../query/list-template.ts'
import { readHeaders } from './headers.ts'
import { cursorLinks, linkTarget, pageLinks } from './links.ts'

/** Approximate memory use of two replies, with their headers and entity tag. */
const repliesBytes = 1000

/** The 200 and the 304 (RFC 9110, 15.4.5) of one answer, stored in `answer.rendered`. */
class Rendered implements RenderedAnswer {
  readonly bytes: number
  readonly etag: string
  readonly full: Reply
  readonly notModified: Reply

  /** `further`: more headers, flat. `isCopy`: the body is not the text of the answer, so it takes additional memory. */
  constructor(body: string, headers: readonly string[], further: readonly string[], isCopy: boolean) {
    this.bytes = repliesBytes + 2 * (isCopy ? body.length : 0) + 2 * further.join('').length
    this.etag = entityTag(body)
    this.full = {
      status: 200,
      headers: [...headers, 'ETag', this.etag, ...further],
      body,
      cachedHead: emptyHead(),
    }
    // Without the media type, which belongs to the body.
    const short = [...headers.slice(2), 'ETag', this.etag]
    this.notModified = { status: 304, headers: short, body: null, cachedHead: emptyHead() }
  }
}

function choose(rendered: Rendered, call: Call): Reply {
  const header = call.headers['if-none-match']
  // RFC 9110, 13.2.2: If-Match comes first.
  requireMatch(call.headers['if-match'], rendered.etag)
  return header !== undefined && matchesNone(header, rendered.etag) ? rendered.notModified : rendered.full
}

/** Throws NOT_FOUND if the item does not exist, or the caller may not see it. */
export function renderItem(
  answer: ItemAnswer,
  template: ItemTemplate,
  access: AccessClass,
  call: Call,
): Reply {
  if (answer.rendered instanceof Rendered) return choose(answer.rendered, call)
  if (answer.text === null) throw new ApiError('NOT_FOUND')
  const rendered = new Rendered(answer.text, readHeaders(template.presentation, access), [], false)
  answer.rendered = rendered
  return choose(rendered, call)
}

/** A read whose reply has links to other pages. */
export interface PagedRead {
  readonly call: Call
  readonly access: AccessClass
  /** The public URL of the service, if it is known: see `linkTarget`. */
  readonly baseUrl: string | undefined
}

function makeList(answer: ListAnswer, text: string, bound: BoundList, read: PagedRead) {
  const headers = readHeaders(bound.template.presentation, read.access)
  const path = linkTarget(read)
  const { page, perPage, template } = bound
  if (page !== undefined) {
    const body = `{"data":${text},"meta":{${totalText(answer)}"page":${page},"per_page":${perPage}}}`
    return new Rendered(body, headers, pageLinks(path, bound, page, answer), true)
  }
  const next = answer.next ? template.cursors.encode(answer.next) : null
  const body = `{"data":${text},"meta":{"per_page":${perPage},"next_cursor":${next === null ? null : `"${next}"`}}}`
  return new Rendered(body, headers, cursorLinks(path, bound, next), true)
}

function totalText({ total, isEstimate }: ListAnswer): string {
  if (total === undefined) return ''
  return isEstimate ? `"total":${total},"total_is_estimate":true,` : `"total":${total},`
}

/** Throws NOT_FOUND if the parent does not exist, or the caller may not see it. */
export function renderList(answer: ListAnswer, bound: BoundList, read: PagedRead): Reply {
  if (answer.rendered instanceof Rendered) return choose(answer.rendered, read.call)
  if (answer.text === null) throw new ApiError('NOT_FOUND')
  const rendered = makeList(answer, answer.text, bound, read)
  answer.rendered = rendered
  return choose(rendered, read.call)
}

/** Throws NOT_FOUND if the parent does not exist, or the caller may not see it. */
export function renderAggregate(answer: ListAnswer, bound: BoundAggregate, read: PagedRead): Reply {
  const { call, access } = read
  if (answer.rendered instanceof Rendered) return choose(answer.rendered, call)
  const { text, hasMore } = answer
  if (text === null) throw new ApiError('NOT_FOUND')
  const { page, perPage, template } = bound
  const body = `{"data":${text},"meta":{"page":${page},"per_page":${perPage},"has_more":${hasMore === true}}}`
  const headers = readHeaders(template.presentation, access)
  const rendered = new Rendered(body, headers, pageLinks(linkTarget(read), bound, page, answer), true)
  answer.rendered = rendered
  return choose(rendered, call)
}
