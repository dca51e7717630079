/** Requests that a client sends without waiting for answers (RFC 9112, 9.3.2). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Handle = (req: IncomingMessage, res: ServerResponse) => void

/** What Node's HTTP server itself stops reading by. `pause` alone is undone when a resume was under way. */
interface Readable {
  readonly _handle?: { reading: boolean; readStop(): void; readStart(): void } | null
}

function stopReading(this: object): void {
  const { _handle: handle }: Readable = this
  if (!handle) return
  handle.reading = false
  handle.readStop()
}

function readOn(socket: Socket): void {
  socket.off('resume', stopReading)
  const { _handle: handle }: Readable = socket as object
  if (!handle) return
  handle.reading = true
  handle.readStart()
}

/**
 * Handles the requests of a connection one at a time: each begins when the one before it is answered. So none runs
 * concurrently with a write that it may depend on, and none begins if the connection ends first.
 */
export function oneAtATime(handle: Handle): Handle {
  const lastHeld = new WeakMap<Socket, ServerResponse>()
  return (req, res) => {
    // Node gives a response its socket when those before it are finished.
    if (res.socket !== null) return handle(req, res)
    const { socket } = req
    // Held requests take memory, so reading stops.
    if (!lastHeld.has(socket)) socket.on('resume', stopReading)
    stopReading.call(socket)
    lastHeld.set(socket, res)
    res.once('socket', () => {
      if (lastHeld.get(socket) === res) {
        lastHeld.delete(socket)
        readOn(socket)
      }
      handle(req, res)
    })
  }
}
