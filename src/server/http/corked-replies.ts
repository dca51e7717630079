/** Corked writes: the replies of one turn of the event loop are sent together. */
import type { Reply } from '../../base/call.ts'
import type { Exchange } from './exchange.ts'

export interface CorkedReplies {
  readonly queue: (exchange: Exchange, reply: Reply) => void
  /** Sends the queued replies now. */
  readonly sendAll: () => void
}

/**
 * Sends all replies of one turn of the event loop at its end, so that a client process wakes up once for many replies
 * (`decisions/http-server.md`).
 */
export function corkReplies(
  send: CorkedReplies['queue'],
  onFailure: (exchange: Exchange, error: unknown) => void,
): CorkedReplies {
  let queued: { readonly exchange: Exchange; readonly reply: Reply }[] = []
  const sendAll = () => {
    const replies = queued
    queued = []
    for (const { exchange, reply } of replies) {
      try {
        send(exchange, reply)
      } catch (error) {
        onFailure(exchange, error)
      }
    }
  }
  const queue: CorkedReplies['queue'] = (exchange, reply) => {
    if (queued.length === 0) setImmediate(sendAll)
    queued.push({ exchange, reply })
    // A client that is still sending its body gets the reply at once. The body of a request refused by admission control
    // usually arrives within this turn, after which the connection can be kept.
    if (exchange.isUnread && !exchange.isRefused) sendAll()
  }
  return { queue, sendAll }
}
