/** Opens a subscription, for every transport: counts it, and connects it to the log of changes. */

import type { Principal } from '../../../base/principal.ts'
import { releaseOnce } from '../../../base/quota.ts'
import type { Hub, Subscription } from '../../events/hub.ts'
import type { ReplySink, SubscriptionRequest } from '../../events/subscriber.ts'
import type { BoundOperation, Engine, OnFault } from '../engine.ts'
import type { SubscriptionQuota } from '../limits/subscription-quota.ts'
import type { GraphqlMetrics } from '../metrics.ts'
import { engineFailure } from '../request-error.ts'

export interface SubscriptionParts {
  readonly engine: Engine
  readonly hub: Hub
  readonly quota: SubscriptionQuota
  readonly metrics: GraphqlMetrics
  readonly onFault: OnFault
}

/** Throws the error with which the subscription is refused. */
export async function openSubscription(
  { engine, hub, quota, metrics, onFault }: SubscriptionParts,
  bound: BoundOperation,
  principal: Principal,
  sink: ReplySink,
): Promise<Subscription> {
  const releaseQuota = quota.take(principal, bound)
  metrics.subscriptions++
  const release = releaseOnce(() => {
    releaseQuota()
    metrics.subscriptions--
  })
  try {
    const countingSink: ReplySink = {
      next(reply, event) {
        metrics.events++
        sink.next(reply, event)
      },
      keptUp: () => sink.keptUp?.(),
      end(error) {
        release()
        sink.end(error)
      },
    }
    const { after } = bound
    const subscription = await hub.subscribe(requestOf(engine, bound, onFault), principal, countingSink, {
      after,
    })
    return {
      get position() {
        return subscription.position
      },
      changePrincipal: newPrincipal => subscription.changePrincipal(newPrincipal),
      close() {
        release()
        subscription.close()
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

function requestOf(engine: Engine, bound: BoundOperation, onFault: OnFault): SubscriptionRequest {
  if (!bound.retained) throw new TypeError('only a subscription can be opened')
  return {
    key: bound.retained.key,
    rendererFor(principal) {
      const renderer = engine.subscribe(bound, principal, onFault)
      if ('outcome' in renderer) throw engineFailure(renderer)
      return renderer
    },
  }
}
