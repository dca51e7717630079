/**
 * Replies as server-sent events: graphql-sse's distinct connections mode
 * (https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md).
 */
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { releaseOnce } from '../../../base/quota.ts'
import type { ConnectedClient, CredentialMonitor } from '../../events/credential-monitor.ts'
import type { EventReply } from '../../events/event-reply.ts'
import { EventStream, eventStreamHeaders } from '../../events/event-stream.ts'
import type { Subscription } from '../../events/hub.ts'
import type { ConnectionQuota } from '../../events/quota.ts'
import { eventNumber } from '../../events/resume.ts'
import type { BoundOperation } from '../engine.ts'
import { toRequestError } from '../request-error.ts'
import type { Account } from './operation.ts'
import { openSubscription, type SubscriptionParts } from './subscription.ts'

export interface StreamParts extends SubscriptionParts {
  readonly credentials: CredentialMonitor
  readonly connectionQuota: ConnectionQuota
  readonly maxBufferedBytes: number
}

export function nextEvent(text: string): string {
  return `event: next\ndata: ${text}\n\n`
}

/** `event`: the number of the event to which `chunk` is the reply. */
function nextParts({ chunk }: EventReply, event: number): readonly (string | Buffer)[] {
  const prefix = `id: ${event}\nevent: next\ndata: `
  return typeof chunk === 'string' ? [`${prefix}${chunk}\n\n`] : [prefix, chunk, '\n\n']
}

export const completeEvent = 'event: complete\ndata:\n\n'

/** A stream of one reply. */
export function singleEvent(text: string): Reply {
  return { status: 200, headers: eventStreamHeaders, body: nextEvent(text) + completeEvent }
}

/** An `EventSource` that reconnects sends the id of the last event that it received (HTML Living Standard, 9.2.3). */
function withResume({ headers }: Call, bound: BoundOperation): BoundOperation {
  const id = headers['last-event-id']
  if (id === undefined || id === '') return bound
  const after = eventNumber(String(id))
  if (after !== undefined) return { ...bound, after }
  throw new ApiError('BAD_REQUEST', '`Last-Event-ID` must be the `id` of an event of this stream.')
}

/** Opens a subscription whose replies are a stream. */
export async function streamSubscription(
  parts: StreamParts,
  call: Call,
  { principal, credential }: Account,
  bound: BoundOperation,
): Promise<Reply> {
  const { credentials, connectionQuota, metrics, maxBufferedBytes } = parts
  const releaseConnection = connectionQuota.take(principal)
  let subscription: Subscription | undefined
  let isEnded = false
  const cleanUp = releaseOnce(() => {
    isEnded = true
    releaseConnection()
    credentials.remove(client)
    subscription?.close()
  })
  const stream = new EventStream(maxBufferedBytes, tooSlow => {
    if (tooSlow) metrics.slowReaders++
    cleanUp()
  })
  const end = (error: unknown) => {
    cleanUp()
    stream.end(error === undefined ? completeEvent : nextEvent(toRequestError(error).text) + completeEvent)
  }
  const client: ConnectedClient & { principal: Principal } = {
    credential,
    address: call.address,
    principal,
    changePrincipal(newPrincipal) {
      client.principal = newPrincipal
      subscription?.changePrincipal(newPrincipal)
    },
    disconnect: end,
  }
  try {
    subscription = await openSubscription(parts, withResume(call, bound), principal, {
      next: (reply, event) => stream.send(...nextParts(reply, event)),
      keptUp: () => stream.keptUp(),
      end,
    })
  } catch (error) {
    end(undefined)
    throw error
  }
  if (isEnded) subscription.close()
  else credentials.add(client)
  return stream.reply
}
