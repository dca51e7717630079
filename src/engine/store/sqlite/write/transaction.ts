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
import { type GuardedInnerStep, runAsyncStepSync, timeoutError } from '../../write/async-step.ts'
import {
  type GuardedPlanStep,
  type GuardedStep,
  isAsyncStep,
  isEmission,
  isIndependentWrites,
  isPassedOver,
  isRead,
  isRecordChange,
  isWrite,
  ProgramRun,
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
  /** How long all checks of the model together may still take, in milliseconds. */
  readonly checks: { leftMs: number }
  readonly answerBound: AnswerBound
  /** How much processor time several writes of one step may take. */
  readonly limitMs: number
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
  return ({ args, principal: caller }, { now }) =>
    // Synchronous, because the snapshot is.
    run({ args, userId: caller.userId, slots: noSlots, now, caller }, inlineSnapshot) as Answer
}

export interface WriteParts {
  readonly connection: Connection
  readonly writes: Writes<Statement>
  readonly scope: SqliteScope
  readonly reads: TransactionReads
  readonly answerLimits: AnswerLimits
}

export interface TransactionParts extends WriteParts {
  readonly records: Pick<RecordChanges<Statement>, 'steps'>
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
  const asyncMs = program.asyncSteps?.limitMs
  const context = contextOf(parts, Math.max(readBudgetMs, asyncMs ?? 0), asyncMs)
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

function writeBound({ answerLimits }: Pick<WriteParts, 'answerLimits'>): AnswerBound {
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
  parts.scope.inAsyncStep(() => {
    runAsyncStepSync(asyncStep, step => {
      const stepContext = { ...context, answerBound: writeBound(parts) }
      return run.answerOf(runInSavepoint(parts, () => runStep(step, parts, stepContext)))
    })
  })
  return { kind: 'asyncStep' }
}

/** Runs a single write. */
export function runWrite(plan: GuardedWrite, parts: WriteParts): WriteResult {
  return runPlan(plan, parts, contextOf(parts, 0))
}

function contextOf(parts: WriteParts, budgetMs: number, limitMs = Number.POSITIVE_INFINITY): StepContext {
  return {
    now: parts.scope.now,
    readTime: { readBudgetMs: budgetMs, readMs: 0 },
    checks: { leftMs: parts.writes.checksMs },
    answerBound: writeBound(parts),
    limitMs,
  }
}

function runPlan(plan: GuardedWrite, parts: WriteParts, context: StepContext): WriteResult {
  const { reads, writes, scope } = parts
  const { answerBound } = context
  reads.requireAnswer(plan)
  return reads.within(answerBound, () =>
    runSteps(writes.run(plan, scope, answerBound), check => runCheck(check, parts, context)),
  )
}

/** Runs a check of the model that reads. */
function runCheck(check: AsyncStep<GuardedPlanStep>, parts: WriteParts, context: StepContext): void {
  const { checks } = context
  if (checks.leftMs <= 0)
    throw new ApiError('UNAVAILABLE', 'The checks of these items took too long. Write fewer at once.')
  const startedAt = performance.now()
  const limitMs = Math.min(check.limitMs, checks.leftMs)
  const readTime = { readBudgetMs: limitMs, readMs: 0 }
  try {
    parts.scope.inAsyncStep(() => {
      runAsyncStepSync({ ...check, limitMs }, step => {
        if (!isRead(step)) throw new TypeError(`${check.place} changes something`)
        return parts.reads.read(step, { ...context, readTime, answerBound: writeBound(parts) })
      })
    })
  } finally {
    checks.leftMs -= performance.now() - startedAt
  }
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
  parts: TransactionParts,
  context: StepContext,
): StepResult {
  const { writes, scope, reads, records } = parts
  if (isRecordChange(step)) return { kind: 'record', work: runSteps(records.steps(step)) }
  if (isEmission(step)) {
    runSteps(writes.emit(step, scope))
    return { kind: 'emission' }
  }
  const run = (plan: GuardedWrite) => runPlan(plan, parts, context)
  if (isIndependentWrites(step))
    return { kind: 'writes', all: runWrites(step, run, context.limitMs, writes.newStep()) }
  if (isWrite(step)) return { kind: 'write', written: run(step) }
  return { kind: 'read', answer: reads.read(step, context) }
}

function runWrites(
  step: IndependentWrites<GuardedPlanStep>,
  runWrite: (plan: GuardedWrite) => WriteResult,
  limitMs: number,
  addCascade: (cascaded: number | undefined) => void,
): readonly WriteResult[] {
  const startedAtMs = processorMs()
  return writesOf(step).flatMap((plan, index) => {
    try {
      // All requests wait for them, and each may delete much.
      if (processorMs() - startedAtMs > limitMs) throw timeoutError(limitMs)
      const result = runWrite(plan)
      addCascade(result.cascaded)
      return result
    } catch (cause) {
      if (isPassedOver(cause, step)) return []
      step.onFailure(index)
      throw cause
    }
  })
}
