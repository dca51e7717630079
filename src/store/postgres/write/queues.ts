/** What waits for a writing connection, and what is next. */
import type { QueuedWrite } from './group.ts'

const maxBatch = 500

/**
 * `shared`: single writes, many of which share a transaction. `own`: those with a transaction of their own. `long`: of
 * these, those that wait for locks of tables, or only read.
 */
const kinds = ['shared', 'own', 'long'] as const
type Kind = (typeof kinds)[number]

export class WriteQueues<T> {
  readonly #queues: Readonly<Record<Kind, QueuedWrite<T>[]>> = { shared: [], own: [], long: [] }
  /** How many long ones may be under way: they keep no others waiting. */
  readonly #maxLong: number
  #long = 0
  /** The kind that was taken last: each has its turn. */
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

  /** Those that are next, of one transaction; empty where nothing may begin now. To be given to `ended`. */
  take(): readonly QueuedWrite<T>[] {
    for (let turn = 1; turn <= kinds.length; turn++) {
      const at = (this.#last + turn) % kinds.length
      const kind = kinds[at] ?? 'shared'
      const queue = this.#queues[kind]
      if (queue.length === 0 || (kind === 'long' && this.#long >= this.#maxLong)) continue
      this.#last = at
      if (kind === 'long') this.#long++
      return queue.splice(0, kind === 'shared' ? maxBatch : 1)
    }
    return []
  }

  ended([first]: readonly QueuedWrite<T>[]): void {
    if (first !== undefined && kindOf(first) === 'long') this.#long--
  }
}

function kindOf<T>({ job: { own } }: QueuedWrite<T>): Kind {
  if (own === undefined) return 'shared'
  return own.isLong ? 'long' : 'own'
}
