/** The context of reactions, jobs and routes, besides their event, input or request. */

import type { ActionData, CallerActionFunctions, TransactionCode } from '../../engine/logic/data/data.ts'
import type { OnceResult } from '../../model/types/data.ts'
import type { LogicFetch, RunTools } from '../../model/types/run.ts'
import { OutgoingError } from '../outgoing/errors.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'

/** Common to reactions, jobs and routes. `data`: as the principal of the code. */
export interface CodeTools extends Omit<RunTools, 'idempotencyKey' | 'attempt'> {
  readonly data: ActionData
  readonly actions: CallerActionFunctions
  once(key: string, code: TransactionCode): Promise<OnceResult>
  once(code: TransactionCode): Promise<OnceResult>
}

/** Common to reactions and jobs. `data`: as the service itself, to which no rule applies. */
export type RunContext = CodeTools & Pick<RunTools, 'idempotencyKey' | 'attempt'>

const fetchTimeoutMs = 30_000
const maxResponseBytes = 10_485_760
/** Null body statuses (Fetch, 2.2.3). */
const nullBodyStatuses: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** `fetch` with the address checks and bounds of `outgoing`. */
export function fetchBy(outgoing: Pick<Outgoing, 'request'>, signal: AbortSignal): LogicFetch {
  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    if (body !== undefined && typeof body !== 'string') {
      throw new OutgoingError('url_refused', 'The body must be a string, e.g. `JSON.stringify(value)`.')
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
    const content = nullBodyStatuses.has(status) ? null : new Uint8Array(answer.body)
    return new Response(content, { status, headers: answer.headers })
  }
}
