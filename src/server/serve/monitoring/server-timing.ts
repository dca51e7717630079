/**
 * `Server-Timing` (https://www.w3.org/TR/server-timing/): the time in the database for a request, and what its slowest
 * list scanned. For development only, since it reveals internals.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Reply } from '../../../base/call.ts'
import type { Store } from '../../../engine/store/store.ts'
import type { PlanRunner } from '../store.ts'

/** The durations of a request's reads, and the description of the longest. */
interface Timing {
  durationMs: number
  longestMs: number
  description: string | undefined
}

export interface ServerTiming {
  /** The store with its reads timed per request. */
  store(store: PlanRunner): PlanRunner
  /** Adds the header to the reply. */
  reply(answer: () => Awaitable<Reply>): Awaitable<Reply>
}

/** `insight`: that of the timed store. */
export function serverTiming(insight: Store['queries']): ServerTiming {
  const requests = new AsyncLocalStorage<Timing>()

  const timed = <P extends Parameters<PlanRunner['read']>[0] | Parameters<PlanRunner['composite']>[0], T>(
    plan: P,
    read: (plan: P) => Awaitable<T>,
  ): Awaitable<T> => {
    const timing = requests.getStore()
    if (timing === undefined) return read(plan)
    const start = performance.now()
    return then(read(plan), answer => {
      const durationMs = performance.now() - start
      timing.durationMs += durationMs
      if (durationMs < timing.longestMs) return answer
      timing.longestMs = durationMs
      return then(insight?.describe(plan), description => {
        timing.description = description ?? timing.description
        return answer
      })
    })
  }

  return {
    store: store => ({
      read: plan => timed(plan, timedPlan => store.read(timedPlan)),
      composite: plan => timed(plan, timedPlan => store.composite(timedPlan)),
      write: plan => store.write(plan),
      transaction: program => store.transaction(program),
    }),
    reply(answer) {
      const timing: Timing = { durationMs: 0, longestMs: 0, description: undefined }
      return requests.run(timing, () => then(answer(), reply => withHeader(reply, timing)))
    },
  }
}

function withHeader(reply: Reply, { durationMs, description }: Timing): Reply {
  // The precomputed header block does not have this header.
  const { cachedHead: _cachedHead, ...rest } = reply
  const descriptionPart =
    description === undefined ? '' : `;desc="${description.replaceAll(/[^ !#-[\]-~]/g, '')}"`
  const value = `db;dur=${Math.round(durationMs * 100) / 100}${descriptionPart}`
  return { ...rest, headers: [...reply.headers, 'Server-Timing', value] }
}
