/** What reactions and jobs are given beside their event or input. */
import { OutgoingError } from '../../outgoing/errors.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'
import type { ActionData } from '../data.ts'

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

/** Common to reactions and jobs. */
export interface RunContext {
  /** As the service itself, whom no rule binds; `asSystem` is the same. */
  readonly data: ActionData
  readonly mail: LogicMail
  readonly fetch: LogicFetch
  readonly log: LogicLog
  /** Aborted when the run has taken too long, or the node stops. */
  readonly signal: AbortSignal
  /** The same for every attempt: for services that recognise a repeated request by it. */
  readonly idempotencyKey: string
  /** Starts a job, stored once this run has succeeded. Throws for an unknown job, time or input. */
  readonly later: (at: string | Date, name: string, input?: object) => void
  /** ISO 8601 UTC. */
  readonly now: string
}

const fetchTimeoutMs = 30_000
const maxResponseBytes = 10_485_760
/** Responses with these statuses have no body (Fetch, 2.2.3). */
const bodiless: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** `fetch` by way of the checks of `outgoing`. */
export function fetchBy(outgoing: Pick<Outgoing, 'request'>, signal: AbortSignal): LogicFetch {
  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    if (body !== undefined && typeof body !== 'string') {
      throw new OutgoingError('url_refused', 'A body must be a text, e.g. `JSON.stringify(value)`.')
    }
    const answer = await outgoing.request({
      url: String(url),
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs: fetchTimeoutMs,
      maxBodyBytes: maxResponseBytes,
      signal,
    })
    const { status } = answer
    const content = bodiless.has(status) ? null : new Uint8Array(answer.body)
    return new Response(content, { status, headers: answer.headers })
  }
}
