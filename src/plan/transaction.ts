/**
 * A transaction as a generator: it yields steps, is given the answer to each, and what it returns is the result. All of
 * it is committed at once, or nothing is. A step sees what the steps before it have changed.
 */
import type { JsonValue } from '../model/fields/type.ts'
import type { Principal } from '../principal.ts'
import type { NewRecord, RecordKey } from '../records.ts'
import type { Awaitable, CompositeAnswer, ReadAnswer, WriteAnswer } from './answer.ts'
import type { GuardedCompositeRead, GuardedRead, GuardedWrite } from './guarded.ts'
import type { CompositeShape, Plan, ReadShape, WriteShape } from './plan.ts'

/** A change of a record, committed with the items; its answer says whether it was made (see `Records`). */
export type RecordChange =
  | { readonly kind: 'add' | 'put'; readonly record: NewRecord }
  | { readonly kind: 'swap'; readonly key: RecordKey; readonly before: string; readonly after: string }
  | { readonly kind: 'delete'; readonly key: RecordKey }

/**
 * Writes of which none needs what another does: neither its answer nor its item. They may be under way side by side; their
 * events are in this order all the same. The answer is theirs, in order.
 */
export interface Together<P> {
  readonly together: readonly P[]
  /** Called with the index of the write that has failed, before its failure is thrown. */
  readonly onFailure: (index: number) => void
}

/** Runs a step within the transaction. Rejects or throws with an `ApiError`; what it did is then undone, and only that. */
export type RunStep<P> = (step: P) => Awaitable<StepAnswer>

/**
 * An asynchronous function whose steps belong to the transaction. It waits for nothing else: on SQLite, all of it is
 * over within one turn of the event loop.
 */
export interface Act<P> {
  /** For messages, and for what is known of the tables that it needs, e.g. `actions.archive`. */
  readonly act: string
  /** It is called once for each try of the transaction. */
  readonly start: (run: RunStep<ActStep<P>>) => Promise<unknown>
  /** Runs work, and then the microtasks that it leaves. Throws where they take too long. */
  readonly turn: (work: () => void) => void
  /** How long it may take, in milliseconds. */
  readonly limitMs: number
  /** How many steps it may have. */
  readonly maxSteps: number
}

/** An event of a declared type, besides those of changes. Its answer is `true`. */
export interface Emission {
  readonly emit: string
  readonly collection: string
  readonly itemId: number
  /** The item as JSON text, as events log it. */
  readonly row: string
  readonly values: Readonly<Record<string, JsonValue>>
  readonly by: Principal
}

/** `P`: a plan, or a guarded one. */
export type Steps<P> = P | RecordChange | Together<P> | Act<P> | Emission

/** What an `Act` asks for. */
export type ActStep<P> = P | RecordChange | Emission

export type StepAnswer = ReadAnswer | CompositeAnswer | WriteAnswer | readonly WriteAnswer[] | boolean

export interface Acts {
  readonly names: readonly string[]
  /** How often the transaction is tried where it is in the way of others; then it fails with CONFLICT. */
  readonly tries: number
  /** How long one of them may take, in milliseconds: the reads beside them may as well. */
  readonly limitMs: number
}

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
   * The `act`s among its steps, where it has any: which collections they read and write is known only when they do. The
   * transaction has one place in the order of all commits.
   */
  readonly acts?: Acts
  /**
   * Makes the generator; called again when the transaction is tried again. It awaits nothing and has no effect but by
   * what it yields. A step that fails is thrown where it was yielded; the program must let it through.
   */
  readonly steps: () => Generator<Steps<P>, T, StepAnswer>
}

export type ProgramPlan = Plan<ReadShape> | Plan<CompositeShape> | Plan<WriteShape>

/** A plan of another principal than the program's. */
export interface PlanAs {
  readonly as: Principal
  readonly plan: ProgramPlan
}

/** What a program of a transport yields. */
export type ProgramStep = Steps<ProgramPlan | PlanAs>

export type ProgramSteps<T> = Generator<ProgramStep, T, StepAnswer>

/** What transports write: plans of one principal. */
export interface Program<T> extends ProgramOf<ProgramPlan | PlanAs, T> {
  readonly principal: Principal
}

/** What the store runs. */
export type GuardedProgram<T> = ProgramOf<GuardedRead | GuardedCompositeRead | GuardedWrite, T>
