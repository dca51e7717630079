/** Runs the webhook sender in a service. */

import { createEventViews } from '../../../api/events/show-event.ts'
import type { Records } from '../../../base/records.ts'
import { systemClock } from '../../../delivery/consumer/timetable.ts'
import { Outgoing } from '../../../delivery/outgoing/outgoing.ts'
import type { Webhook } from '../../../delivery/webhooks/delivery.ts'
import type { PauseReason } from '../../../delivery/webhooks/owners.ts'
import { type SenderParts, WebhookSender } from '../../../delivery/webhooks/sender.ts'
import { eventType, typeOf } from '../../../engine/log/event-types.ts'
import type { LoggedChange } from '../../../engine/plan/change-feed.ts'
import type { Run } from '../../../engine/plan/run.ts'
import type { Store } from '../../../engine/store/store.ts'
import { createAddresses } from '../../../identity/accounts/addresses/addresses.ts'
import { findUser } from '../../../identity/accounts/users.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import type { WebhookGrants } from '../../../identity/webhooks/grants.ts'
import { WebhookPrincipals } from '../../../identity/webhooks/principals.ts'
import { WebhookSecrets } from '../../../identity/webhooks/secrets.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import type { Logger } from '../../observability/log.ts'
import type { FaultLog } from '../monitoring/fault-log.ts'

interface WebhookSenderParts {
  readonly model: Model
  readonly store: Store
  /** The records, with their secrets decrypted. */
  readonly records: Records
  readonly run: Run
  readonly grants: WebhookGrants
  readonly mail: Mailer
  readonly settings: Settings
  readonly logger: Logger
  readonly faults: Pick<FaultLog, 'report'>
  /** The address of the service. */
  readonly issuer: () => string
}

export interface RunningSender {
  readonly sender: WebhookSender
  start(): void
  /** Stops it, so that another node can take over. */
  close(): Promise<void>
}

const userAgent = 'Portico-Webhooks/1.0'
const maxConnectionsPerHost = 8

export function openWebhookSender(parts: WebhookSenderParts): RunningSender {
  const { settings } = parts
  const allowPrivate = settings['webhooks.allowPrivate']
  const outgoing = new Outgoing({ allowPrivate, maxConnectionsPerHost })
  const sender = new WebhookSender({ ...senderParts(parts), outgoing })
  return {
    sender,
    start: () => sender.start(),
    async close() {
      await sender.stop()
      await outgoing.close()
    },
  }
}

function senderParts(parts: WebhookSenderParts): Omit<SenderParts, 'outgoing'> {
  const { model, store, records, run, grants, settings, logger, faults } = parts
  const views = createEventViews(model, run, settings.maxAnswer)
  const principals = new WebhookPrincipals({ run, records, grants })
  const secrets = new WebhookSecrets(records, settings.secretOverlap / 1000)
  const notifyPaused = pauseNotices(parts)
  return {
    run,
    records: store.records,
    log: store.changes,
    show: (change, principal) => views.show(change, principal),
    possibleTypes: change => possibleTypes(model, change),
    owners: {
      usersOf: webhook => principals.usersOf(webhook),
      principalOf: (webhook, userId) => principals.principalOf(webhook, userId),
      secretsOf: ({ id }) => secrets.current(id),
    },
    userAgent,
    clock: systemClock,
    elapsed: () => performance.now(),
    random: Math.random,
    version: () => store.version('webhooks'),
    hold: event => store.changes.hold('webhooks', event),
    onPaused: (webhook, reason) => {
      logger.warn({ webhook_id: webhook.id, user_id: webhook.userId, reason }, 'a webhook was paused')
      notifyPaused(webhook, reason)
    },
    onGap: ({ id }, from, to) =>
      logger.warn({ webhook_id: id, from, to }, 'events were pruned before they were sent to a webhook'),
    onFault: error => faults.report(error, 'the sending of webhooks failed'),
  }
}

/** The event types that a change can have: an update is a deletion to listeners that may no longer read the item. */
function possibleTypes(model: Model, change: LoggedChange): readonly string[] {
  const collection = model.collections.get(change.collection)
  if (collection === undefined) return []
  const type = typeOf(change, collection)
  return change.kind === 'updated' ? [type, eventType(collection, 'deleted')] : [type]
}

/** Sends a mail to the owner; failures are logged. */
function pauseNotices({ run, records, mail, issuer, logger }: WebhookSenderParts) {
  const addresses = createAddresses(records)
  const send = async ({ id, userId, url }: Webhook, reason: PauseReason) => {
    const owner = await findUser(run, userId)
    // The owner chose the host, so it must not be mailed to an address that may be somebody else's.
    if (owner === undefined || (await addresses.isUnproven(userId))) return
    const webhookLink = `${issuer()}/account/webhooks/${id}`
    const enableLink = `${issuer()}/api/v1/webhooks/${id}/enable`
    const values = { webhook: id, host: new URL(url).host, reason, webhookLink, enableLink }
    await mail.sendTemplate('webhookPaused', { to: owner.email, userId }, values)
  }
  return (webhook: Webhook, reason: PauseReason) =>
    void send(webhook, reason).catch(error =>
      logger.error({ err: error }, 'the notice of a paused webhook failed'),
    )
}
