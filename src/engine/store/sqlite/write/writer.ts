/** Runs guarded writes: queues them for the next commit. */
import type { EpochMs } from '../../../../base/epoch-ms.ts'
import { ApiError } from '../../../../base/errors.ts'
import type { Model } from '../../../../model/model.ts'
import type { WriteAnswer } from '../../../plan/answer.ts'
import type { AnswerLimits } from '../../../plan/answer-bound.ts'
import type { GuardedWrite } from '../../../plan/guarded.ts'
import type { GuardedProgram } from '../../../plan/transaction.ts'
import { memoised } from '../../memoised.ts'
import type { RecordChanges } from '../../records.ts'
import type { StoreCounts } from '../../store.ts'
import type { ModelCode } from '../../write/model-code.ts'
import { checkedBy } from '../../write/reading-check.ts'
import type { CascadeOptions } from '../../write/removal/cascades.ts'
import { doWork, type WorkSteps } from '../../write/work.ts'
import { Writes } from '../../write/writes.ts'
import type { WriteResult } from '../../write/written.ts'
import type { WriteHealth } from '../../write-health.ts'
import type { Connection } from '../connection.ts'
import type { FileIdentity } from '../file/identity.ts'
import type { OtherThreads } from '../file/other-threads.ts'
import type { EventLog } from '../log/event-log.ts'
import { RecordPruning } from '../record-pruning.ts'
import type { Statement } from '../statement.ts'
import { CommitQueue } from './commit.ts'
import { runSteps, SqliteWrites } from './database.ts'
import { SqliteScope } from './scope.ts'
import { runProgram, runWrite, type TransactionReads, type WriteParts } from './transaction.ts'

export interface WriterContext {
  readonly model: Model
  readonly connection: Connection
  readonly events: EventLog
}

export interface WriterOptions extends ModelCode {
  readonly maxWaiting: number
  readonly lockWaitMs: number
  readonly lock: OtherThreads['lock']
  readonly now: () => EpochMs
  readonly onCommit: (written: WriteResult) => void
  readonly afterCommit: () => void
  readonly health: WriteHealth
  readonly identity: FileIdentity
  readonly cascades: CascadeOptions | undefined
  readonly reads: TransactionReads
  readonly answerLimits: AnswerLimits
}

export class Writer {
  readonly #queue: CommitQueue<WriteResult, WriteAnswer>
  readonly #writes: Writes<Statement>
  readonly #scope: SqliteScope
  readonly #parts: WriteParts
  /** The collections whose checks a write may run. */
  readonly #checkedBy: (shape: GuardedWrite['shape']) => readonly string[]

  constructor({ model, connection, events }: WriterContext, options: WriterOptions) {
    const { maxWaiting, lockWaitMs, lock, now, onCommit, afterCommit, health, identity } = options
    const { reads, answerLimits } = options
    this.#checkedBy = memoised(shape => checkedBy(shape, model))
    this.#writes = new Writes(new SqliteWrites(model, connection, options), options.cascades)
    this.#scope = new SqliteScope(events)
    this.#parts = { connection, writes: this.#writes, scope: this.#scope, reads, answerLimits }
    const pruning = new RecordPruning(connection)
    const onBegin = (): void => {
      if (!identity.wasRecentlySame()) throw movedFileError()
      const nowMs = now()
      this.#scope.at = new Date(nowMs).toISOString()
      this.#scope.now = nowMs
      events.prune(nowMs)
      pruning.prune(nowMs)
    }
    this.#queue = new CommitQueue(connection, {
      maxWaiting,
      lockWaitMs,
      lock,
      onBegin,
      onCommit,
      afterCommit,
      health,
      answer: answerOf,
    })
  }

  write(plan: GuardedWrite): Promise<WriteAnswer> {
    return this.#queue.add(() => runWrite(plan, this.#parts), this.#checkedBy(plan.shape).length > 0)
  }

  /** See `doWork`. */
  work<T>(steps: WorkSteps<Statement, T>): Promise<T> {
    return doWork(steps, run => this.#queue.add(() => runSteps(run(this.#scope))))
  }

  /** Runs the program within the next commit, perhaps several times. */
  async transaction<T>(
    program: GuardedProgram<T>,
    records: Pick<RecordChanges<Statement>, 'steps'>,
  ): Promise<T> {
    const parts = { ...this.#parts, records }
    let outcome: { readonly result: T } | undefined
    await this.#queue.add(() => {
      const [result, written] = runProgram(program, parts)
      outcome = { result }
      return written
    }, true)
    if (outcome === undefined) throw new ApiError('INTERNAL_ERROR')
    return outcome.result
  }

  /** See `SqliteScope`. */
  get isInAsyncStep(): boolean {
    return this.#scope.isInAsyncStep
  }

  get counts(): Pick<StoreCounts, 'commits' | 'writes' | 'cascaded'> {
    return { ...this.#queue.counts, cascaded: this.#writes.cascaded }
  }

  /** See `CommitQueue`. */
  confirm(): Promise<void> {
    return this.#queue.confirm()
  }

  /** Commits all waiting writes. */
  close(): void {
    this.#queue.close()
  }
}

/** The error for writes to a file that has lost its name: they would be lost. */
export function movedFileError(): ApiError {
  return new ApiError('UNAVAILABLE', 'The file of the database was moved, replaced or removed.')
}

function answerOf({ id, text }: WriteResult): WriteAnswer {
  return { id, text }
}
