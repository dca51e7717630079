/** Transactions of several steps on PostgreSQL, on one connection: reads see the changes of earlier steps. */

import type { Awaitable } from '../../../../base/awaitable.ts'
import { ApiError } from '../../../../base/errors.ts'
import { system } from '../../../../base/principal.ts'
import type { Collection } from '../../../../model/model.ts'
import { AnswerBound, type AnswerLimits } from '../../../plan/answer-bound.ts'
import type { AnyGuardedRead, GuardedWrite } from '../../../plan/guarded.ts'
import type { AsyncStep, GuardedProgram, IndependentWrites } from '../../../plan/transaction.ts'
import type { QueryStatistics } from '../../advice/statistics.ts'
import { memoised } from '../../memoised.ts'
import type { Answer, GuardedReadShape } from '../../read/answers.ts'
import type { Statements } from '../../read/database.ts'
import { type ListCacheOptions, NoListCache } from '../../read/list-cache.ts'
import { type ShapeRun, shapeRun } from '../../read/shape-run.ts'
import type { RecordChanges } from '../../records.ts'
import { hasLists } from '../../sql/write.ts'
import { slot, sql } from '../../sql/writer.ts'
import { noSlots } from '../../values.ts'
import { type GuardedInnerStep, runAsyncStep } from '../../write/async-step.ts'
import { dependsOnOthers } from '../../write/proposed.ts'
import {
  type GuardedPlanStep,
  type GuardedStep,
  isAsyncStep,
  isEmission,
  isIndependentWrites,
  isPassedOver,
  isPlan,
  isRead,
  isRecordChange,
  isWrite,
  ProgramRun,
  type StepResult,
  writesOf,
} from '../../write/transaction.ts'
import type { Writes } from '../../write/writes.ts'
import type { WriteResult } from '../../write/written.ts'
import { failureOf, TransactionFailed } from '../connections/failure.ts'
import { type BoundStatement, type Statement, statementOf } from '../connections/statement.ts'
import { batchedQueries, statementsOf } from '../read/reads.ts'
import type { Security } from '../row-security/security.ts'
import type { HeldLocks } from './async-step-locks.ts'
import { isLimited } from './lock-order.ts'
import type { Scope } from './scope.ts'

/**
 * How many writes run concurrently, so that their statements are answered in time. Writes with a cardinality limit, or a rule
 * that reads their own collection, run one after the other, since each sees the items of the earlier ones.
 */
const maxConcurrentWrites = 100

/** The same for writes whose answers contain lists: the answers of those that run are in memory together. */
const maxConcurrentLists = 4

/** The committed totals plus the changes of this transaction, which are written only at its commit. */
const ownTotals = statementOf(
  sql`SELECT coalesce(sum("n"), 0)::bigint + ${slot(1)}::bigint FROM "_totals" WHERE "collection" = ${slot(0)}`,
)

/** Reads within transactions: they neither use nor fill caches. */
export class TransactionReads {
  readonly #security: Security
  /** Bounds how many rows a list may scan. */
  readonly #statistics: Pick<QueryStatistics, 'require' | 'requireAnswer'> | undefined
  readonly #runOf: (shape: GuardedReadShape) => ShapeRun<BoundStatement>

  constructor(
    security: Security,
    memory: ListCacheOptions,
    statistics: Pick<QueryStatistics, 'require' | 'requireAnswer'> | undefined,
  ) {
    this.#security = security
    this.#statistics = statistics
    const statements: Statements<BoundStatement> = {
      ...statementsOf(security),
      whole: collection => inputs =>
        ownTotals.with({ ...inputs, slots: [collection, inputs.grown?.(collection) ?? 0] }),
    }
    this.#runOf = memoised(shape => {
      const isPaged = shape.kind === 'list' && shape.window.kind === 'page'
      return shapeRun(shape, statements, isPaged ? new NoListCache(shape, shape.window, memory) : undefined)
    })
  }

  /** Throws ANSWER_TOO_LARGE. */
  async read(plan: AnyGuardedRead, scope: Scope, bound: AnswerBound): Promise<Answer> {
    const { shape, args, principal } = plan
    const answerBound = principal === system ? undefined : bound
    // Portico's own reads are by keys.
    if (principal !== system) await this.#statistics?.require(plan)
    const snapshot = batchedQueries(
      queries => Promise.all(queries.map(query => scope.ask(query))),
      // No cache could be older.
      { isNewer: () => false },
    )
    const actor = this.#security.actor(principal, outputsOf(shape))
    const inputs = {
      args,
      userId: principal.userId,
      slots: noSlots,
      now: scope.now,
      caller: principal,
      actor,
      answerBound,
      grown: (collection: string) => scope.growth(collection),
    }
    const answer = await this.#runOf(shape)(inputs, snapshot)
    answerBound?.add(answer.text)
    return answer
  }

  /** Throws if a list in the write's answer would scan too many rows; undefined if that is known at once. */
  requireAnswer(plan: GuardedWrite): Awaitable<void> {
    if (plan.principal !== system) return this.#statistics?.requireAnswer(plan)
  }
}

/** The collections of which a read has items that are the output of an operation. */
function outputsOf(shape: GuardedReadShape): readonly Collection[] {
  const items = shape.kind === 'composite' ? shape.roots : [shape]
  return items.flatMap(item => (item.kind === 'item' && item.isOutput ? [item.collection] : []))
}

export interface TransactionParts {
  readonly writes: Writes<Statement>
  /** See `TableLocks.claimsOf`. Without those that the transaction has made already. */
  readonly claimsOf: (plan: GuardedWrite) => readonly Statement[]
  readonly reads: TransactionReads
  readonly security: Security
  readonly records: Pick<RecordChanges<Statement>, 'steps'>
  /** How long it may take, since others wait for it, in milliseconds. */
  readonly limitMs: number
  /** Throws once it has taken longer. */
  readonly requireTime: () => void
  /** For a transaction with asynchronous steps that changes something. */
  readonly locks?: HeldLocks | undefined
  /** See `TableLocks.checksOf`. A write that runs checks needs `locks`. */
  readonly checksOf: (plan: GuardedWrite) => readonly string[]
  /** Called without `locks`, with the checks of a write. Throws. */
  readonly refuseChecks: (places: readonly string[]) => void
  readonly answerLimits: AnswerLimits
}

function writeBound({ answerLimits }: Pick<TransactionParts, 'answerLimits'>): AnswerBound {
  return new AnswerBound(answerLimits, 'writeBytes')
}

/** Runs the program within the transaction of `scope`. */
export async function runProgram<T>(
  program: GuardedProgram<T>,
  scope: Scope,
  options: Omit<TransactionParts, 'requireTime'>,
): Promise<[T, WriteResult]> {
  const run: ProgramRun<T> = new ProgramRun(program)
  const deadline = performance.now() + options.limitMs
  const requireTime = (): void => {
    if (performance.now() > deadline) throw timeoutError()
  }
  const parts = { ...options, requireTime }
  const answerBound = writeBound(parts)
  for (let step = run.step; step !== undefined; step = run.step) {
    let result: StepResult
    try {
      requireTime()
      result = isAsyncStep(step)
        ? await answerAsyncStep(step, run, scope, parts)
        : await lockedStep(step, scope, parts, answerBound)
    } catch (cause) {
      run.fail(failureOf(cause))
    }
    run.next(result)
  }
  await scope.settle(changes => parts.writes.settle(changes, scope))
  return [run.result, run.written]
}

function timeoutError(): ApiError {
  return new ApiError('UNAVAILABLE', 'The transaction took too long. Do less in one transaction.')
}

/** Locks the tables of a plan before their first use, in a transaction that does not know them beforehand. */
async function lock(
  step: GuardedStep,
  scope: Scope,
  { locks, limitMs }: TransactionParts,
  check?: string,
): Promise<void> {
  if (locks === undefined) return
  const plans = isIndependentWrites(step) ? writesOf(step) : isPlan(step) ? [step] : []
  // In most steps, all writes use the same tables.
  for (const plan of plans) await scope.lock(locks.missingFor(plan, check), limitMs)
}

/**
 * Each step is undone alone if it fails, so that the function can continue. What the function reads is no answer: each read
 * has its own bound.
 */
async function answerAsyncStep<T>(
  asyncStep: AsyncStep<GuardedPlanStep>,
  run: ProgramRun<T>,
  scope: Scope,
  parts: TransactionParts,
): Promise<StepResult> {
  await runAsyncStep(asyncStep, async step => {
    try {
      await lock(step, scope, parts)
      // Reads too: without a savepoint, a failed one would end the transaction.
      return run.answerOf(await scope.savepoint(fork => runStep(step, fork, parts, writeBound(parts))))
    } catch (cause) {
      throw failureOf(cause)
    }
  })
  return { kind: 'asyncStep' }
}

async function lockedStep(
  step: Exclude<GuardedStep, AsyncStep<unknown>>,
  scope: Scope,
  parts: TransactionParts,
  answerBound: AnswerBound,
): Promise<StepResult> {
  await lock(step, scope, parts)
  return runStep(step, scope, parts, answerBound)
}

async function runStep(
  step: Exclude<GuardedStep, AsyncStep<unknown>> | GuardedInnerStep,
  scope: Scope,
  parts: TransactionParts,
  answerBound: AnswerBound,
): Promise<StepResult> {
  if (isRecordChange(step)) {
    return { kind: 'record', work: await scope.run(parts.records.steps(step), ({ inputs }) => inputs) }
  }
  if (isEmission(step)) {
    await scope.run(parts.writes.emit(step, scope), ({ inputs }) => inputs)
    scope.hasChanged = true
    return { kind: 'emission' }
  }
  if (isIndependentWrites(step)) {
    return { kind: 'writes', all: await runWrites(step, scope, parts, answerBound) }
  }
  if (isWrite(step)) return { kind: 'write', written: await runWrite(step, scope, parts, answerBound) }
  return { kind: 'read', answer: await parts.reads.read(step, scope, answerBound) }
}

async function runWrite(
  plan: GuardedWrite,
  scope: Scope,
  parts: TransactionParts,
  answerBound: AnswerBound,
): Promise<WriteResult> {
  const { writes, claimsOf, reads, security } = parts
  const requirement = reads.requireAnswer(plan)
  if (requirement !== undefined) await requirement
  if (parts.locks === undefined) parts.refuseChecks(parts.checksOf(plan))
  for (const claim of claimsOf(plan)) scope.claim(claim)
  return scope.run(writes.run(plan, scope, answerBound), security.inputsOf(plan), check =>
    runCheck(check, scope, parts),
  )
}

/** Runs a check of the model that reads. A read that fails ends the transaction, or the step of an action. */
async function runCheck(
  check: AsyncStep<GuardedPlanStep>,
  scope: Scope,
  parts: TransactionParts,
): Promise<void> {
  parts.requireTime()
  return runAsyncStep(check, async step => {
    if (!isRead(step)) throw new TypeError(`${check.place} changes something`)
    try {
      await lock(step, scope, parts, check.place)
      return await parts.reads.read(step, scope, writeBound(parts))
    } catch (cause) {
      throw failureOf(cause)
    }
  })
}

/** The statements that the writes yield in one turn are sent together. */
async function runWrites(
  step: IndependentWrites<GuardedPlanStep>,
  scope: Scope,
  parts: TransactionParts,
  answerBound: AnswerBound,
): Promise<readonly WriteResult[]> {
  const results: WriteResult[] = []
  const addCascade = parts.writes.newStep()
  const plans = writesOf(step)
  const shapes = [...new Set(plans.map(({ shape }) => shape))]
  const areOrdered =
    step.skipsMissing === true ||
    plans.some(plan => parts.checksOf(plan).length > 0) ||
    shapes.some(shape => isLimited(shape) || dependsOnOthers(shape))
  const concurrency = areOrdered
    ? 1
    : shapes.some(answersWithLists)
      ? maxConcurrentLists
      : maxConcurrentWrites
  for (let start = 0; start < plans.length; start += concurrency) {
    const scopes: Scope[] = []
    const outcomes = await Promise.allSettled(
      plans.slice(start, start + concurrency).map(plan => {
        const fork = scope.fork()
        scopes.push(fork)
        return runWrite(plan, fork, parts, answerBound)
          .then(result => {
            addCascade(result.cascaded)
            return result
          })
          .catch(cause => {
            if (!isPassedOver(cause, step)) throw cause
            return undefined
          })
      }),
    )
    // In the order of the writes, whichever finished first.
    for (const fork of scopes) scope.join(fork)
    const failedIndex = firstFailure(outcomes)
    if (failedIndex !== undefined) {
      step.onFailure(start + failedIndex)
      throw (outcomes[failedIndex] as PromiseRejectedResult).reason
    }
    results.push(
      ...outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : [])),
    )
  }
  return results
}

function answersWithLists(shape: GuardedWrite['shape']): boolean {
  return shape.kind !== 'delete' && hasLists(shape.select)
}

/** The first failure that is not the consequence of another one. */
function firstFailure(outcomes: readonly PromiseSettledResult<unknown>[]): number | undefined {
  const failures = outcomes.flatMap((result, index) =>
    result.status === 'rejected' ? [{ index, cause: result.reason }] : [],
  )
  return (failures.find(({ cause }) => !(cause instanceof TransactionFailed)) ?? failures[0])?.index
}
