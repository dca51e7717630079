/**
 * Continues the deletion of accounts that one transaction may not delete. One node does it, in slices; a record remembers the
 * deletion until the account is gone.
 */
import { ApiError } from '../../base/errors.ts'
import { type Principal, service, system } from '../../base/principal.ts'
import { deletionRecord, type Records, recordsOf } from '../../base/records.ts'
import { isTemporary } from '../../engine/log/outage.ts'
import type { ChangeFeed } from '../../engine/plan/change-feed.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItem, updateShape } from '../../engine/plan/system-plans.ts'
import type { Model } from '../../model/model.ts'
import { type Holding, LeasedLoop, type LeasedSession } from '../consumer/leased-loop.ts'
import { LeaseLost } from '../consumer/position.ts'
import type { Clock } from '../consumer/timetable.ts'
import { SlicedDeletion } from './sliced-deletion.ts'

const leaseKey = { kind: 'AccountDeletions', id: 'lease' }
const disabledById = itemShape('users', ['disabled'])
const setDisabled = updateShape('users', ['disabled'])
/** How long a deletion waits that was refused. */
const retryMs = 60_000
/** After so many items, the deletion of the next account goes on. */
const itemsPerTurn = 2000
/** Every so many items, the account is disabled again if it was enabled. */
const itemsPerCheck = 100

export interface AccountDeletionParts {
  readonly model: Model
  readonly run: Run
  readonly records: Pick<Records, 'get' | 'add' | 'swap' | 'after'>
  readonly log: ChangeFeed
  readonly clock: Clock
  /** Monotonic time, in milliseconds. */
  readonly elapsed: () => number
  readonly onFault: (error: unknown) => void
  /** Called when the deletion of an account was refused, or has failed. It is tried again later, and others go on. */
  readonly onBlocked: (userId: number, error: unknown) => void
}

/** The principal of a deletion. `by`: the user who asked for it, whom the event log names; null: an operator. */
export function deleter(by: number | null): Principal {
  return by === null ? service : { ...system, userId: by }
}

/** Keeps the account unusable, whoever enables it meanwhile. */
async function keepDisabled(run: Run, userId: number): Promise<void> {
  const user = await readItem<{ readonly disabled: boolean }>(run, disabledById, userId)
  if (user?.disabled === false) await run.write({ shape: setDisabled, args: [userId, true] }, system)
}

/** Deletes an account and what belongs to it, in slices. Resolves too if it is gone already. */
export async function deleteInSlices(
  { model, run }: Pick<AccountDeletionParts, 'model' | 'run'>,
  userId: number,
  by: number | null,
  beforeSlice: (deleted: number) => Promise<void> = async () => undefined,
): Promise<void> {
  let slices = 0
  const deletion = new SlicedDeletion({
    ...{ model, run, principal: deleter(by), retriesBlocked: true },
    async beforeSlice({ count }) {
      await beforeSlice(count)
      if (slices++ % itemsPerCheck === 0) await keepDisabled(run, userId)
    },
  })
  try {
    await deletion.remove('users', userId)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
  }
}

export class AccountDeletions {
  readonly #loop: LeasedLoop<DeletionSession>

  constructor(parts: AccountDeletionParts) {
    const { records } = parts
    this.#loop = new LeasedLoop({
      ...parts,
      leaseKey,
      begin: holding => new DeletionSession(parts, holding, () => this.#loop.isStopping),
      isWanted: async () => (await records.after(deletionRecord, '', 1)).length > 0,
      isExpected: () => false,
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Lets another node continue after the slice in progress. */
  close(): Promise<void> {
    return this.#loop.stop()
  }
}

/** The turn of another account. */
class TurnOver extends Error {}

class DeletionSession implements LeasedSession {
  isOver = false
  readonly lag = 0
  readonly #parts: AccountDeletionParts
  readonly #holding: Holding
  readonly #isStopping: () => boolean
  /** When deletions that were refused or failed are tried again, by user id. */
  readonly #blockedUntil = new Map<string, number>()

  constructor(parts: AccountDeletionParts, holding: Holding, isStopping: () => boolean) {
    this.#parts = parts
    this.#holding = holding
    this.#isStopping = isStopping
  }

  async work(): Promise<boolean> {
    const { run, records, elapsed } = this.#parts
    this.isOver = true
    let hasMore = false
    for await (const { id, payload } of recordsOf(records, deletionRecord)) {
      this.isOver = false
      await this.#requireLease()
      await keepDisabled(run, Number(id))
      if (elapsed() < (this.#blockedUntil.get(id) ?? 0)) continue
      if (await this.#delete(id, JSON.parse(payload).by)) hasMore = true
    }
    return hasMore
  }

  /** Returns whether the deletion goes on at the next turn. */
  async #delete(id: string, by: number | null): Promise<boolean> {
    const { elapsed, onBlocked } = this.#parts
    try {
      await deleteInSlices(this.#parts, Number(id), by, async deleted => {
        await this.#requireLease()
        if (deleted >= itemsPerTurn) throw new TurnOver()
      })
    } catch (error) {
      if (error instanceof TurnOver) return true
      if (error instanceof LeaseLost || isTemporary(error)) throw error
      onBlocked(Number(id), error)
      this.#blockedUntil.set(id, elapsed() + retryMs)
    }
    return false
  }

  async #requireLease(): Promise<void> {
    if (this.#isStopping() || !(await this.#holding.isHeld())) throw new LeaseLost()
  }

  async stop(): Promise<void> {}

  async drop(): Promise<void> {}
}
