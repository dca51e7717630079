/** The shutdown of a service. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Cluster } from '../cluster/cluster.ts'
import type { HttpServer } from '../http.ts'
import type { Log } from '../observability/log.ts'
import type { Traces } from '../observability/traces.ts'
import type { Store } from '../store/store.ts'
import type { RunningReactions } from './background/reactions.ts'
import type { RunningSender } from './background/webhook-sender.ts'
import type { LazyOauth } from './oauth.ts'

/** The phase of a service's life. */
export interface State {
  starting: boolean
  closing: boolean
}

export interface Running {
  readonly http: HttpServer
  readonly endStreams: () => void
  readonly oauth: LazyOauth
  readonly webhooks: Pick<RunningSender, 'close'>
  readonly reactions: Pick<RunningReactions, 'close'>
  /** Stores the uses of keys, sessions and apps that are not stored yet. */
  readonly lastUses: { settled(): Promise<void> }
  readonly store: Store
  readonly cluster: Cluster
  /** Stores the slow lists that are not stored yet. */
  readonly slow: { close(): Promise<void> } | undefined
  readonly log: Log
  readonly traces: Traces | undefined
  readonly state: State
  /** How long the service goes on serving after `/readyz` says that it stops. */
  readonly delaySeconds: number
}

/** Ends the service; later calls wait for the same end. */
export function shutdown({
  http,
  endStreams,
  oauth,
  webhooks,
  reactions,
  lastUses,
  store,
  cluster,
  slow,
  log,
  traces,
  state,
  delaySeconds,
}: Running): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    if (delaySeconds > 0) {
      http.drain()
      await wait(delaySeconds * 1000)
    }
    endStreams()
    await Promise.all([http.close(), webhooks.close(), reactions.close()])
    await oauth.idle()
    await slow?.close()
    await lastUses.settled()
    await cluster.close()
    await store.close()
    await traces?.close()
    log.flush()
  }
  return () => (closed ??= close())
}
