/** Runs guarded writes: queues them for the next commit, and tells what they changed. */
import { ApiError } from '../../errors.ts'
import type { WriteAnswer } from '../../plan/answer.ts'
import type { GuardedWrite } from '../../plan/guarded.ts'
import { once } from '../once.ts'
import type { StoreCounts } from '../store.ts'
import { Cascades, type OnCascade } from '../write/cascades.ts'
import { none, type Written } from '../write/written.ts'
import type { WriteHealth } from '../write-health.ts'
import { CommitQueue } from './commit.ts'
import type { WriteContext, WriteRun } from './context.ts'
import { createRun } from './create.ts'
import { deleteRun } from './delete.ts'
import type { FileIdentity } from './identity.ts'
import type { Neighbours } from './neighbours.ts'
import { RecordPruning } from './record-pruning.ts'
import { Removal } from './removal.ts'
import { updateRun } from './update.ts'

export interface WriterOptions {
  readonly maxWaiting: number
  readonly lockWaitMs: number
  readonly lock: Neighbours['lock']
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
  readonly atCommit: (written: Written) => void
  readonly afterCommit: () => void
  readonly health: WriteHealth
  readonly identity: FileIdentity
  readonly onCascade: OnCascade | undefined
}

export class Writer {
  readonly #queue: CommitQueue<Written, WriteAnswer>
  readonly #cascades: Cascades
  readonly #runOf: (shape: GuardedWrite['shape']) => WriteRun
  /** The time of the transaction: one for all its writes. */
  #at = ''

  constructor(context: WriteContext, options: WriterOptions) {
    const { maxWaiting, lockWaitMs, lock, now, atCommit, afterCommit, health, identity } = options
    this.#cascades = new Cascades(options.onCascade)
    const removal = new Removal(context, this.#cascades)
    this.#runOf = once(shape => runOf(shape, context, removal))
    const pruning = new RecordPruning(context.connection)
    const atBegin = (): void => {
      if (!identity.wasSame()) throw moved()
      const at = now()
      this.#at = new Date(at).toISOString()
      context.events.prune(at)
      pruning.prune(at)
    }
    this.#queue = new CommitQueue(context.connection, {
      maxWaiting,
      lockWaitMs,
      lock,
      atBegin,
      atCommit,
      afterCommit,
      health,
      answer: answerOf,
    })
  }

  write(plan: GuardedWrite): Promise<WriteAnswer> {
    return this.#queue.add(() => this.#runOf(plan.shape)(plan, this.#at))
  }

  /**
   * Does other work within the next commit, perhaps several times; `work` tells what it gives and whose versions grow.
   * Settles once the commit is durable.
   */
  async work<T>(work: () => { readonly value: T; readonly changed: ReadonlySet<string> }): Promise<T> {
    let result: { readonly value: T } | undefined
    await this.#queue.add(() => {
      const { value, changed } = work()
      result = { value }
      return { id: 0, text: null, changed, removed: none, quiet: true }
    })
    if (result === undefined) throw new ApiError('INTERNAL_ERROR')
    return result.value
  }

  get counts(): Omit<StoreCounts, 'answerHits' | 'answerMisses'> {
    return { ...this.#queue.counts, cascaded: this.#cascades.items }
  }

  /** See `CommitQueue`. */
  confirm(): Promise<void> {
    return this.#queue.confirm()
  }

  /** Commits everything that waits, then nothing more. */
  close(): void {
    this.#queue.close()
  }
}

/** What is stored in a file that has no name any more would be lost. */
export function moved(): ApiError {
  return new ApiError('UNAVAILABLE', 'The file of the database was moved, replaced or removed.')
}

function runOf(shape: GuardedWrite['shape'], context: WriteContext, removal: Removal): WriteRun {
  switch (shape.kind) {
    case 'create':
      return createRun(shape, context)
    case 'update':
      return updateRun(shape, context)
    case 'delete':
      return deleteRun(shape, context, removal)
  }
}

function answerOf({ id, text }: Written): WriteAnswer {
  return { id, text }
}
