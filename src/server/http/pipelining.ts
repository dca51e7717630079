/** Requests that a client sends without waiting for responses (RFC 9112, 9.3.2). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerSocket } from './server-socket.ts'

type Handle = (req: IncomingMessage, res: ServerResponse) => void

function stopReading(this: ServerSocket): void {
  const { _handle: handle } = this
  if (!handle) return
  handle.reading = false
  handle.readStop()
}

function resumeReading(socket: ServerSocket): void {
  socket.off('resume', stopReading)
  const { _handle: handle } = socket
  if (!handle) return
  handle.reading = true
  handle.readStart()
}

/**
 * Handles the requests of a connection one at a time: each begins when the one before it is answered. So no request runs
 * concurrently with a write that it may depend on, and none begins after the connection has ended.
 */
export function oneAtATime(handle: Handle): Handle {
  const lastWaiting = new WeakMap<ServerSocket, ServerResponse>()
  return (req, res) => {
    // Node assigns the socket to a response when those before it are finished.
    if (res.socket !== null) return handle(req, res)
    const socket: ServerSocket = req.socket
    // Waiting requests take memory, so reading stops.
    if (!lastWaiting.has(socket)) socket.on('resume', stopReading)
    stopReading.call(socket)
    lastWaiting.set(socket, res)
    res.once('socket', () => {
      if (lastWaiting.get(socket) === res) {
        lastWaiting.delete(socket)
        resumeReading(socket)
      }
      handle(req, res)
    })
  }
}
