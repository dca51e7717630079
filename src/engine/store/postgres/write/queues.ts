/** The queues of writes that wait for a connection. */
import type { QueuedWrite } from './group.ts'

const maxBatch = 500

/**
 * `shared`: single writes, which share transactions. `own`: writes with a separate transaction. `long`: those of them that
 * wait for table locks, or only read.
 */
const kinds = ['shared', 'own', 'long'] as const
type QueueKind = (typeof kinds)[number]

export class WriteQueues<T> {
  readonly #queues: Readonly<Record<QueueKind, QueuedWrite<T>[]>> = { shared: [], own: [], long: [] }
  /** The maximum number of concurrent `long` writes. Of two lanes or more, one stays free for the others. */
  readonly #maxLong: number
  #long = 0
  /** The kind that was taken last: the kinds take turns. */
  #last = 0

  /** `lanes`: how many connections write at the same time. */
  constructor(lanes: number) {
    this.#maxLong = Math.max(1, lanes - 1)
  }

  get count(): number {
    const { shared, own, long } = this.#queues
    return shared.length + own.length + long.length
  }

  add(write: QueuedWrite<T>): void {
    this.#queues[kindOf(write)].push(write)
  }

  /** The next writes, which share a transaction; empty if none may begin now. `finish` must be called with them. */
  take(): readonly QueuedWrite<T>[] {
    for (let turn = 1; turn <= kinds.length; turn++) {
      const index = (this.#last + turn) % kinds.length
      const kind = kinds[index] ?? 'shared'
      const queue = this.#queues[kind]
      if (queue.length === 0 || (kind === 'long' && this.#long >= this.#maxLong)) continue
      this.#last = index
      if (kind === 'long') this.#long++
      return queue.splice(0, kind === 'shared' ? maxBatch : 1)
    }
    return []
  }

  finish([first]: readonly QueuedWrite<T>[]): void {
    if (first !== undefined && kindOf(first) === 'long') this.#long--
  }
}

function kindOf<T>({ job: { ownTransaction } }: QueuedWrite<T>): QueueKind {
  if (ownTransaction === undefined) return 'shared'
  return ownTransaction.isLong ? 'long' : 'own'
}
