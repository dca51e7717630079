/** The log of committed changes, as it is read: in order and without gaps, whoever commits meanwhile (see `log.ts`). */
import { loggedChange } from '../../logged-change.ts'
import type { Change, Changes, CommitListener, LogBounds } from '../../store.ts'
import { noInputs, slotted } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import type { Rows } from '../connections/statement.ts'
import type { Checks } from '../versions/checks.ts'
import { drawn, eventsAfter, held, newest } from './event-log.ts'

/** How soon to look again for changes that others' unfinished commits keep back, in milliseconds. */
const retryMs = 5

export class ChangeLog implements Changes {
  readonly #pool: Pool
  readonly #checks: Checks
  readonly #listeners = new Set<CommitListener>()
  #again: NodeJS.Timeout | undefined

  /** `pool`: each of its statements sees what was committed before it. */
  constructor(pool: Pool, checks: Checks) {
    this.#pool = pool
    this.#checks = checks
  }

  /** Waits until no commit can bring a smaller number any more. */
  async last(): Promise<number> {
    const first = await this.#pool.ask([drawn.with(noInputs), held.with(noInputs), newest.with(noInputs)])
    const last = numberIn(first[2])
    for (let bound = boundOf(first); bound < last; ) {
      await new Promise(resolve => setTimeout(resolve, retryMs))
      bound = boundOf(await this.#pool.ask([drawn.with(noInputs), held.with(noInputs)]))
    }
    return last
  }

  /** Answers read before it are not remembered beyond it: what a change is delivered with is no older than it. */
  async after(event: number, limit: number): Promise<readonly Change[]> {
    const queries = [drawn.with(noInputs), held.with(noInputs), eventsAfter.with(slotted([event, limit]))]
    const results = await this.#pool.ask(queries)
    const bound = boundOf(results)
    const rows = results[2] ?? []
    const settled = rows.filter(([id]) => Number(id) <= bound)
    if (settled.length < rows.length) this.#lookAgain()
    if (settled.length > 0) await this.#checks.look()
    return settled.map(loggedChange)
  }

  async bounds(): Promise<LogBounds> {
    return { pruned: 0, drawn: await this.last() }
  }

  onCommit(listener: CommitListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  look(): Promise<void> {
    return this.#checks.look()
  }

  tell(from: 'here' | 'elsewhere'): void {
    for (const listener of this.#listeners) listener(from)
  }

  close(): void {
    clearTimeout(this.#again)
  }

  #lookAgain(): void {
    this.#again ??= setTimeout(() => {
      this.#again = undefined
      this.tell('elsewhere')
    }, retryMs)
  }
}

/** Up to which number nothing can come any more. */
function boundOf([last, lowest]: readonly Rows[]): number {
  const held = lowest?.[0]?.[0]
  return Math.min(numberIn(last), typeof held === 'number' ? held : Number.MAX_SAFE_INTEGER)
}

function numberIn(rows: Rows | undefined): number {
  return Number(rows?.[0]?.[0] ?? 0)
}
