/** `GET /api/v1/events`: the event log as JSON, with long polling, and as server-sent events. */
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { quoted } from '../../../engine/plan/names.ts'
import { eventRequest } from '../../events/event-request.ts'
import { type LogPage, readLogPage } from '../../events/log-page.ts'
import { createEventViews } from '../../events/show-event.ts'
import type { SubscriptionRequest } from '../../events/subscriber.ts'
import { readAccept } from '../accept.ts'
import type { CollectionViews } from '../query/collection-view.ts'
import type { WriteServices } from '../write.ts'
import { jsonEvents, pageReply, streamedEvents, streamHeaders } from './form.ts'
import type { EventRouteParts } from './parts.ts'
import { parsePosition } from './position.ts'
import { type EventsQuery, parseEventsQuery } from './query.ts'
import { streamEvents } from './stream.ts'
import { waitForEvents } from './wait.ts'

export interface EventsServices extends Pick<WriteServices, 'model' | 'run' | 'draw'> {
  readonly viewsOf: (access: Principal['access']) => CollectionViews
}

/** Throws or rejects with an `ApiError`. */
export type EventsHandler = (call: Call, principal: Principal) => Promise<Reply>

export function createEventsHandler(services: EventsServices, parts: EventRouteParts): EventsHandler {
  const { model, run, draw, viewsOf } = services
  const views = createEventViews(model, run, parts.maxAnswerBytes)
  return async (call, principal) => {
    const parsedQuery = parseEventsQuery({ model, principal, views: viewsOf(principal.access) }, call.query)
    const query = { ...parsedQuery, after: lastEventId(call) ?? parsedQuery.after }
    const { json, eventStream } = readAccept(call.headers.accept)
    if (!json && !eventStream) throw notAcceptable()
    const request = eventRequest(model, views, query, eventStream ? streamedEvents : jsonEvents)
    const parsed = { parts, draw, query, request, principal, call }
    return eventStream ? stream(parsed) : pageReply(await readPage(parsed))
  }
}

/** Throws NOT_FOUND if there is no handler. */
export function answerEvents(
  { events }: { readonly events: EventsHandler | undefined },
  _route: unknown,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  if (events === undefined) throw new ApiError('NOT_FOUND')
  return events(call, principal)
}

interface EventsCall {
  readonly parts: EventRouteParts
  readonly draw: EventsServices['draw']
  readonly query: EventsQuery
  readonly request: SubscriptionRequest
  readonly principal: Principal
  readonly call: Call
}

async function stream({ parts, query, request, principal, call }: EventsCall): Promise<Reply> {
  // For HEAD as for GET: throws if the caller may never see an event.
  request.rendererFor(principal)
  if (call.method === 'HEAD') return { status: 200, headers: streamHeaders, body: null }
  return streamEvents(parts, {
    request,
    principal,
    client: parts.clientOf(call, principal),
    after: query.after,
  })
}

/** Events that one request of the budget pays for. */
const eventsPerRequest = 100

/** With `wait`, an empty page at the end of the log waits for the next event. */
async function readPage({ parts, draw, query, request, principal, call }: EventsCall): Promise<LogPage> {
  const after = query.after ?? (await parts.feed.bounds()).drawn
  const page = await readLogPage(parts.feed, request.rendererFor(principal), {
    ...{ after, limit: query.limit, maxBytes: parts.maxAnswerBytes },
  })
  const furtherRequests = Math.ceil(page.scanned / eventsPerRequest) - 1
  if (furtherRequests > 0) await draw?.(call, principal, furtherRequests)
  const isEnd = page.replies.length === 0 && !page.hasMore
  if (!isEnd || query.waitSeconds === 0 || call.method === 'HEAD') return page
  const client = parts.clientOf(call, principal)
  const maxBytes = parts.maxAnswerBytes
  return waitForEvents(parts, { ...query, request, principal, client, after: page.position, maxBytes })
}

function notAcceptable(): ApiError {
  return new ApiError(
    'NOT_ACCEPTABLE',
    'The answer is application/json or text/event-stream, which the Accept header excludes.',
  )
}

/** Clients send this header when they reconnect, with the same URL, so it is newer than `after`. */
function lastEventId({ headers }: Call): number | undefined {
  const id = headers['last-event-id']
  if (id === undefined || id === '') return undefined
  const position = parsePosition(String(id))
  if (position !== undefined) return position
  throw new ApiError(
    'BAD_REQUEST',
    `The header Last-Event-ID must be the id of an event, not ${quoted(String(id))}.`,
  )
}
