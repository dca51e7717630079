/** Runs guarded writes: queues them for the next commit, with their events and the names that they changed. */

import type { EpochMs } from '../../../../base/epoch-ms.ts'
import { ApiError } from '../../../../base/errors.ts'
import { actorOf } from '../../../../base/principal.ts'
import type { WriteAnswer } from '../../../plan/answer.ts'
import { AnswerBound, type AnswerLimits } from '../../../plan/answer-bound.ts'
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { AsyncSteps, GuardedProgram } from '../../../plan/transaction.ts'
import type { RecordChanges } from '../../records.ts'
import { arrayOf } from '../../sql/postgres.ts'
import type { StoreCounts } from '../../store.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { CascadeOptions } from '../../write/removal/cascades.ts'
import { doWork, type WorkSteps } from '../../write/work.ts'
import { Writes } from '../../write/writes.ts'
import { none, type WriteResult } from '../../write/written.ts'
import type { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connections/connection.ts'
import type { Statement } from '../connections/statement.ts'
import { firstRow, type Transaction } from '../connections/transaction.ts'
import { addEvents, addTotals, lockLog, touch } from '../log/event-log.ts'
import type { Security } from '../row-security/security.ts'
import type { CacheLease } from '../versions/lease.ts'
import { AsyncStepLocks, usesOf } from './async-step-locks.ts'
import { CommitQueue } from './commit.ts'
import type { PostgresWrites } from './database.ts'
import type { FinishedWrite, OwnTransaction, WriteJob } from './group.ts'
import { growTable } from './growth.ts'
import { independentDeletes } from './independent-deletes.ts'
import { itemKey, limitKey, locksUnsortedGroups } from './lock-order.ts'
import type { Scope } from './scope.ts'
import { sumsLock, TableLocks } from './table-locks.ts'
import { runProgram, type TransactionReads } from './transaction.ts'

export interface WriterOptions {
  readonly open: () => Promise<Connection>
  readonly lease: CacheLease
  readonly lanes: number
  /** See `GroupCommit`. */
  readonly timeoutMs: number
  readonly lockWaitMs: number
  readonly security: Security
  readonly reads: TransactionReads
  readonly maxWaiting: number
  readonly health: WriteHealth
  readonly answerLimits: AnswerLimits
  readonly cascades: CascadeOptions | undefined
  readonly now: () => EpochMs
  /** See `GroupCommit`. */
  readonly clock?: (() => number) | undefined
  readonly betweenGroups: (connection: Connection) => Promise<void>
  /** Called after a commit. `xid`: of its transaction; `hasNoEvent`: it logged no event. */
  readonly onCommit: (commit: {
    readonly xid: string
    readonly names: readonly string[]
    readonly hasNoEvent: boolean
  }) => void
}

const noRecords: Pick<RecordChanges<Statement>, 'steps'> = {
  steps() {
    throw new TypeError('a single write changes no records')
  },
}

export class Writer {
  readonly #options: WriterOptions
  readonly #queue: CommitQueue<WriteResult>
  readonly #writes: Writes<Statement>
  readonly #locks: TableLocks
  readonly #asyncStepLocks: AsyncStepLocks
  readonly #independentDeletes: ReadonlySet<string>
  readonly #checks: PostgresWrites['checks']

  constructor(database: PostgresWrites, options: WriterOptions) {
    const { open, lease, lanes, timeoutMs, lockWaitMs, maxWaiting, now, clock, betweenGroups } = options
    this.#options = options
    this.#checks = database.checks
    this.#writes = new Writes(database, options.cascades)
    this.#locks = new TableLocks(database.model)
    this.#asyncStepLocks = new AsyncStepLocks(this.#locks)
    this.#independentDeletes = independentDeletes(database.model)
    this.#queue = new CommitQueue({
      open,
      lease,
      lanes,
      timeoutMs,
      lockWaitMs,
      maxWaiting,
      now,
      clock,
      betweenGroups,
      beforeCommit: (transaction, finishedWrites) => this.#queueCommit(transaction, finishedWrites),
    })
  }

  async write(plan: GuardedWrite): Promise<WriteAnswer> {
    const requirement = this.#options.reads.requireAnswer(plan)
    if (requirement !== undefined) await requirement
    const places = this.#locks.checksOf(plan)
    if (places.length > 0) return this.#checkedWrite(plan, places)
    const { id, text } = await this.#add(this.#jobOf(plan))
    return { id, text }
  }

  /** Resolves once a commit that has made a table grow is durable: on a full disk, commits that need no space succeed. */
  async confirm(): Promise<void> {
    const run = async (scope: Scope): Promise<WriteResult> => {
      await Promise.all(growTable.map(statement => scope.rows(statement, noInputs)))
      return { id: 0, text: null, changed: none, removed: none, hasNoEvent: true }
    }
    await this.#add({ key: undefined, runsAlone: false, run })
    this.#options.health.recordProof()
  }

  /** See `doWork`. Within a commit, work with the same key runs one after the other. */
  work<T>(steps: WorkSteps<Statement, T>, key?: string): Promise<T> {
    return doWork(steps, run => {
      return this.#add({
        key,
        runsAlone: false,
        run: scope => scope.run(run(scope), ({ inputs }) => inputs),
      })
    })
  }

  /** A write that runs checks of the model: as serial as an action. */
  #checkedWrite(plan: GuardedWrite, places: readonly string[]): Promise<WriteAnswer> {
    const program: GuardedProgram<WriteAnswer> = {
      serial: usesOf(plan),
      asyncSteps: this.#checkSteps(places),
      *steps() {
        // The answer to a write is a `WriteAnswer`.
        return (yield plan) as WriteAnswer
      },
    }
    return this.#transaction(program, noRecords)
  }

  #checkSteps(places: readonly string[]): AsyncSteps {
    const { tries = 1, limitMs = 0 } = this.#checks ?? {}
    return { places, areChecks: true, tries, limitMs }
  }

  /**
   * Runs the program within one transaction, perhaps several times. If one of its writes runs a check of the model, the
   * transaction begins again, with locks.
   */
  async transaction<T>(
    program: GuardedProgram<T>,
    records: Pick<RecordChanges<Statement>, 'steps'>,
  ): Promise<T> {
    let needed: readonly string[] = []
    const refuseChecks = (places: readonly string[]): void => {
      if (places.length === 0) return
      needed = places
      throw new ApiError('CONFLICT')
    }
    try {
      return await this.#transaction(program, records, refuseChecks)
    } catch (error) {
      if (needed.length === 0) throw error
      return this.#transaction({ ...program, asyncSteps: this.#checkSteps(needed) }, records)
    }
  }

  async #transaction<T>(
    program: GuardedProgram<T>,
    records: Pick<RecordChanges<Statement>, 'steps'>,
    refuseChecks: (places: readonly string[]) => void = () => {},
  ): Promise<T> {
    const { security, reads, lockWaitMs, answerLimits } = this.#options
    const asyncTransaction =
      program.asyncSteps && !program.snapshot
        ? this.#asyncTransaction(program.asyncSteps, program)
        : undefined
    const ownTransaction = asyncTransaction?.own ?? this.#ownTransaction(program)
    const limitMs = ownTransaction?.isLong ? lockWaitMs : Number.POSITIVE_INFINITY
    const checksOf = (plan: GuardedWrite) => this.#locks.checksOf(plan)
    const parts = {
      ...{ writes: this.#writes, security, reads, records, limitMs, answerLimits },
      ...{ checksOf, refuseChecks },
    }
    let outcome: { readonly result: T } | undefined
    const run = async (scope: Scope): Promise<WriteResult> => {
      const [result, written] = await runProgram(program, scope, {
        ...parts,
        claimsOf: this.#newClaims(ownTransaction?.isLong === true),
        locks: asyncTransaction?.held(),
      })
      outcome = { result }
      return written
    }
    await this.#add({ key: undefined, runsAlone: true, run, ...(ownTransaction && { ownTransaction }) })
    if (outcome === undefined) throw new ApiError('INTERNAL_ERROR')
    return outcome.result
  }

  /** See `TableLocks.claimsOf`; each statement once for one try of a transaction. `locksTables`: whether that is a serial one. */
  #newClaims(locksTables: boolean): (plan: GuardedWrite) => readonly Statement[] {
    const claimed = new Set<Statement>(locksTables ? [sumsLock] : [])
    return plan => {
      const claims = this.#locks.claimsOf(plan).filter(claim => !claimed.has(claim))
      for (const claim of claims) claimed.add(claim)
      return claims
    }
  }

  /** Undefined: it may share a transaction with single writes, after which it runs. */
  #ownTransaction({
    serial,
    snapshot: isSnapshot = false,
  }: GuardedProgram<unknown>): OwnTransaction | undefined {
    if (serial === undefined && !isSnapshot) return undefined
    const locks = this.#locks.statements(this.#locks.modesOf(serial ?? {}))
    return { locks: () => locks, isSnapshot, isLong: isSnapshot || locks.length > 0 }
  }

  /** `held`: the locks of the current try. */
  #asyncTransaction(asyncSteps: AsyncSteps, { serial = {} }: GuardedProgram<unknown>) {
    let held = this.#asyncStepLocks.begin(asyncSteps, serial)
    const locks = () => {
      held = this.#asyncStepLocks.begin(asyncSteps, serial)
      return held.initialStatements
    }
    const ownTransaction: OwnTransaction = { locks, isSnapshot: false, isLong: true, tries: asyncSteps.tries }
    return { own: ownTransaction, held: () => held }
  }

  get counts(): Pick<StoreCounts, 'commits' | 'writes' | 'cascaded'> {
    return { ...this.#queue.counts, cascaded: this.#writes.cascaded }
  }

  dropIdle(): void {
    this.#queue.dropIdle()
  }

  lose(): void {
    this.#queue.disconnect()
  }

  /** Finishes the queued writes. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  async #add(job: WriteJob<WriteResult>): Promise<WriteResult> {
    try {
      return await this.#queue.add(job)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAVAILABLE') this.#options.health.recordFailure()
      throw error
    }
  }

  #jobOf(plan: GuardedWrite): WriteJob<WriteResult> {
    const { shape, args } = plan
    const run = (scope: Scope) => {
      const { security, answerLimits } = this.#options
      const bound = new AnswerBound(answerLimits, 'writeBytes')
      return scope.run(this.#writes.run(plan, scope, bound), security.inputsOf(plan))
    }
    const claims = this.#locks.claimsOf(plan)
    if (locksUnsortedGroups(shape)) {
      const runInSavepoint = (scope: Scope) => scope.savepoint(run)
      return {
        key: undefined,
        runsAlone: true,
        run: runInSavepoint,
        claims,
        ownTransaction: withoutTableLocks,
      }
    }
    if (shape.kind === 'create')
      return { key: limitKey(shape, plan), sharesKey: true, runsAlone: false, run, claims }
    // The event of a write that frees a place under a limit precedes the events of the writes that take it.
    const runsAlone = shape.kind === 'delete' && !this.#independentDeletes.has(shape.collection.name)
    return { key: itemKey(shape.collection.name, args[shape.id]), runsAlone, run, claims }
  }

  /** Queues the statements of the commit besides the changes: totals, events and the changed names. */
  #queueCommit(transaction: Transaction, writes: readonly FinishedWrite<WriteResult>[]): () => void {
    const events = writes.flatMap(({ scope }) => scope.events)
    const changed = new Set(writes.flatMap(({ value }) => [...value.changed]))
    const names = [...changed]
    if (!writes.some(({ scope }) => scope.hasChanged)) return () => {}
    const totals = summedTotals(writes.map(({ scope }) => scope.totals))
    if (totals.size > 0) {
      transaction.queue(addTotals, slotInputs([arrayOf([...totals.keys()]), arrayOf([...totals.values()])]))
    }
    if (events.length > 0) {
      transaction.queue(lockLog)
      transaction.queue(addEvents, slotInputs(columnsOf(events)))
    }
    let xid = ''
    const { now, health, onCommit } = this.#options
    transaction.rows(touch, slotInputs([names.join('\n'), now()])).then(
      rows => {
        xid = String(firstRow(rows)[0])
      },
      () => {},
    )
    return () => {
      health.recordCommit()
      onCommit({ xid, names, hasNoEvent: events.length === 0 })
    }
  }
}

const withoutTableLocks: OwnTransaction = { locks: () => [], isSnapshot: false, isLong: false }

/** In the order of names, in which all transactions lock the rows of totals. */
function summedTotals(totalsOfWrites: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const totals of totalsOfWrites) {
    for (const [name, difference] of totals) sums.set(name, (sums.get(name) ?? 0) + difference)
  }
  return new Map(
    [...sums].filter(([, sum]) => sum !== 0).toSorted(([left], [right]) => (left < right ? -1 : 1)),
  )
}

function columnsOf(events: Scope['events']): string[] {
  const names = ({ changed }: Scope['events'][number]) =>
    changed === undefined ? null : JSON.stringify(changed)
  const actors = events.map(({ by }) => actorOf(by))
  return [
    arrayOf(events.map(event => event.at)),
    arrayOf(events.map(event => event.collection)),
    arrayOf(events.map(event => event.itemId)),
    arrayOf(events.map(event => event.kind)),
    arrayOf(events.map(event => String(event.data))),
    arrayOf(events.map(names)),
    arrayOf(events.map(event => event.before as string | null)),
    arrayOf(actors.map(({ userId }) => userId)),
    arrayOf(actors.map(({ appId }) => appId)),
    arrayOf(events.map(event => event.type ?? null)),
    arrayOf(events.map(event => event.by.depth ?? null)),
    arrayOf(events.map(event => event.facts as string | null)),
    arrayOf(events.map(event => event.factsBefore as string | null)),
    arrayOf(actors.map(({ via = null }) => via)),
  ]
}
