/** Bodies that are read as they arrive. They may take longer than other requests, but must not stall. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../base/errors.ts'
import { incompleteBody } from './body.ts'

/** In each window, at least this many bytes must arrive while they are awaited. */
const windowMs = 30_000

interface RateBounds {
  readonly windowMs: number
  readonly minBytesPerWindow: number
  /** The time for a whole body. */
  readonly maxMs: number
}

const defaultBounds: RateBounds = {
  windowMs,
  minBytesPerWindow: (windowMs / 1000) * 16_000,
  maxMs: 24 * 3_600_000,
}

/** Connections on which such a body arrives: the server's bound on the time of a request does not apply to them. */
const streaming = new WeakSet<Duplex>()

export function isStreaming(socket: Duplex): boolean {
  return streaming.has(socket)
}

/** Throws REQUEST_TIMEOUT if the body arrives too slowly, or the connection ends first. The stream stays open for a reply. */
export async function* streamBody(
  req: IncomingMessage,
  bounds: RateBounds = defaultBounds,
): AsyncGenerator<Buffer> {
  const { socket } = req
  // An iterator that is left would destroy the request, and so the connection.
  const chunks = req.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  const rate = new Rate(bounds)
  let isPending = false
  streaming.add(socket)
  try {
    for (;;) {
      const next = chunks.next()
      isPending = true
      // It settles even if nobody waits for it any longer.
      next.catch(() => undefined)
      const { done, value } = await Promise.race([next, rate.tooSlow])
      isPending = false
      if (done) break
      rate.arrived(value.length)
      yield value
      rate.isAwaiting = true
    }
  } catch (error) {
    throw error instanceof ApiError ? error : incompleteBody()
  } finally {
    rate.end()
    streaming.delete(socket)
    // Its listener would keep the rest from being read and dropped. It leaves once the next bytes have arrived.
    const left = chunks.return?.().catch(() => undefined)
    if (!isPending) await left
  }
  if (!req.complete) throw incompleteBody()
}

/** The rate at which bytes arrive. Windows in which nobody waited for them at the end do not count. */
class Rate {
  /** Rejects when the body is too slow; never resolves. */
  readonly tooSlow: Promise<never>
  isAwaiting = true
  readonly #timer: NodeJS.Timeout
  readonly #began = performance.now()
  readonly #bounds: RateBounds
  #bytes = 0

  constructor(bounds: RateBounds) {
    this.#bounds = bounds
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => undefined)
    this.tooSlow = promise
    this.#timer = setInterval(() => this.#check(reject), bounds.windowMs).unref()
  }

  arrived(bytes: number): void {
    this.#bytes += bytes
    this.isAwaiting = false
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #check(reject: (error: ApiError) => void): void {
    const isSlow = this.isAwaiting && this.#bytes < this.#bounds.minBytesPerWindow
    if (isSlow || performance.now() - this.#began > this.#bounds.maxMs)
      reject(new ApiError('REQUEST_TIMEOUT', 'The body arrives too slowly: send at least 16 kB a second.'))
    this.#bytes = 0
  }
}
