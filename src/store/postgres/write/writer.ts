/** Runs guarded writes: queues them for the next commit, with their events and the names of what they changed. */

import { ApiError } from '../../../errors.ts'
import type { WriteAnswer } from '../../../plan/answer.ts'
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { Acts, GuardedProgram } from '../../../plan/transaction.ts'
import type { RecordChanges } from '../../records.ts'
import { arrayOf } from '../../sql/postgres.ts'
import type { StoreCounts } from '../../store.ts'
import { slotted } from '../../values.ts'
import type { OnCascade } from '../../write/removal/cascades.ts'
import { doWork, type WorkSteps } from '../../write/work.ts'
import { Writes } from '../../write/writes.ts'
import { none, type Written } from '../../write/written.ts'
import type { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connections/connection.ts'
import type { Statement } from '../connections/statement.ts'
import { first, type Transaction } from '../connections/transaction.ts'
import { addEvents, addTotals, lockLog, touch } from '../log/event-log.ts'
import type { Security } from '../row-security/security.ts'
import type { Lease } from '../versions/lease.ts'
import { ActLocks } from './act-locks.ts'
import { CommitQueue } from './commit.ts'
import type { PostgresWrites } from './database.ts'
import type { Done, Job, OwnTransaction } from './group.ts'
import { isLimited, itemKey, limitKey } from './lock-order.ts'
import type { Scope } from './scope.ts'
import { TableLocks } from './table-locks.ts'
import { runProgram, type TransactionReads } from './transaction.ts'

export interface WriterOptions {
  readonly open: () => Promise<Connection>
  readonly lease: Lease
  readonly lanes: number
  /** See `Groups`. */
  readonly patience: number
  readonly lockWaitMs: number
  readonly security: Security
  readonly reads: TransactionReads
  readonly maxWaiting: number
  readonly health: WriteHealth
  readonly onCascade: OnCascade | undefined
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
  /** See `Groups`. */
  readonly clock?: (() => number) | undefined
  readonly atRest: (connection: Connection) => Promise<void>
  /** After a commit. `xid`: of its transaction; `quiet`: it left no event. */
  readonly atCommit: (commit: {
    readonly xid: string
    readonly names: readonly string[]
    readonly quiet: boolean
  }) => void
}

export class Writer {
  readonly #options: WriterOptions
  readonly #queue: CommitQueue<Written>
  readonly #writes: Writes<Statement>
  readonly #locks: TableLocks
  readonly #actLocks: ActLocks

  constructor(database: PostgresWrites, options: WriterOptions) {
    const { open, lease, lanes, patience, lockWaitMs, maxWaiting, now, clock, atRest } = options
    this.#options = options
    this.#writes = new Writes(database, options.onCascade)
    this.#locks = new TableLocks(database.model)
    this.#actLocks = new ActLocks(this.#locks)
    this.#queue = new CommitQueue({
      open,
      lease,
      lanes,
      patience,
      lockWaitMs,
      maxWaiting,
      now,
      clock,
      atRest,
      beforeCommit: (transaction, done) => this.#leave(transaction, done),
    })
  }

  async write(plan: GuardedWrite): Promise<WriteAnswer> {
    const required = this.#options.reads.requireAnswer(plan)
    if (required !== undefined) await required
    const { id, text } = await this.#add(this.#jobOf(plan))
    return { id, text }
  }

  /** Resolves once a commit without changes of items is durable. */
  async confirm(): Promise<void> {
    const run = async (scope: Scope): Promise<Written> => {
      scope.hasChanged = true
      return { id: 0, text: null, changed: none, removed: none, quiet: true }
    }
    await this.#add({ key: undefined, alone: false, run })
  }

  /** See `doWork`. Within a commit, work with the same key runs one after the other. */
  work<T>(steps: WorkSteps<Statement, T>, key?: string): Promise<T> {
    return doWork(steps, run => {
      return this.#add({
        key,
        alone: false,
        run: scope => scope.answered(run(scope), ({ inputs }) => inputs),
      })
    })
  }

  /** Runs the program within one transaction, perhaps several times. */
  async transaction<T>(
    program: GuardedProgram<T>,
    records: Pick<RecordChanges<Statement>, 'steps'>,
  ): Promise<T> {
    const { security, reads, lockWaitMs } = this.#options
    const acting = program.acts && !program.snapshot ? this.#acting(program.acts, program) : undefined
    const own = acting?.own ?? this.#ownTransaction(program)
    const limitMs = own?.isLong ? lockWaitMs : Number.POSITIVE_INFINITY
    const parts = { writes: this.#writes, security, reads, records, limitMs }
    let done: { readonly result: T } | undefined
    const run = async (scope: Scope): Promise<Written> => {
      const [result, written] = await runProgram(program, scope, { ...parts, locks: acting?.held() })
      done = { result }
      return written
    }
    await this.#add({ key: undefined, alone: true, run, ...(own && { own }) })
    if (done === undefined) throw new ApiError('INTERNAL_ERROR')
    return done.result
  }

  /** Undefined: it may share a transaction with single writes, after which it runs. */
  #ownTransaction({
    serial,
    snapshot: isSnapshot = false,
  }: GuardedProgram<unknown>): OwnTransaction | undefined {
    if (serial === undefined && !isSnapshot) return undefined
    const locks = this.#locks.statements(this.#locks.modesOf(serial ?? []))
    return { locks: () => locks, isSnapshot, isLong: isSnapshot || locks.length > 0 }
  }

  /** `held`: the locks of the current try. */
  #acting(acts: Acts, { serial = [] }: GuardedProgram<unknown>) {
    let held = this.#actLocks.begin(acts, serial)
    const locks = () => {
      held = this.#actLocks.begin(acts, serial)
      return held.first
    }
    const own: OwnTransaction = { locks, isSnapshot: false, isLong: true, tries: acts.tries }
    return { own, held: () => held }
  }

  get counts(): Omit<StoreCounts, 'answerHits' | 'answerMisses'> {
    return { ...this.#queue.counts, cascaded: this.#writes.cascaded }
  }

  dropIdle(): void {
    this.#queue.dropIdle()
  }

  lose(): void {
    this.#queue.lose()
  }

  /** Finishes the queued writes. */
  close(): Promise<void> {
    return this.#queue.close()
  }

  async #add(job: Job<Written>): Promise<Written> {
    try {
      return await this.#queue.add(job)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAVAILABLE') this.#options.health.suspect()
      throw error
    }
  }

  #jobOf(plan: GuardedWrite): Job<Written> {
    const { shape, args } = plan
    const run = (scope: Scope) => {
      return scope.answered(this.#writes.run(plan, scope), this.#options.security.inputsOf(plan))
    }
    if (shape.kind === 'create') return { key: limitKey(shape, plan), sharesKey: true, alone: false, run }
    // The event of a write that makes room precedes the events of the writes that use it.
    const alone = shape.kind === 'delete' || isLimited(shape)
    return { key: itemKey(shape.collection.name, args[shape.id]), alone, run }
  }

  /** Queues what the commit needs besides the changes: totals, events and the names of what changed. */
  #leave(transaction: Transaction, done: readonly Done<Written>[]): () => void {
    const events = done.flatMap(({ scope }) => scope.events)
    const changed = new Set(done.flatMap(({ value }) => [...value.changed]))
    const names = [...changed]
    if (!done.some(({ scope }) => scope.hasChanged)) return () => {}
    const totals = summed(done.map(({ scope }) => scope.totals))
    if (totals.size > 0) {
      transaction.queue(addTotals, slotted([arrayOf([...totals.keys()]), arrayOf([...totals.values()])]))
    }
    if (events.length > 0) {
      transaction.queue(lockLog)
      transaction.queue(addEvents, slotted(columnsOf(events)))
    }
    let xid = ''
    const { now, health, atCommit } = this.#options
    transaction.rows(touch, slotted([names.join('\n'), now()])).then(
      rows => {
        xid = String(first(rows)[0])
      },
      () => {},
    )
    return () => {
      health.stored()
      atCommit({ xid, names, quiet: events.length === 0 })
    }
  }
}

/** In the order of names, in which all transactions lock the rows of totals. */
function summed(all: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const totals of all) {
    for (const [name, difference] of totals) sums.set(name, (sums.get(name) ?? 0) + difference)
  }
  return new Map(
    [...sums].filter(([, sum]) => sum !== 0).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
}

function columnsOf(events: Scope['events']): string[] {
  const names = ({ changed }: Scope['events'][number]) =>
    changed === undefined ? null : JSON.stringify(changed)
  return [
    arrayOf(events.map(event => event.at)),
    arrayOf(events.map(event => event.collection)),
    arrayOf(events.map(event => event.itemId)),
    arrayOf(events.map(event => event.kind)),
    arrayOf(events.map(event => String(event.data))),
    arrayOf(events.map(names)),
    arrayOf(events.map(event => event.before as string | null)),
    arrayOf(events.map(event => event.by.userId)),
    arrayOf(events.map(event => event.by.appId)),
    arrayOf(events.map(event => event.type ?? null)),
    arrayOf(events.map(event => event.by.depth ?? null)),
  ]
}
