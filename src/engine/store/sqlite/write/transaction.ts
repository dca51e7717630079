/**
 * Transactions of several steps on SQLite, within one turn of the event loop. Reads run on the connection that writes, so
 * they see the changes of earlier steps.
 */
import { ApiError } from '../../../../base/errors.ts'
import { system } from '../../../../base/principal.ts'
import { AnswerBound, type AnswerLimits } from '../../../plan/answer-bound.ts'
import type { AnyGuardedRead, GuardedWrite } from '../../../plan/guarded.ts'
import type { AsyncStep, GuardedProgram, IndependentWrites } from '../../../plan/transaction.ts'
import type { QueryStatistics } from '../../advice/statistics.ts'
import { memoised } from '../../memoised.ts'
import type { Answer, GuardedReadShape } from '../../read/answers.ts'
import { type ListCacheOptions, NoListCache } from '../../read/list-cache.ts'
import { shapeRun } from '../../read/shape-run.ts'
import type { RecordChanges } from '../../records.ts'
import { noSlots } from '../../values.ts'
import { type GuardedInnerStep, runAsyncStepSync } from '../../write/async-step.ts'
import {
  type GuardedPlanStep,
  type GuardedStep,
  isAsyncStep,
  isEmission,
  isIndependentWrites,
  isRecordChange,
  isWrite,
  ProgramRun,
  requireMissing,
  type StepResult,
  writesOf,
} from '../../write/transaction.ts'
import type { Writes } from '../../write/writes.ts'
import type { WriteResult } from '../../write/written.ts'
import type { Connection } from '../connection.ts'
import { failureOf } from '../failure.ts'
import type { AnswerSize } from '../read/answer-size.ts'
import { processorMs, type ReadBudget } from '../read/budget.ts'
import { inlineSnapshot, inlineStatements } from '../read/inline.ts'
import type { InlineContext } from '../read/inline-statement.ts'
import type { Statement } from '../statement.ts'
import { runSteps } from './database.ts'
import type { SqliteScope } from './scope.ts'

/** How much processor time the reads of one transaction may take on the event loop, in milliseconds. A reader process would not see its changes. */
const readBudgetMs = 50

export interface TransactionReadsParts extends InlineContext {
  readonly lists: ListCacheOptions
  readonly answerSize: AnswerSize
  /** Undefined: reads are not limited. */
  readonly budget: ReadBudget | undefined
  /** Bounds how many rows a list may scan. */
  readonly statistics: Pick<QueryStatistics, 'require' | 'requireAnswer'> | undefined
}

type TransactionRead = (plan: AnyGuardedRead, step: StepContext) => Answer

/** Reads within transactions: they neither use nor fill caches. */
export class TransactionReads {
  readonly #budget: ReadBudget | undefined
  readonly #answerSize: AnswerSize
  readonly #statistics: TransactionReadsParts['statistics']
  readonly #runOf: (shape: GuardedReadShape) => TransactionRead
  readonly #budgetedRunOf: (shape: GuardedReadShape) => TransactionRead

  constructor(parts: TransactionReadsParts) {
    this.#budget = parts.budget
    this.#answerSize = parts.answerSize
    this.#statistics = parts.statistics
    this.#runOf = memoised(shape => runOf(shape, parts, false))
    this.#budgetedRunOf = memoised(shape => runOf(shape, parts, true))
  }

  /** Throws ANSWER_TOO_LARGE. */
  read(plan: AnyGuardedRead, step: StepContext): Answer {
    // Portico's own reads are by keys.
    if (plan.principal === system) return this.#runOf(plan.shape)(plan, step)
    // Synchronous on SQLite.
    this.#statistics?.require(plan)
    const answer = this.within(step.answerBound, () => this.#readInTime(plan, step))
    step.answerBound.add(answer.text)
    return answer
  }

  /** Runs work that makes an answer. Throws ANSWER_TOO_LARGE as soon as that is larger than the bound allows. */
  within<T>(answerBound: AnswerBound, work: () => T): T {
    const result = this.#answerSize.within(answerBound.leftBytes, work)
    if (result === undefined) throw answerBound.refusal()
    return result
  }

  #readInTime(plan: AnyGuardedRead, step: StepContext): Answer {
    if (this.#budget === undefined) return this.#runOf(plan.shape)(plan, step)
    const { readTime } = step
    const startedAtMs = processorMs()
    const run = this.#budgetedRunOf(plan.shape)
    const remainingMs = readTime.readBudgetMs - readTime.readMs
    const answer = remainingMs > 0 ? this.#budget.run(() => run(plan, step), remainingMs) : undefined
    readTime.readMs += processorMs() - startedAtMs
    if (answer === undefined) throw readTimeError(readTime)
    return answer
  }

  /** Throws if a list in the write's answer would scan too many rows. */
  requireAnswer(plan: GuardedWrite): void {
    // Synchronous on SQLite.
    if (plan.principal !== system) this.#statistics?.requireAnswer(plan)
  }
}

interface StepContext {
  /** See `Inputs`. */
  readonly now: number
  readonly readTime: ReadTime
  readonly answerBound: AnswerBound
}

interface ReadTime {
  /** How much processor time reads may take in this transaction, and have taken, in milliseconds. */
  readBudgetMs: number
  readMs: number
}

/** It is not the fault of the request if the machine did not let the process run: a half of the budget is measured by the clock. */
function readTimeError({ readBudgetMs: budgetMs, readMs }: ReadTime): ApiError {
  if (readMs < budgetMs / 2) return new ApiError('UNAVAILABLE')
  const message = `The reads of a transaction may take ${budgetMs} ms together. Read this in a request of its own.`
  return new ApiError('BAD_REQUEST', message)
}

function runOf(shape: GuardedReadShape, parts: TransactionReadsParts, isBudgeted: boolean): TransactionRead {
  const isPaged = shape.kind === 'list' && shape.window.kind === 'page'
  const lists = isPaged ? new NoListCache(shape, shape.window, parts.lists) : undefined
  const run = shapeRun(shape, inlineStatements(parts, isBudgeted), lists)
  return ({ args, principal: { userId, claims } }, { now }) =>
    // Synchronous, because the snapshot is.
    run({ args, userId, slots: noSlots, now, claims }, inlineSnapshot) as Answer
}

export interface TransactionParts {
  readonly connection: Connection
  readonly writes: Writes<Statement>
  readonly scope: SqliteScope
  readonly reads: TransactionReads
  readonly records: Pick<RecordChanges<Statement>, 'steps'>
  readonly answerLimits: AnswerLimits
}

/** Runs the program within the current transaction. */
export function runProgram<T>(program: GuardedProgram<T>, parts: TransactionParts): [T, WriteResult] {
  const { scope, writes } = parts
  return scope.hold(
    () => runProgramSteps(program, parts),
    changes => runSteps(writes.settle(changes, scope)),
  )
}

function runProgramSteps<T>(program: GuardedProgram<T>, parts: TransactionParts): [T, WriteResult] {
  const run: ProgramRun<T> = new ProgramRun(program)
  const readTime = { readBudgetMs: Math.max(readBudgetMs, program.asyncSteps?.limitMs ?? 0), readMs: 0 }
  const context = { now: parts.scope.now, readTime, answerBound: writeBound(parts) }
  for (let step = run.step; step !== undefined; step = run.step) {
    let result: StepResult
    try {
      result = isAsyncStep(step) ? answerAsyncStep(step, run, parts, context) : runStep(step, parts, context)
    } catch (cause) {
      run.fail(failureOf(cause))
    }
    run.next(result)
  }
  return [run.result, run.written]
}

function writeBound({ answerLimits }: Pick<TransactionParts, 'answerLimits'>): AnswerBound {
  return new AnswerBound(answerLimits, 'writeBytes')
}

/**
 * Each step is undone alone if it fails, so that the function can continue. What the function reads is no answer: each read
 * has its own bound.
 */
function answerAsyncStep<T>(
  asyncStep: AsyncStep<GuardedPlanStep>,
  run: ProgramRun<T>,
  parts: TransactionParts,
  context: StepContext,
): StepResult {
  parts.scope.isInAsyncStep = true
  try {
    runAsyncStepSync(asyncStep, step => {
      const stepContext = { ...context, answerBound: writeBound(parts) }
      return run.answerOf(runInSavepoint(parts, () => runStep(step, parts, stepContext)))
    })
  } finally {
    parts.scope.isInAsyncStep = false
  }
  return { kind: 'asyncStep' }
}

function runInSavepoint<T>({ connection, scope }: TransactionParts, work: () => T): T {
  // A full disk may have rolled back the whole transaction.
  if (!connection.isTransaction) throw new ApiError('UNAVAILABLE')
  try {
    return scope.step(() => connection.step(work))
  } catch (cause) {
    throw failureOf(cause)
  }
}

function runStep(
  step: Exclude<GuardedStep, AsyncStep<unknown>> | GuardedInnerStep,
  { writes, scope, reads, records }: TransactionParts,
  context: StepContext,
): StepResult {
  if (isRecordChange(step)) return { kind: 'record', work: runSteps(records.steps(step)) }
  if (isEmission(step)) {
    runSteps(writes.emit(step, scope))
    return { kind: 'emission' }
  }
  const runWrite = (plan: GuardedWrite): WriteResult => {
    reads.requireAnswer(plan)
    const { answerBound } = context
    return reads.within(answerBound, () => runSteps(writes.run(plan, scope, answerBound)))
  }
  if (isIndependentWrites(step)) return { kind: 'writes', all: runWrites(step, runWrite, writes.newStep()) }
  if (isWrite(step)) return { kind: 'write', written: runWrite(step) }
  return { kind: 'read', answer: reads.read(step, context) }
}

function runWrites(
  step: IndependentWrites<GuardedPlanStep>,
  runWrite: (plan: GuardedWrite) => WriteResult,
  addCascade: (cascaded: number | undefined) => void,
): readonly WriteResult[] {
  return writesOf(step).flatMap((plan, index) => {
    try {
      const result = runWrite(plan)
      addCascade(result.cascaded)
      return result
    } catch (cause) {
      step.onFailure(index)
      return requireMissing(cause, step) ?? []
    }
  })
}
