/** The end of a service. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Cluster } from '../cluster/cluster.ts'
import type { HttpServer } from '../http.ts'
import type { Log } from '../log.ts'
import type { Store } from '../store/store.ts'
import type { Traces } from '../traces.ts'
import type { GraphqlFace } from './graphql.ts'
import type { OauthFace } from './oauth.ts'

/** Whether the service serves yet, and still. */
export interface State {
  starting: boolean
  closing: boolean
}

export interface Running {
  readonly http: HttpServer
  readonly graphql: GraphqlFace
  readonly oauth: OauthFace
  readonly store: Store
  readonly cluster: Cluster
  /** What was slow is stored at the end. */
  readonly slow: { close(): Promise<void> } | undefined
  readonly log: Log
  readonly traces: Traces | undefined
  readonly state: State
  /** Seconds between the moment when `/readyz` says so and the stop. */
  readonly delay: number
}

/** What ends it, once. */
export function closer({
  http,
  graphql,
  oauth,
  store,
  cluster,
  slow,
  log,
  traces,
  state,
  delay,
}: Running): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = async () => {
    state.closing = true
    if (delay > 0) {
      http.drain()
      await wait(delay * 1000)
    }
    graphql.close()
    await http.close()
    await oauth.idle()
    await slow?.close()
    await cluster.close()
    await store.close()
    await traces?.close()
    log.flush()
  }
  return () => (closed ??= close())
}
