/** Who is let in: as many as can be served, so that they are. */
import type { Server } from 'node:http'
import type { Call, Reply } from '../call.ts'
import type { Settings } from '../config.ts'
import { isProbe } from '../probes.ts'
import { Backpressure } from './backpressure.ts'
import { Connections } from './connections.ts'
import type { Exchange } from './exchange.ts'
import { Line } from './overload.ts'
import { createRefusals } from './refusals.ts'
import { SlowReaders } from './slow-readers.ts'

export type GateSettings = Pick<Settings, 'maxConnections' | 'maxDelay' | 'maxUnread' | 'readTimeout'>

export interface GateParts {
  readonly errorReply: (error: unknown, call: Call) => Reply
  readonly onOverload?: ((isOver: boolean, refused: number) => void) | undefined
  readonly run: (exchange: Exchange) => void
  /** Ends up to `count` taken-over connections on which nothing runs, and returns how many it has ended. */
  readonly endIdle?: ((count: number) => number) | undefined
  readonly refusals: {
    /** The reply to one who is not let in, sent when the turn ends. `ends`: and ends the connection. */
    readonly put: (exchange: Exchange, reply: Reply, ends: boolean) => void
    /** Sends them now. */
    readonly sendAll: () => void
  }
}

export class Gate {
  readonly line: Line<Exchange>
  readonly backpressure = new Backpressure()
  readonly connections: Connections
  readonly readers: SlowReaders
  /** The reply to one who is not let in. */
  readonly refusal: (call: Call) => Reply
  readonly #parts: GateParts
  readonly #turn = (exchange: Exchange) => this.line.turn(exchange)

  constructor(server: Server, settings: GateSettings, parts: GateParts) {
    this.#parts = parts
    this.refusal = createRefusals(parts.errorReply)
    this.line = new Line({
      delay: settings.maxDelay,
      run: parts.run,
      refuse: exchange => parts.refusals.put(exchange, this.refusal(exchange), false),
      beforeWork: parts.refusals.sendAll,
      onWorked: worked => this.backpressure.worked(worked),
      onChange: parts.onOverload,
    })
    this.connections = new Connections(server, {
      most: settings.maxConnections,
      onOpen: () => this.line.press(),
      endIdle: parts.endIdle ?? (() => 0),
    })
    this.readers = new SlowReaders({ timeout: settings.readTimeout, mostBytes: settings.maxUnread })
  }

  /** Runs the exchange, now or when it is its turn, or refuses it. */
  pass(exchange: Exchange): void {
    // Whoever looks after the service must always hear.
    if (isProbe(exchange.path)) this.#parts.run(exchange)
    else if (this.connections.isSurplus(exchange.req)) {
      this.#parts.refusals.put(exchange, this.refusal(exchange), true)
    } else {
      exchange.turn = this.#turn
      this.line.take(exchange)
    }
  }

  /** Whether a socket may not be taken over now. */
  refusesUpgrade({ req }: Exchange): boolean {
    return this.line.isRefusing || this.connections.isSurplus(req)
  }
}
