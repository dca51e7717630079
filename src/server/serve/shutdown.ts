/** The shutdown of a service. */
import { setTimeout as wait } from 'node:timers/promises'
import type { AccountDeletions } from '../../delivery/deletions/accounts.ts'
import type { Cluster } from '../../engine/cluster/cluster.ts'
import type { Store } from '../../engine/store/store.ts'
import type { HttpServer } from '../http/http.ts'
import type { Log } from '../observability/log.ts'
import type { Traces } from '../observability/traces.ts'
import type { RunningReactions } from './background/reactions.ts'
import type { RunningSender } from './background/webhook-sender.ts'
import type { RunningFiles } from './files.ts'
import type { LazyOauth } from './oauth/oauth.ts'
import type { OpenRoutes } from './transports/routes.ts'

/** Whether the service is starting or closing. */
export interface State {
  starting: boolean
  closing: boolean
}

export interface RunningParts {
  readonly http: HttpServer
  readonly endStreams: () => void
  readonly oauth: LazyOauth
  readonly webhooks: Pick<RunningSender, 'close'>
  readonly reactions: Pick<RunningReactions, 'close'>
  readonly deletions: Pick<AccountDeletions, 'close'>
  readonly routes: Pick<OpenRoutes, 'close'>
  readonly files: Pick<RunningFiles, 'close'> | undefined
  /** Resolves once the last uses of keys, sessions and apps are stored. */
  readonly lastUses: { settled(): Promise<void> }
  readonly store: Store
  readonly cluster: Cluster
  /** Stores the remaining slow lists. */
  readonly slowLists: { close(): Promise<void> } | undefined
  readonly log: Log
  readonly traces: Traces | undefined
  readonly state: State
  /** How long the service keeps serving while `/readyz` already answers 503. */
  readonly delaySeconds: number
}

/** Runs all steps in order, even if one fails. Rejects with the first failure. */
export async function closeAll(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Waits for all promises, then rejects with the first failure. */
async function waitForAll(closing: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(closing)
  await Promise.all(closing)
}

/** Otherwise the process would end in the middle: what a shutdown waits for are timers that keep no process running. */
async function keepRunning(closing: Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, 60_000)
  await closing.finally(() => clearInterval(timer))
}

/** Returns the function that closes the service. Further calls return the same promise. */
export function shutdown({
  http,
  endStreams,
  oauth,
  webhooks,
  reactions,
  deletions,
  routes,
  files,
  lastUses,
  store,
  cluster,
  slowLists,
  log,
  traces,
  state,
  delaySeconds,
}: RunningParts): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    if (delaySeconds > 0) {
      http.drain()
      await wait(delaySeconds * 1000)
    }
    endStreams()
    await closeAll([
      () => waitForAll([http.close(), webhooks.close(), reactions.close(), deletions.close()]),
      () => routes.close(),
      () => files?.close(),
      () => oauth.idle(),
      () => slowLists?.close(),
      () => lastUses.settled(),
      () => cluster.close(),
      () => store.close(),
      () => traces?.close(),
      () => log.flush(),
    ])
  }
  return () => (closed ??= keepRunning(close()))
}
