/**
 * The table locks of actions, whose collections are known only when they are read or written. Each table is locked before
 * its first use, until the transaction ends: two-phase locking. The locks are remembered by action, so that the next run takes
 * all of them at its start, in one order, and does not wait while it holds some.
 */
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { AsyncSteps, CollectionUses } from '../../../plan/transaction.ts'
import type { GuardedPlanStep } from '../../write/transaction.ts'
import { isWrite } from '../../write/transaction.ts'
import type { Statement } from '../connections/statement.ts'
import type { Mode, Modes, TableLocks } from './table-locks.ts'

export class AsyncStepLocks {
  readonly #locks: TableLocks
  /** The locks that each asynchronous step has needed, by its place. */
  readonly #needed = new Map<string, Map<string, Mode>>()
  /** The same of transactions without a place, during their tries. */
  readonly #neededNow = new WeakMap<AsyncSteps, Map<string, Mode>>()

  constructor(locks: TableLocks) {
    this.#locks = locks
  }

  /** The locks of one try. `serial`: the collections that are known beforehand. */
  begin(asyncSteps: AsyncSteps, serial: CollectionUses): HeldLocks {
    const modes = new Map(this.#locks.modesOf(serial))
    const { places, areChecks } = asyncSteps
    const ofPlaces = places.map(place => mapIn(this.#needed, place))
    const ofTransaction = mapIn(this.#neededNow, asyncSteps)
    for (const known of [...ofPlaces, ofTransaction]) addAll(modes, known)
    return new HeldLocks(modes, this.#locks, (newModes, check) => {
      if (areChecks && check !== undefined) addAll(mapIn(this.#needed, check), newModes)
      // What a transaction changes besides, its checks do not need: other writes that run them must not lock it.
      else if (areChecks || places.length === 0) addAll(ofTransaction, newModes)
      else for (const known of ofPlaces) addAll(known, newModes)
    })
  }
}

type Maps<K> = Pick<Map<K, Map<string, Mode>>, 'get'> & { set(key: K, map: Map<string, Mode>): unknown }

function mapIn<K>(maps: Maps<K>, key: K): Map<string, Mode> {
  const map = maps.get(key) ?? new Map<string, Mode>()
  maps.set(key, map)
  return map
}

export class HeldLocks {
  readonly #held: Map<string, Mode>
  readonly #locks: TableLocks
  readonly #onNewModes: (newModes: Modes, check: string | undefined) => void

  constructor(
    held: Map<string, Mode>,
    locks: TableLocks,
    onNewModes: (more: Modes, check: string | undefined) => void,
  ) {
    this.#held = held
    this.#locks = locks
    this.#onNewModes = onNewModes
  }

  /** The statements that lock the known tables, before any other statement. */
  get initialStatements(): readonly Statement[] {
    return this.#locks.statements(this.#held)
  }

  /** The statements that lock the tables of a plan that are not locked yet. `check`: the place of the check that reads by it. */
  missingFor(plan: GuardedPlanStep, check?: string): readonly Statement[] {
    const needed = isWrite(plan) ? this.#locks.modesOf(usesOf(plan)) : readModes(plan.shape.reads)
    const missing = [...needed].filter(([table, mode]) => !covers(this.#held.get(table), mode))
    if (missing.length === 0) return []
    const modes = new Map(missing)
    this.#onNewModes(modes, check)
    addAll(this.#held, modes)
    return this.#locks.statements(modes)
  }
}

/** The collections that a write uses. */
export function usesOf({ shape: { kind, collection } }: GuardedWrite): CollectionUses {
  return kind === 'delete' ? { deletes: [collection.name] } : { writes: [collection.name] }
}

function readModes(reads: readonly string[]): Modes {
  return new Map(reads.map(table => [table, 'SHARE']))
}

function covers(held: Mode | undefined, needed: Mode): boolean {
  return held === needed || held === 'EXCLUSIVE'
}

function addAll(modes: Map<string, Mode>, newModes: Modes): void {
  for (const [table, mode] of newModes) if (!covers(modes.get(table), mode)) modes.set(table, mode)
}
