/** What reactions and jobs are given beside their event or input. */

import type { LogicFetch, RunTools } from '../../model/types/run.ts'
import { OutgoingError } from '../../outgoing/errors.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'
import type { ActionData } from '../data.ts'

/** Common to reactions and jobs. */
export interface RunContext extends RunTools {
  /** As the service itself, whom no rule binds; `asSystem` is the same. */
  readonly data: ActionData
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
