/**
 * The table locks of transactions whose collections are known only as they are read and written. Each table is locked
 * before it is first touched, and until the end: two-phase locking. What was needed is remembered, so that the next
 * transaction of the same kind locks all of it at its start, in one order, and waits for nobody while it holds something.
 */
import type { Acts } from '../../../plan/transaction.ts'
import type { GuardedPlanStep } from '../../write/transaction.ts'
import { isWrite } from '../../write/transaction.ts'
import type { Statement } from '../connections/statement.ts'
import type { Mode, Modes, TableLocks } from './table-locks.ts'

export class ActLocks {
  readonly #locks: TableLocks
  /** By the name of the act. */
  readonly #needed = new Map<string, Map<string, Mode>>()

  constructor(locks: TableLocks) {
    this.#locks = locks
  }

  /** Of one try. `serial`: the collections that are known beforehand. */
  begin({ names }: Acts, serial: readonly string[]): HeldLocks {
    const modes = new Map(this.#locks.modesOf(serial))
    for (const name of names) addAll(modes, this.#needed.get(name) ?? new Map())
    return new HeldLocks(modes, this.#locks, more => {
      for (const name of names) this.#learn(name, more)
    })
  }

  #learn(name: string, more: Modes): void {
    const known = this.#needed.get(name) ?? new Map<string, Mode>()
    addAll(known, more)
    this.#needed.set(name, known)
  }
}

export class HeldLocks {
  readonly #held: Map<string, Mode>
  readonly #locks: TableLocks
  readonly #learn: (more: Modes) => void

  constructor(held: Map<string, Mode>, locks: TableLocks, learn: (more: Modes) => void) {
    this.#held = held
    this.#locks = locks
    this.#learn = learn
  }

  /** Locks what is known, before the first statement. */
  get first(): readonly Statement[] {
    return this.#locks.statements(this.#held)
  }

  /** Locks what a plan touches and is not locked yet. */
  more(plan: GuardedPlanStep): readonly Statement[] {
    const needed = isWrite(plan)
      ? this.#locks.modesOf([plan.shape.collection.name])
      : readModes(plan.shape.reads)
    const missing = [...needed].filter(([table, mode]) => !covers(this.#held.get(table), mode))
    if (missing.length === 0) return []
    const modes = new Map(missing)
    this.#learn(modes)
    addAll(this.#held, modes)
    return this.#locks.statements(modes)
  }
}

function readModes(reads: readonly string[]): Modes {
  return new Map(reads.map(table => [table, 'SHARE']))
}

function covers(held: Mode | undefined, needed: Mode): boolean {
  return held === needed || held === 'EXCLUSIVE'
}

function addAll(modes: Map<string, Mode>, more: Modes): void {
  for (const [table, mode] of more) if (!covers(modes.get(table), mode)) modes.set(table, mode)
}
