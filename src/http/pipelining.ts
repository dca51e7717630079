/** Requests that a client sends without waiting for answers (RFC 9112, 9.3.2). */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Handle = (req: IncomingMessage, res: ServerResponse) => void

/**
 * Handles the requests of a connection one at a time: each begins when the one before it is answered, so that none runs
 * beside a write that it may depend on, and none is begun on a connection that ends before its turn.
 */
export function oneAtATime(handle: Handle): Handle {
  const lastHeld = new WeakMap<Socket, ServerResponse>()
  return (req, res) => {
    // Node gives a response its socket when those before it are finished.
    if (res.socket !== null) return handle(req, res)
    const { socket } = req
    lastHeld.set(socket, res)
    // What is held takes memory, so no more is read than has come.
    socket.pause()
    res.once('socket', () => {
      if (lastHeld.get(socket) === res) {
        lastHeld.delete(socket)
        socket.resume()
      }
      handle(req, res)
    })
  }
}
