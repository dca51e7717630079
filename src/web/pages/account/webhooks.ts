/** A user's webhooks: the list, a webhook with its deliveries, and the confirmation before one is deleted. */

import type { EpochMs } from '../../../base/epoch-ms.ts'
import { type Html, html, type Part, type Text } from '../../../base/html.ts'
import { t, translated } from '../../../identity/mail/page-texts.ts'
import { duration } from '../components/duration.ts'
import { button, type FormFaults, form } from '../components/form.ts'
import { confirmPage, copied, linkButton, ownHeading } from '../components/parts.ts'
import { time } from '../components/time.ts'
import type { Menu, Page } from '../frame/layout.ts'
import { note } from './account.ts'

export interface ShownWebhook {
  readonly id: number
  readonly url: string
  readonly description: string | null
  readonly types: readonly string[]
  /** Null: all. */
  readonly collections: readonly string[] | null
  readonly enabled: boolean
  /** Undefined: it is not paused. */
  readonly pausedAt: EpochMs | undefined
  readonly pauseReason: string | null
  readonly createdAt: number
  /** Whether it belongs to an app, and sends events of the app's users. */
  readonly ofApp: boolean
}

const path = '/account/webhooks'

function state({ enabled, pausedAt }: ShownWebhook): Html {
  if (!enabled) return html`<span class="state">${t('Off')}</span>`
  return pausedAt === undefined
    ? html`<span class="state good">${t('Sending')}</span>`
    : html`<span class="state bad">${t('Paused')}</span>`
}

function eventsOf({ types, collections }: ShownWebhook): Part {
  const eventTypes = types.includes('*') ? t('Everything') : types.join(', ')
  if (collections === null) return eventTypes
  return t('{events}, of {collections}', { events: eventTypes, collections: collections.join(', ') })
}

/** Only the host is shown as a title: addresses can be long. */
function hostOf({ url }: ShownWebhook): string {
  return URL.canParse(url) ? new URL(url).host : url.slice(0, 100)
}

function facts(webhook: ShownWebhook): Html {
  const { url, description, pausedAt, pauseReason, createdAt, ofApp } = webhook
  return html`<dl><dt>${t('Address')}</dt><dd><code>${url}</code></dd>
${description !== null && description !== '' && html`<dt>${t('For')}</dt><dd><bdi>${description}</bdi></dd>`}
<dt>${t('Events')}</dt><dd>${eventsOf(webhook)}</dd>
${ofApp && html`<dt>${t('As')}</dt><dd>${t('An app of yours: it receives what each of its users may see')}</dd>`}
${pausedAt !== undefined && html`<dt>${t('Paused')}</dt><dd>${time(pausedAt)}${pauseReason !== null && html`<br>${pauseReason}`}</dd>`}
<dt>${t('Created')}</dt><dd>${time(createdAt)}</dd></dl>`
}

export interface WebhooksPage {
  readonly menu: Menu
  readonly webhooks: readonly ShownWebhook[]
  /** Whether there are more than these. */
  readonly hasMore: boolean
  readonly note: Text | undefined
}

function card(webhook: ShownWebhook): Html {
  const { id } = webhook
  return html`<section class="card" aria-labelledby="webhook-${id}">
<h2 id="webhook-${id}"><a href="${path}/${id}"><bdi>${hostOf(webhook)}</bdi></a> ${state(webhook)}</h2>
${facts(webhook)}</section>`
}

export function webhooksPage({ menu, webhooks, hasMore, note: noteText }: WebhooksPage): Page {
  const intro = t(
    'A webhook sends events to an address of yours as they happen: signed, in order, and again until they arrive. [How to receive them](/docs)',
  )
  const content = html`${ownHeading(t('Webhooks'), noteText, linkButton(`${path}/new`, t('Add a webhook')), intro)}
${webhooks.length === 0 && html`<p class="empty">${t('You have no webhooks.')}</p>`}
${webhooks.map(card)}
${hasMore && html`<p class="faint">${t('These are the newest. `{request}` lists all.', { request: 'GET /api/v1/webhooks' })}</p>`}`
  return { title: t('Webhooks'), content, menu }
}

export interface ShownDelivery {
  readonly id: number
  readonly type: string
  readonly status: 'pending' | 'succeeded' | 'failed' | 'dropped'
  readonly attempt: number
  readonly responseStatus: number | null
  readonly durationMs: number | null
  readonly excerpt: string | null
  readonly error: string | null
  readonly createdAt: EpochMs
  /** The time of the next attempt. */
  readonly dueAt: number | undefined
  /** Whether it delivers an event, which can be sent again, and not a test. */
  readonly isEvent: boolean
}

export interface WebhookPage {
  readonly menu: Menu
  readonly webhook: ShownWebhook
  /** The newest first. */
  readonly deliveries: readonly ShownDelivery[]
  /** The new secret, which is shown this once. */
  readonly revealed: string | undefined
  /** How long a secret signs together with the one that replaces it, in seconds. */
  readonly overlapSeconds: number
  readonly note: Text | undefined
  readonly faults: FormFaults
}

function actionForm(
  { menu, webhook }: WebhookPage,
  change: string,
  label: Text,
  parameters: Readonly<Record<string, string>> = {},
): Html {
  const hidden = { change, ...parameters }
  return form({ action: `${path}/${webhook.id}`, csrf: menu.csrf, hidden }, button(label, 'plain'))
}

const outcomes = {
  pending: t('Waiting'),
  succeeded: t('Delivered'),
  failed: t('Failed'),
  dropped: t('Not sent: you can no longer see it'),
}

function delivery(page: WebhookPage, shown: ShownDelivery): Html {
  const { id, type, status, attempt, responseStatus, durationMs, excerpt, error, createdAt, dueAt } = shown
  const isBad = status === 'failed' || (status === 'pending' && attempt > 0)
  const canRedeliver = shown.isEvent && page.webhook.enabled && page.webhook.pausedAt === undefined
  return html`<section class="card" aria-labelledby="delivery-${id}">
<div class="heading"><h3 id="delivery-${id}"><code>${type}</code> <span class="state${isBad && ' bad'}${status === 'succeeded' && ' good'}">${outcomes[status]}</span></h3>
${canRedeliver && actionForm(page, 'redeliver', t('Send again'), { delivery: String(id) })}</div>
<dl><dt>${t('Queued')}</dt><dd>${time(createdAt)}</dd>
<dt>${t('Attempts')}</dt><dd>${attempt}</dd>
${responseStatus !== null && html`<dt>${t('Response')}</dt><dd>${durationMs === null ? responseStatus : t('{status} after {duration} ms', { status: responseStatus, duration: durationMs })}</dd>`}
${error !== null && html`<dt>${t('Error')}</dt><dd>${error}</dd>`}
${status === 'pending' && dueAt !== undefined && html`<dt>${t('Next attempt')}</dt><dd>${time(dueAt)}</dd>`}</dl>
${excerpt !== null && excerpt !== '' && html`<details><summary>${t('Response body')}</summary><pre class="excerpt" tabindex="0" dir="auto">${excerpt}</pre></details>`}
</section>`
}

function actions(page: WebhookPage): Html {
  const { webhook } = page
  const { id, enabled, pausedAt } = webhook
  return html`<div class="buttons">
${enabled && pausedAt !== undefined && actionForm(page, 'enable', t('Resume sending'))}
${actionForm(page, 'test', t('Send a test'))}
${actionForm(page, enabled ? 'off' : 'on', enabled ? t('Turn off') : t('Turn on'))}
${linkButton(`${path}/${id}/edit`, t('Edit'), 'plain')}
${linkButton(`${path}/${id}/delete`, t('Delete'), 'danger')}</div>`
}

function secretSection(page: WebhookPage): Html {
  const { overlapSeconds } = page
  const overlap =
    overlapSeconds === 0
      ? t('Only the new one signs from then on.')
      : t('For {duration} the old one signs too: change it at the receiver within that time.', {
          duration: duration(overlapSeconds),
        })
  return html`<section aria-labelledby="secret-heading"><h2 id="secret-heading">${t('Signing secret')}</h2>
<p>${t('The signature proves to the receiver that a delivery comes from here. A new secret is shown once.')} ${overlap}</p>
${actionForm(page, 'rotate', t('New secret'))}</section>`
}

export function webhookPage(page: WebhookPage): Page {
  const { menu, webhook, deliveries, revealed, faults } = page
  const fault = faults.get('form')
  const content = html`<h1><bdi>${hostOf(webhook)}</bdi> ${state(webhook)}</h1>
${note(page.note)}
${fault !== undefined && html`<div class="summary" role="alert"><p>${translated(fault)}</p></div>`}
${
  revealed !== undefined &&
  html`<p class="note" role="status">${t('Copy the signing secret now: it is shown only this once. If you lose it, create a new one.')}</p>
${copied('secret', t('Signing secret'), revealed)}`
}
<div class="card">${facts(webhook)}</div>
${actions(page)}
${secretSection(page)}
<section aria-labelledby="deliveries"><h2 id="deliveries">${t('Last deliveries')}</h2>
${deliveries.length === 0 && html`<p class="empty">${t('Nothing has been sent yet.')}</p>`}
${deliveries.map(shown => delivery(page, shown))}</section>`
  return { title: t('Webhook'), content, menu, script: true, faulty: faults.size > 0 }
}

export function deleteWebhookPage(menu: Menu, { id, url }: ShownWebhook): Page {
  const content = html`<p>${t('`{url}` gets no more events, not even those that are waiting, and the record of its deliveries is deleted. This cannot be undone. To stop for a while, turn it off instead.', { url })}</p>`
  return confirmPage({
    menu,
    content,
    title: t('Delete this webhook?'),
    name: t('Delete a webhook'),
    action: `${path}/${id}/delete`,
    label: t('Delete the webhook'),
    back: `${path}/${id}`,
  })
}
