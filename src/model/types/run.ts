/** What reactions and jobs are given beside their event or input. */

export interface LogicMessage {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
}

export interface LogicMail {
  /** Rejects where the mail server refuses the message. */
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
 * Asks another service. Redirects are not followed, and private addresses are refused unless `reactions.allowPrivate`
 * is set. Rejects with an `OutgoingError`; any status is a response.
 */
export type LogicFetch = (url: string | URL, options?: FetchOptions) => Promise<Response>

/**
 * Starts a job at a time, stored with whatever asks for it. The compiler does not see the jobs of the model from within
 * it: throws for an unknown job, time or input.
 */
export type Later = (at: string | Date, name: string, input?: object) => void

/** Common to reactions and jobs. */
export interface RunTools {
  readonly mail: LogicMail
  readonly fetch: LogicFetch
  readonly log: LogicLog
  /** Aborted when the run has taken too long, or the node stops. */
  readonly signal: AbortSignal
  /** The same for every attempt: for services that recognise a repeated request by it. */
  readonly idempotencyKey: string
  /** 1 for the first. */
  readonly attempt: number
  readonly later: Later
  /** ISO 8601 UTC. */
  readonly now: string
}
