/** The representation of events in responses. */
import type { Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { EventFormat } from '../../events/event-request.ts'
import { eventStreamHeaders } from '../../events/event-stream.ts'
import type { LogPage } from '../../events/log-page.ts'
import { vary } from '../reply/headers.ts'

export const jsonEvents: EventFormat = { name: 'json', render: ({ text }) => text }

/** One block of an event stream (HTML Living Standard, 9.2.6). JSON text has no line ends. */
export const streamedEvents: EventFormat = {
  name: 'stream',
  render: ({ type, text }, event) => `id: ${event}\nevent: ${type}\ndata: ${text}\n\n`,
}

/** Sets the id from which a client resumes. It is not an event: a block without data is not dispatched (9.2.6). */
export function positionBlock(event: number): string {
  return `:\nid: ${event}\n\n`
}

/**
 * Tells the client to reload its lists. The id is that of the newest event: a browser reconnects automatically, and then
 * continues from there instead of getting this block again.
 */
export function resyncBlock({ code, message }: ApiError, newest: number): string {
  const data = JSON.stringify({ error: { code, message } })
  return `id: ${newest}\nevent: resync_required\ndata: ${data}\n\n`
}

export const streamHeaders = [...eventStreamHeaders, 'Vary', vary]

const pageHeaders = ['Content-Type', 'application/json', 'Cache-Control', 'no-store', 'Vary', vary]

export function pageReply({ replies, position, hasMore }: LogPage): Reply {
  const meta = JSON.stringify({ next_after: String(position), has_more: hasMore })
  return { status: 200, headers: pageHeaders, body: `{"data":[${replies.join(',')}],"meta":${meta}}` }
}

export function isResync(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'RESYNC_REQUIRED'
}
