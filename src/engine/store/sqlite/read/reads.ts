/** Reads on SQLite: on the event loop, or in a reader process if they may be slow. */
import type { EpochMs } from '../../../../base/epoch-ms.ts'
import { isPortico, type Principal } from '../../../../base/principal.ts'
import { AnswerBound, type AnswerLimits } from '../../../plan/answer-bound.ts'
import type { Answer, Answers, GuardedReadShape } from '../../read/answers.ts'
import type { ReadDatabase, RunRead } from '../../read/database.ts'
import { type AnswerQuery, ReadsByCaller, type ReadsInFlight } from '../../read/in-flight.ts'
import { largestAnswer } from '../../read/largest-answer.ts'
import { type ListCache, type ListCacheOptions, listCacheOf } from '../../read/list-cache.ts'
import { type ShapeRun, shapeRun } from '../../read/shape-run.ts'
import type { Inputs } from '../../values.ts'
import type { Versions } from '../../versions.ts'
import type { ReaderPool } from '../reader-processes/pool.ts'
import type { AnswerSize } from './answer-size.ts'
import type { ReadBudget } from './budget.ts'
import { inlineSnapshot, inlineStatements } from './inline.ts'
import type { InlineContext } from './inline-statement.ts'
import { pooledSnapshot, pooledStatements } from './pooled.ts'
import { plannedRoute, ShapeRoute } from './route.ts'

/** Where slow reads run. */
export interface SlowReads {
  readonly pool: Pick<ReaderPool, 'run'>
  readonly budget: ReadBudget
}

export interface SqliteReadsParts extends InlineContext {
  readonly answers: Answers
  readonly answerLimits: AnswerLimits
  readonly answerSize: AnswerSize
  readonly lists: ListCacheOptions
  readonly slow?: SlowReads | undefined
  readonly now: () => EpochMs
}

export class SqliteReads implements ReadDatabase {
  readonly answers: Answers
  readonly answerBound: AnswerBound
  readonly versions: Versions
  readonly isPersonal = false
  readonly #parts: SqliteReadsParts

  constructor(parts: SqliteReadsParts) {
    this.#parts = parts
    this.answers = parts.answers
    this.answerBound = new AnswerBound(parts.answerLimits, 'readBytes')
    this.versions = parts.lists.versions
  }

  readsInFlight(): ReadsInFlight {
    return new ReadsByCaller()
  }

  hold(): void {
    this.#parts.connection.hold()
  }

  now(): number {
    return this.#parts.now()
  }

  actor(): undefined {}

  runOf(shape: GuardedReadShape): RunRead {
    const { lists: memory, slow } = this.#parts
    const isPaged = shape.kind === 'list' && shape.window.kind === 'page'
    const lists = isPaged ? listCacheOf(shape, shape.window, memory) : undefined
    const inline = inlineRun(shapeRun(shape, inlineStatements(this.#parts, false), lists))
    const run = slow && routedRun(shape, this.#parts, { slow, lists, inline, isPaged })
    return run ?? boundedRun(shape, inline, this.#parts.answerSize)
  }
}

/** A larger answer is made in a reader process. */
const maxInlineBytes = 1024 * 1024
/** Answers that cannot be larger than this are made on the event loop, without counting their bytes: single items. */
const maxUncountedBytes = 4 * 1024 * 1024

type SyncRead = (inputs: Inputs) => Answer

/** Synchronous, because the snapshot is. */
function inlineRun(run: ShapeRun<Parameters<typeof inlineSnapshot.row>[0]>): SyncRead {
  return inputs => run(inputs, inlineSnapshot) as Answer
}

/** On the event loop, whatever the size. */
function boundedRun(shape: GuardedReadShape, inline: SyncRead, answerSize: AnswerSize): SyncRead {
  const largest = largestAnswer(shape)
  return inputs => {
    const { args, answerBound } = inputs
    if (answerBound === undefined || largest(args) <= maxUncountedBytes) return inline(inputs)
    const answer = answerSize.within(answerBound.leftBytes, () => inline(inputs))
    if (answer === undefined) throw answerBound.refusal()
    return answer
  }
}

interface RoutedRunParts {
  readonly slow: SlowReads
  readonly lists: ListCache | undefined
  readonly inline: SyncRead
  readonly isPaged: boolean
}

/** For a shape some of whose reads may be slow, or have large answers; undefined for any other. */
function routedRun(
  shape: GuardedReadShape,
  parts: SqliteReadsParts,
  { slow, lists, inline, isPaged }: RoutedRunParts,
): RunRead | undefined {
  const { budget, pool } = slow
  const { answerSize, connection } = parts
  const route = new ShapeRoute(shape, plannedRoute(shape, parts), !budget.isZero)
  const largest = largestAnswer(shape)
  // Not a number if the answer has lists.
  if (!route.canBeSlow(isPaged) && largest([]) <= maxUncountedBytes) return undefined
  let budgeted: SyncRead | undefined
  const pooled = shapeRun(shape, pooledStatements(parts), lists)
  const runInPool =
    (inputs: Inputs, { budgetKey }: Principal): AnswerQuery =>
    async ({ signal }) => {
      const snapshot = pooledSnapshot(async queries => {
        const { results, ms } = await pool.run(budgetKey, queries, signal, inputs.answerBound)
        route.recordPoolRead(ms)
        return results
      }, connection)
      return pooled(inputs, snapshot)
    }
  /** Undefined: the answer is too large for the event loop. */
  const runInline = (inputs: Inputs, run: SyncRead) =>
    largest(inputs.args) <= maxUncountedBytes
      ? run(inputs)
      : answerSize.within(maxInlineBytes, () => run(inputs))
  return (inputs, principal) => {
    // Portico's own reads are by keys.
    if (isPortico(principal)) return inline(inputs)
    const destination = route.choose(inputs, lists?.skipped(inputs) ?? 0)
    if (destination === 'pool') return runInPool(inputs, principal)
    if (destination === 'inline') return runInline(inputs, inline) ?? runInPool(inputs, principal)
    budgeted ??= inlineRun(shapeRun(shape, inlineStatements(parts, true), lists))
    const run = budgeted
    let isTooLarge = false
    const answer = budget.run(() => {
      const answer = runInline(inputs, run)
      isTooLarge = answer === undefined
      return answer
    })
    if (answer !== undefined) return answer
    if (!isTooLarge) route.recordOverrun()
    return runInPool(inputs, principal)
  }
}
