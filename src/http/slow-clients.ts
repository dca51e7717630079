/** Clients that do not read their responses, which then stay in memory. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface SlowClientsOptions {
  /** The time to read a response, plus one second for every 64 KiB of it. */
  readonly timeoutSeconds: number
  /** Instead of 64 KiB per second, for tests. */
  readonly minBytesPerSecond?: number
  /** How many bytes may be buffered for all clients together. */
  readonly maxBytes: number
}

interface UnreadAnswer {
  readonly socket: Socket
  readonly deadline: number
}

const minBytesPerSecond = 65_536
const checkIntervalMs = 1000

export class SlowClients {
  readonly #options: SlowClientsOptions
  /** In the order in which they were answered. */
  readonly #unread = new Map<ServerResponse, UnreadAnswer>()
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

  /** Watches an answer that was written, unless the system's socket buffer took all of it. */
  answered(res: ServerResponse): void {
    const { socket } = res
    const waiting = socket?.writableLength ?? 0
    if (socket === null || waiting === 0) return
    const { timeoutSeconds, maxBytes, minBytesPerSecond: pace = minBytesPerSecond } = this.#options
    const patienceMs = (timeoutSeconds + waiting / pace) * 1000
    this.#unread.set(res, { socket, deadline: performance.now() + patienceMs })
    this.#bytes += waiting
    this.#timer ??= setInterval(() => this.#check(), checkIntervalMs).unref()
    if (this.#bytes > maxBytes) this.#makeRoom()
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

  /** Disconnects the clients that have waited longest first. */
  #makeRoom(): void {
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
