/** Disconnects clients that do not read their responses, which stay in memory until they are read. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface SlowClientsOptions {
  /** The time to read a response, plus one second for every 64 KiB of it. */
  readonly timeoutMs: number
  /** Replaces the 64 KiB per second, for tests. */
  readonly minBytesPerSecond?: number
  /** How many bytes may be buffered for all clients together. */
  readonly maxBytes: number
}

interface UnreadResponse {
  readonly socket: Socket
  readonly deadline: number
}

/** The time to read a response, without that for its size. */
export const readTimeoutMs = 60_000
/** Of all clients of all workers together. Beyond it, the connections with the oldest unread responses are closed. */
export const maxUnreadBytes = 256 * 1024 * 1024

const minBytesPerSecond = 65_536
const checkIntervalMs = 1000

export class SlowClients {
  readonly #options: SlowClientsOptions
  /** In the order in which they were answered. */
  readonly #unread = new Map<ServerResponse, UnreadResponse>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  readonly counts = { disconnected: 0 }

  constructor(options: SlowClientsOptions) {
    this.#options = options
  }

  /** Bytes that were buffered for clients at the last check. */
  get bytes(): number {
    return this.#bytes
  }

  /** Watches a response that was written, unless the system's socket buffer took all of it. */
  watch(res: ServerResponse): void {
    const { socket } = res
    const unreadBytes = socket?.writableLength ?? 0
    if (socket === null || unreadBytes === 0) return
    const { timeoutMs, maxBytes, minBytesPerSecond: bytesPerSecond = minBytesPerSecond } = this.#options
    const deadline = performance.now() + timeoutMs + (unreadBytes / bytesPerSecond) * 1000
    this.#unread.set(res, { socket, deadline })
    this.#bytes += unreadBytes
    this.#timer ??= setInterval(() => this.#check(), checkIntervalMs).unref()
    if (this.#bytes > maxBytes) this.#disconnectLongest()
  }

  #check(): void {
    const now = performance.now()
    this.#count()
    for (const [res, { socket, deadline }] of this.#unread) if (deadline < now) this.#disconnect(res, socket)
    if (this.#unread.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Drops responses that have been read, and counts the bytes of the others. */
  #count(): void {
    this.#bytes = 0
    for (const [res, { socket }] of this.#unread) {
      if (res.writableFinished || socket.destroyed || socket.writableLength === 0) this.#unread.delete(res)
      else this.#bytes += socket.writableLength
    }
  }

  /** Disconnects clients until the buffers are within the bound; those that have not read for longest first. */
  #disconnectLongest(): void {
    this.#count()
    for (const [res, { socket }] of this.#unread) {
      if (this.#bytes <= this.#options.maxBytes) return
      this.#disconnect(res, socket)
    }
  }

  #disconnect(res: ServerResponse, socket: Socket): void {
    this.#unread.delete(res)
    this.#bytes -= socket.writableLength
    this.counts.disconnected++
    socket.destroy()
  }
}
