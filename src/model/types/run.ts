/** The tools of reactions and jobs, in addition to their event or input. */

import type { JobDeclaration } from '../logic/logic.ts'
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

/** The jobs of a model, by name. */
export type AnyJobs = Readonly<Record<string, Pick<JobDeclaration, 'kind'>>>

/** The jobs of an earlier part of the logic; any if there are none. */
export type JobsOf<L> = L extends { readonly jobs: infer J } ? J : AnyJobs

type InputOf<J> = J extends JobDeclaration<infer In> ? SentIn<In> : never
type LaterInput<J> = [keyof InputOf<J>] extends [never]
  ? [input?: Record<string, never>]
  : Record<never, never> extends InputOf<J>
    ? [input?: InputOf<J>]
    : [input: InputOf<J>]

/**
 * Schedules a job, in the same transaction as its caller. Throws for an unknown job, time or input. The compiler knows the
 * jobs of an earlier part of the model's logic, but not those of the same part.
 */
export type Later<Jobs = AnyJobs> = string extends keyof Jobs
  ? (at: string | Date, name: string, input?: object) => void
  : <const N extends keyof Jobs & string>(at: string | Date, name: N, ...input: LaterInput<Jobs[N]>) => void

/** Common to reactions and jobs. */
export interface RunTools<Jobs = AnyJobs> {
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
  /** ISO 8601 UTC. */
  readonly now: string
}
