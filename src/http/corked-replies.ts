/** Corked writes: when replies are sent. */
import type { Reply } from '../call.ts'
import type { Exchange } from './exchange.ts'

export interface CorkedReplies {
  readonly put: (exchange: Exchange, reply: Reply) => void
  /** Sends what waits for the end of the turn. */
  readonly sendAll: () => void
}

/**
 * Sends all replies of one turn of the event loop together, at its end: a client process wakes up once for many
 * replies, not for each (`decisions/corked-replies.md`).
 */
export function corkReplies(
  send: CorkedReplies['put'],
  failed: (exchange: Exchange, error: unknown) => void,
): CorkedReplies {
  let waiting: { readonly exchange: Exchange; readonly reply: Reply }[] = []
  const sendAll = () => {
    const ready = waiting
    waiting = []
    for (const { exchange, reply } of ready) {
      try {
        send(exchange, reply)
      } catch (error) {
        failed(exchange, error)
      }
    }
  }
  const put: CorkedReplies['put'] = (exchange, reply) => {
    if (waiting.length === 0) setImmediate(sendAll)
    waiting.push({ exchange, reply })
    // A client that is still sending its body gets the reply at once. The body of a request refused by admission control
    // usually arrives within this turn, after which the connection can be kept.
    if (exchange.isUnread && !exchange.isRefused) sendAll()
  }
  return { put, sendAll }
}
