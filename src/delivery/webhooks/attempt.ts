/** One attempt to send a delivery: the event as its owner may see it now, and the outcome. */

import { Cache, CacheBound } from '../../base/cache.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { isOutOfDescriptors } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { ChangeFeed, LoggedChange } from '../../engine/plan/change-feed.ts'
import { OutgoingError } from '../outgoing/errors.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import type { Delivery, Webhook } from './delivery.ts'
import { isSubscribed } from './directory.ts'
import { excerptOf, maxExcerptBytes } from './excerpt.ts'
import type { ShowEvent, WebhookOwners } from './owners.ts'
import { parseRetryAfter } from './schedule.ts'
import { signatureHeaders } from './signature.ts'

/** From the DNS lookup to the end of the response. */
const timeoutMs = 15_000

/** The outcome of an attempt. */
export type DeliveryOutcome = Answered | Unanswered | Dropped

/** `error`: why the attempt failed, as a sentence for the owner; null for a success. */
interface Answered {
  readonly kind: 'answered'
  readonly status: number
  readonly durationMs: number
  readonly excerpt: string
  readonly retryAfterMs: number | undefined
  readonly error: string | null
}

interface Unanswered {
  readonly kind: 'unanswered'
  readonly durationMs: number
  readonly error: string
}

/** Nothing was sent, and nothing will be. */
interface Dropped {
  readonly kind: 'dropped'
  readonly error: string
}

export interface DeliveryAttemptParts {
  readonly log: Pick<ChangeFeed, 'after'>
  readonly show: ShowEvent
  readonly owners: Pick<WebhookOwners, 'principalOf' | 'secretsOf'>
  readonly outgoing: Pick<Outgoing, 'request'>
  readonly userAgent: string
  readonly now: () => EpochMs
}

/** In characters of the rows. Changes are cached because one event goes to many webhooks. */
const maxCachedCharacters = 4_000_000

/** Returns a function that makes an attempt. It rejects only if the database or this machine fails. */
export function createAttempt(
  parts: DeliveryAttemptParts,
): (delivery: Delivery, webhook: Webhook, signal: AbortSignal) => Promise<DeliveryOutcome> {
  const buildBody = createBodyBuilder(parts)
  return async (delivery, webhook, signal) => {
    const body = await buildBody(delivery, webhook)
    if (typeof body !== 'string') return body
    const secrets = await parts.owners.secretsOf(webhook)
    if (secrets.length === 0) return noSecret
    return send(parts, { url: webhook.url, id: delivery.messageId, body, secrets, signal })
  }
}

const noSecret: DeliveryOutcome = {
  kind: 'unanswered',
  durationMs: 0,
  error: 'The webhook has no secret: rotate its secret.',
}

interface Message {
  readonly url: string
  readonly id: string
  readonly body: string
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}

async function send(
  { outgoing, userAgent, now }: DeliveryAttemptParts,
  message: Message,
): Promise<DeliveryOutcome> {
  const { url, id, body, secrets, signal } = message
  const timestamp = Math.floor(now() / 1000)
  const startedAt = performance.now()
  const elapsedMs = () => Math.round(performance.now() - startedAt)
  try {
    const response = await outgoing.request({
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        ...signatureHeaders({ id, timestamp, body }, secrets),
      },
      body,
      timeoutMs,
      maxBodyBytes: maxExcerptBytes,
      truncates: true,
      signal,
    })
    const { status } = response
    return {
      kind: 'answered',
      status,
      durationMs: elapsedMs(),
      excerpt: excerptOf(response.body),
      retryAfterMs: parseRetryAfter(response.headers['retry-after'], now()),
      error: describeFailure(status),
    }
  } catch (error) {
    // A lack of descriptors is no fault of the endpoint.
    if (!(error instanceof OutgoingError) || isOutOfDescriptors(error)) throw error
    return { kind: 'unanswered', durationMs: elapsedMs(), error: error.message }
  }
}

function describeFailure(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return `Answered with ${status}: redirects are not followed.`
  return `Answered with ${status}.`
}

const createDropped = (error: string): Dropped => ({ kind: 'dropped', error })

/** Builds the body of a delivery with its owner's present rights. */
function createBodyBuilder({ log, show, owners }: DeliveryAttemptParts) {
  const changes = new Cache<number, LoggedChange>(new CacheBound('webhook_events', maxCachedCharacters))
  const findChange = async (eventNumber: number): Promise<LoggedChange | undefined> => {
    const cached = changes.get(eventNumber)
    if (cached) return cached
    const [change] = await log.after(eventNumber - 1, 1)
    if (change?.event !== eventNumber) return undefined
    changes.set(eventNumber, change, change.row.length + (change.before?.length ?? 0))
    return change
  }
  return async (delivery: Delivery, webhook: Webhook): Promise<string | Dropped> => {
    const { event: eventNumber, userId } = delivery
    if (eventNumber === null) return testBody(delivery, webhook)
    const change = await findChange(eventNumber)
    if (change === undefined) return createDropped('The log no longer has the event.')
    const principal: Principal | undefined = await owners.principalOf(webhook, userId)
    if (principal === undefined) return createDropped('The access that created the webhook has ended.')
    const event = await show(change, principal)
    if (event === null || !isSubscribed(webhook, change.collection, event.type)) {
      return createDropped(
        'The recipient may no longer see the event, or the webhook no longer subscribes to it.',
      )
    }
    return userId === null ? event.text : `${event.text.slice(0, -1)},"user_id":${userId}}`
  }
}

function testBody({ messageId, type, createdAt }: Delivery, { id }: Webhook): string {
  return JSON.stringify({ id: messageId, type, created_at: createdAt, data: { webhook_id: id } })
}
