/**
 * A transaction as a generator: it yields steps, receives the answer to each, and returns the result. Either all steps are
 * committed or none. Each step sees the changes of the earlier ones.
 */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Principal } from '../../base/principal.ts'
import type { NewRecord, RecordKey } from '../../base/records.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from './answer.ts'
import type { AnyGuardedRead, GuardedWrite } from './guarded.ts'
import type { CompositeShape, Plan, ReadShape, WriteShape } from './plan.ts'

/** A change of a record, committed with the items. Its answer: whether it was made (see `Records`). */
export type RecordChange =
  | { readonly kind: 'add' | 'put'; readonly record: NewRecord }
  | { readonly kind: 'swap'; readonly key: RecordKey; readonly before: string; readonly after: string }
  | { readonly kind: 'delete'; readonly key: RecordKey }
  | { readonly kind: 'deleteOwned'; readonly owner: string; readonly kinds: readonly string[] }

/**
 * No write needs the answer of another one, so they run concurrently unless their rules read each other's items. Their events
 * are in this order nevertheless. The answer: their answers, in order.
 */
export interface IndependentWrites<P> {
  readonly kind: 'independentWrites'
  readonly writes: readonly P[]
  /** Whether a write of an item that is missing, perhaps because an earlier one has deleted it, is passed over. */
  readonly skipsMissing?: boolean
  /** Called with the index of a failed write, before its error is thrown. */
  readonly onFailure: (index: number) => void
}

/** Runs a step within the transaction. If it throws or rejects with an `ApiError`, only this step is rolled back. */
export type RunStep<P> = (step: P) => Awaitable<StepAnswer>

/**
 * An asynchronous function whose steps belong to the transaction. It awaits nothing else: on SQLite, it ends within one
 * turn of the event loop.
 */
export interface AsyncStep<P> {
  readonly kind: 'asyncStep'
  /** Its place in the model, e.g. `actions.archive`: for messages, and to predict the tables that it will use. */
  readonly place: string
  /** Called once per attempt of the transaction. */
  readonly start: (run: RunStep<InnerStep<P>>) => Promise<unknown>
  /** Runs `work`, then the pending microtasks. */
  readonly turn: (work: () => void) => void
  /** The time limit. */
  readonly limitMs: number
  readonly maxSteps: number
}

/** An event of a declared type, besides those of changes. Its answer is `true`. */
export interface Emission {
  readonly kind: 'emission'
  readonly emit: string
  readonly collection: string
  readonly itemId: number
  /** The item as JSON text, as events log it. */
  readonly row: string
  readonly values: JsonObject
  readonly by: Principal
}

/** `P`: a plan, or a guarded one. Steps of every other sort have a `kind`. */
export type StepOf<P> = P | RecordChange | IndependentWrites<P> | AsyncStep<P> | Emission

/** A step of an `AsyncStep`. */
export type InnerStep<P> = P | RecordChange | IndependentWrites<P> | Emission

export type StepAnswer = ReadAnswer | CompositeAnswer | WriteAnswer | readonly WriteAnswer[] | boolean

/** The `AsyncStep`s of a transaction. */
export interface AsyncSteps {
  /** Which tables they need is remembered by place. Empty: code of a program, which may be different each time. */
  readonly places: readonly string[]
  /** Whether the places are those of checks, which only read, and to which the other steps do not belong. */
  readonly areChecks?: boolean
  /** The maximum number of attempts when the transaction conflicts with others; then it fails with CONFLICT. */
  readonly tries: number
  /** The time limit of each asynchronous step, and of all other reads of the transaction together. */
  readonly limitMs: number
}

/** The names of the collections that a transaction uses. It may also read those that it writes to. */
export interface CollectionUses {
  readonly reads?: readonly string[]
  /** Collections in which it creates or updates items. */
  readonly writes?: readonly string[]
  readonly deletes?: readonly string[]
}

export interface ProgramOf<P, T> {
  /**
   * The collections that it uses, if nobody else may write to them meanwhile: the transaction is then serialised with all
   * commits, including those of single writes. Undefined: the isolation of a single write is enough, e.g. for one write
   * together with its record. Empty: the same, for transactions that are long or likely to fail.
   */
  readonly serial: CollectionUses | undefined
  /** It changes no items: all reads see one snapshot, and block no writes. */
  readonly snapshot?: boolean
  /**
   * The `AsyncStep`s among its steps, if it has any. The collections that they use are known only while they run, so the
   * transaction is serialised with all commits.
   */
  readonly asyncSteps?: AsyncSteps
  /**
   * Creates the generator, once per attempt. It awaits nothing, and has effects only by what it yields. The error of a failed
   * step is thrown at its `yield`; the program must not catch it.
   */
  readonly steps: () => Generator<StepOf<P>, T, StepAnswer>
}

export type ProgramPlan = Plan<ReadShape> | Plan<CompositeShape> | Plan<WriteShape>

/** A plan of a principal other than the program's. */
export interface PlanAs {
  readonly kind: 'planAs'
  readonly as: Principal
  readonly plan: ProgramPlan
}

/** The step that carries out a plan as another principal. */
export function planAs(as: Principal, plan: ProgramPlan): PlanAs {
  return { kind: 'planAs', as, plan }
}

/** What a program of a transport yields. */
export type ProgramStep = StepOf<ProgramPlan | PlanAs>

export type ProgramSteps<T> = Generator<ProgramStep, T, StepAnswer>

/** What transports write: plans of one principal. */
export interface Program<T> extends ProgramOf<ProgramPlan | PlanAs, T> {
  readonly principal: Principal
}

/** What the store runs. */
export type GuardedProgram<T> = ProgramOf<AnyGuardedRead | GuardedWrite, T>
