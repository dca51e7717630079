/**
 * A transaction as a generator: it yields steps, is given the answer to each, and what it returns is the result. All of
 * it is committed at once, or nothing is. A step sees what the steps before it have changed.
 */
import type { Principal } from '../principal.ts'
import type { NewRecord, RecordKey } from '../records.ts'
import type { CompositeAnswer, ReadAnswer, WriteAnswer } from './answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from './guarded.ts'
import type { CompositeShape, Plan, ReadShape, WriteShape } from './plan.ts'

/** A change of a record, committed with the items; its answer says whether it was made (see `Records`). */
export type RecordChange =
  | { readonly kind: 'add' | 'put'; readonly record: NewRecord }
  | { readonly kind: 'swap'; readonly key: RecordKey; readonly before: string; readonly after: string }
  | { readonly kind: 'delete'; readonly key: RecordKey }

/** `P`: a plan, or a guarded one. */
export type Steps<P> = P | RecordChange

export type StepAnswer = ReadAnswer | CompositeAnswer | WriteAnswer | boolean

export interface ProgramOf<P, T> {
  /**
   * The collections that it reads or writes, by name, when others must not write to them meanwhile: the transaction
   * then has one place in the order of all commits, those of single writes included. Undefined: what a single write
   * promises is enough, as for one write together with its record. Empty: the same, for what takes long or may well fail.
   */
  readonly serial: readonly string[] | undefined
  /** It changes no items: all that it reads is as at one moment, and nobody is kept from writing meanwhile. */
  readonly snapshot?: boolean
  /**
   * Makes the generator; called again when the transaction is tried again. It awaits nothing and has no effect but by
   * what it yields. A step that fails is thrown where it was yielded; the program must let it through.
   */
  readonly steps: () => Generator<Steps<P>, T, StepAnswer>
}

export type ProgramPlan = Plan<ReadShape> | Plan<CompositeShape> | Plan<WriteShape>

/** A plan that Portico itself makes, whoever the program's principal is. */
export interface SystemPlan {
  readonly asSystem: ProgramPlan
}

/** What a program of a transport yields. */
export type ProgramStep = Steps<ProgramPlan | SystemPlan>

export type ProgramSteps<T> = Generator<ProgramStep, T, StepAnswer>

/** What transports write: plans of one principal. */
export interface Program<T> extends ProgramOf<ProgramPlan | SystemPlan, T> {
  readonly principal: Principal
}

/** What the store runs. */
export type GuardedProgram<T> = ProgramOf<GuardedRead | GuardedCompositeRead | GuardedWrite, T>
