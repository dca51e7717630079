/** Events as server-sent events. */
import type { Reply } from '../../call.ts'
import type { ConnectedClient } from '../../events/credential-monitor.ts'
import { EventStream } from '../../events/event-stream.ts'
import type { Subscription } from '../../events/hub.ts'
import { once } from '../../events/quota.ts'
import type { SubscriptionRequest } from '../../events/subscriber.ts'
import { then } from '../../plan/answer.ts'
import type { Principal } from '../../principal.ts'
import type { EventClient, EventsParts } from './events.ts'
import { isResync, positionBlock, resyncBlock } from './form.ts'

/** A comment: nothing is left to be said. */
const lastBlock = ':\n\n'

/**
 * Opens a stream of the events after `after`, or of those from now on. Throws RATE_LIMITED where too many connections of
 * the caller are open, and what `hub.subscribe` throws; an id that cannot be resumed from ends the stream instead.
 */
export async function streamEvents(
  parts: EventsParts,
  request: SubscriptionRequest,
  principal: Principal,
  client: EventClient,
  after: number | undefined,
): Promise<Reply> {
  const { hub, credentials, connectionQuota } = parts.events
  const releaseConnection = connectionQuota.take(principal)
  let subscription: Subscription | undefined
  let isOver = false
  let told = 0
  const over = once(() => {
    isOver = true
    releaseConnection()
    credentials.remove(connected)
    subscription?.close()
  })
  const passed = () => {
    const position = subscription?.position ?? 0
    if (position <= told) return lastBlock
    told = position
    return positionBlock(position)
  }
  const stream = new EventStream(parts.maxBufferedBytes, over, passed)
  const end = async (error: unknown) => {
    over()
    stream.end(
      isResync(error) ? resyncBlock(error, await then(parts.feed.bounds(), ({ drawn }) => drawn)) : lastBlock,
    )
  }
  const ended = (error: unknown) => void end(error).catch(() => stream.end(lastBlock))
  const connected: ConnectedClient & { principal: Principal } = {
    credential: client.credential,
    address: client.address,
    principal,
    changePrincipal(changed) {
      connected.principal = changed
      subscription?.changePrincipal(changed)
    },
    disconnect: ended,
  }
  const sink = {
    next(block: string, event: number) {
      told = event
      stream.send(block)
    },
    keptUp: () => stream.keptUp(),
    end: ended,
  }
  try {
    subscription = await hub.subscribe(request, principal, sink, { after })
  } catch (error) {
    await end(error)
    if (!isResync(error)) throw error
    return stream.reply
  }
  if (isOver) subscription.close()
  else credentials.add(connected)
  stream.send(passed())
  return stream.reply
}
