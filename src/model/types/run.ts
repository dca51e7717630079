/** The tools of reactions and jobs, in addition to their event or input. */

import type { ActionDeclaration, JobDeclaration } from '../logic/logic.ts'
import type { SentIn } from './sent.ts'

export interface LogicMessage {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

export interface LogicMail {
  /** Rejects if the mail server refuses the message. */
  send(message: LogicMessage): Promise<void>
}

/** Lines carry the name of the reaction or job. */
export interface LogicLog {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

export interface FetchOptions {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/**
 * Sends a request to another service. Redirects are not followed, and private addresses are refused unless `reactions.allowPrivate`
 * is set. Rejects with an `OutgoingError`; any status is a response.
 */
export type LogicFetch = (url: string | URL, options?: FetchOptions) => Promise<Response>

/** What an earlier part of the logic declares, by name. */
export interface AnyEarlier {
  readonly jobs: Readonly<Record<string, Pick<JobDeclaration, 'kind'>>>
  readonly actions: Readonly<Record<string, Pick<ActionDeclaration, 'kind'>>>
}

/** The jobs and actions of an earlier part of the logic; any where it has none. */
export interface EarlierOf<L> {
  readonly jobs: L extends { readonly jobs: infer J } ? J : AnyEarlier['jobs']
  readonly actions: L extends { readonly actions: infer A } ? A : AnyEarlier['actions']
}

type InputOf<J> = J extends JobDeclaration<infer In> ? SentIn<In> : never
/** The last argument of a call with this input. */
export type InputArgument<Input> = [keyof Input] extends [never]
  ? [input?: Record<string, never>]
  : Record<never, never> extends Input
    ? [input?: Input]
    : [input: Input]

/**
 * Schedules a job, in the same transaction as its caller. Throws for an unknown job, time or input. The compiler knows the
 * jobs of an earlier part of the model's logic, but not those of the same part.
 */
export type Later<Jobs = AnyEarlier['jobs']> = string extends keyof Jobs
  ? (at: string | Date, name: string, input?: object) => void
  : <const N extends keyof Jobs & string>(
      at: string | Date,
      name: N,
      ...input: InputArgument<InputOf<Jobs[N]>>
    ) => void

/** Common to reactions and jobs. */
export interface RunTools<Jobs = AnyEarlier['jobs']> {
  readonly mail: LogicMail
  readonly fetch: LogicFetch
  readonly log: LogicLog
  /** Aborted when the run takes too long, or the node stops. */
  readonly signal: AbortSignal
  /** The same for every attempt, for services that support idempotency keys. */
  readonly idempotencyKey: string
  /** 1 for the first. */
  readonly attempt: number
  readonly later: Later<Jobs>
  /** Emits an event of a type that an action declares. It commits by itself. */
  emit(type: string, item: { readonly id: number }, values?: object): Promise<void>
  /** ISO 8601 UTC. */
  readonly now: string
}
