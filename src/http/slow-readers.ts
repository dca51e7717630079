/** Clients that do not take the answers which they have asked for: each would keep its answer in memory. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface SlowReadersOptions {
  /** Seconds for an answer to be taken, and one more for every 64 KiB of it. */
  readonly timeout: number
  /** Instead of 64 KiB, for tests. */
  readonly slowest?: number
  /** How many bytes may wait for all clients together. */
  readonly mostBytes: number
}

interface Unread {
  readonly socket: Socket
  readonly until: number
}

const SLOWEST = 65_536
const SWEEP = 1000

export class SlowReaders {
  readonly #options: SlowReadersOptions
  /** In the order in which they were answered. */
  readonly #unread = new Map<ServerResponse, Unread>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  readonly counts = { cutOff: 0 }

  constructor(options: SlowReadersOptions) {
    this.#options = options
  }

  /** Bytes that waited for clients when it was last looked. */
  get bytes(): number {
    return this.#bytes
  }

  /** After an answer was written: remembers it where the system has not taken all of it. */
  answered(res: ServerResponse): void {
    const { socket } = res
    const waiting = socket?.writableLength ?? 0
    if (socket === null || waiting === 0) return
    const patience = (this.#options.timeout + waiting / (this.#options.slowest ?? SLOWEST)) * 1000
    this.#unread.set(res, { socket, until: performance.now() + patience })
    this.#bytes += waiting
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP).unref()
    if (this.#bytes > this.#options.mostBytes) this.#makeRoom()
  }

  #sweep(): void {
    const now = performance.now()
    this.#count()
    for (const [res, { socket, until }] of this.#unread) if (until < now) this.#cutOff(res, socket)
    if (this.#unread.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Forgets those who have taken all. */
  #count(): void {
    this.#bytes = 0
    for (const [res, { socket }] of this.#unread) {
      if (res.writableFinished || socket.destroyed || socket.writableLength === 0) this.#unread.delete(res)
      else this.#bytes += socket.writableLength
    }
  }

  /** The longest waiting go first. */
  #makeRoom(): void {
    this.#count()
    for (const [res, { socket }] of this.#unread) {
      if (this.#bytes <= this.#options.mostBytes) return
      this.#cutOff(res, socket)
    }
  }

  #cutOff(res: ServerResponse, socket: Socket): void {
    this.#unread.delete(res)
    this.#bytes -= socket.writableLength
    this.counts.cutOff++
    socket.destroy()
  }
}
