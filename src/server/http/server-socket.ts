import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** A socket of Node's HTTP server, with what Node keeps on it under undocumented names. */
export interface ServerSocket extends Duplex {
  /** The response that Node is writing. */
  readonly _httpMessage?: ServerResponse | null
  /** The handle by which Node itself stops reading. `pause` is not enough: a pending resume would undo it. */
  readonly _handle?: { reading: boolean; readStop(): void; readStart(): void } | null
  readonly bytesWritten?: number
}
