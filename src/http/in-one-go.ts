/** When replies are sent. */
import type { Reply } from '../call.ts'
import type { Exchange } from './exchange.ts'

export type Sender = (exchange: Exchange, reply: Reply) => void

/**
 * Sends all that one turn of the event loop has answered at its end, in one go: readers that wait are woken
 * once for many replies, not for each (`decisions/replies-in-one-go.md`).
 */
export function inOneGo(
  send: Sender,
  failed: (exchange: Exchange, error: unknown) => void,
  tellsSenders = true,
): Sender {
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
  return (exchange, reply) => {
    if (waiting.length === 0) setImmediate(sendAll)
    waiting.push({ exchange, reply })
    // A client that still sends is told at once that nobody listens.
    if (tellsSenders && exchange.isUnread) sendAll()
  }
}
