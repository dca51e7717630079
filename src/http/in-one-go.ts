/** When replies are sent. */
import type { Reply } from '../call.ts'
import type { Exchange } from './exchange.ts'

export interface Outbox {
  readonly put: (exchange: Exchange, reply: Reply) => void
  /** Sends now what waits for the end of the turn. */
  readonly sendAll: () => void
}

/**
 * Sends all that one turn of the event loop has answered at its end, in one go: readers that wait are woken
 * once for many replies, not for each (`decisions/replies-in-one-go.md`).
 */
export function inOneGo(
  send: Outbox['put'],
  failed: (exchange: Exchange, error: unknown) => void,
  tellsSenders = true,
): Outbox {
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
  const put: Outbox['put'] = (exchange, reply) => {
    if (waiting.length === 0) setImmediate(sendAll)
    waiting.push({ exchange, reply })
    // A client that still sends is told at once that nobody listens.
    if (tellsSenders && exchange.isUnread) sendAll()
  }
  return { put, sendAll }
}
