/** Counts the changes of reactions, jobs, routes and programs that have replaced changes of others, and logs some of them. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { LostUpdate } from '../../../engine/logic/data/read-memory.ts'
import type { Logger } from '../../observability/log.ts'

/** How often a place in the model and a collection are logged. */
const logIntervalMs = 60_000

interface Logged {
  readonly at: EpochMs
  /** Those that followed. */
  unlogged: number
}

export class LostUpdates {
  count = 0
  readonly #logger: Pick<Logger, 'warn'>
  readonly #now: () => EpochMs
  /** By place and collection, which the model bounds. */
  readonly #logged = new Map<string, Logged>()

  constructor(logger: Pick<Logger, 'warn'>, now: () => EpochMs) {
    this.#logger = logger
    this.#now = now
  }

  /** `place`: e.g. `jobs.nightly`. */
  report(place: string, { collection, id, fields }: LostUpdate): void {
    this.count++
    const key = `${place} ${collection}`
    const last = this.#logged.get(key)
    if (last !== undefined && this.#now() - last.at < logIntervalMs) {
      last.unlogged++
      return
    }
    this.#logged.set(key, { at: this.#now(), unlogged: 0 })
    this.#logger.warn(
      {
        place,
        collection,
        item: id,
        ...(fields && { fields }),
        ...(last?.unlogged && { more: last.unlogged }),
      },
      'a lost update: an item had changed since it was read, and this change has replaced that: use `data.transaction`, `ifMatch` or `increment`',
    )
  }
}
