/** `/account/webhooks`: a user's webhooks and their deliveries. */
import { ApiError } from '../../../base/errors.ts'
import { orderById, reversed } from '../../../engine/plan/order.ts'
import { itemShape, listShape, where } from '../../../engine/plan/system-plans.ts'
import { faultsOf } from '../../../identity/accounts/self-service/own-items.ts'
import { sessionPrincipal } from '../../../identity/session-principal.ts'
import {
  deleteWebhookPage,
  type ShownDelivery,
  type ShownWebhook,
  webhookPage,
  webhooksPage,
} from '../../pages/account/webhooks.ts'
import { type FormFaults, noFaults } from '../../pages/components/form.ts'
import { noteOf } from '../account.ts'
import { type RouteParts, type RouteReply, redirect, type Viewer, type Visit } from '../context.ts'
import type { FormBody } from '../form-body.ts'
import { changeIn, ownItems, postedForm, showOnce, signInRedirect } from './self-service.ts'

const collection = 'webhooks'
const path = '/account/webhooks'
const fields = [
  'id',
  'app_id',
  'url',
  'types',
  'collections',
  'enabled',
  'description',
  'paused_at',
  'pause_reason',
  'created_at',
]
const webhooksOfUser = { ...listShape(collection, fields, where('user_id')), sort: reversed(orderById) }
const byId = itemShape(collection, fields)
const deliveryFields = [
  'id',
  'event_id',
  'type',
  'attempt',
  'status',
  'due_at',
  'response_status',
  'duration_ms',
  'response_excerpt',
  'error',
  'created_at',
]
const deliveriesOfWebhook = {
  ...listShape('webhook_deliveries', deliveryFields, where('webhook_id')),
  sort: reversed(orderById),
}

const webhookOfDelivery = itemShape('webhook_deliveries', ['webhook_id'])

const maxShown = 200
const maxDeliveriesShown = 20

export interface OwnWebhook {
  readonly id: number
  readonly app_id: number | null
  readonly url: string
  readonly types: readonly string[]
  readonly collections: readonly string[] | null
  readonly enabled: boolean
  readonly description: string | null
  readonly paused_at: string | null
  readonly pause_reason: string | null
  readonly created_at: string
}

interface OwnDelivery {
  readonly id: number
  readonly event_id: string | null
  readonly type: string
  readonly attempt: number
  readonly status: ShownDelivery['status']
  readonly due_at: string | null
  readonly response_status: number | null
  readonly duration_ms: number | null
  readonly response_excerpt: string | null
  readonly error: string | null
  readonly created_at: string
}

/** Throws NOT_FOUND for webhooks of other users, which no caller can read. */
export function webhookRow(parts: RouteParts, viewer: Viewer, id: number): Promise<OwnWebhook> {
  return ownItems(parts, viewer).item<OwnWebhook>(byId, id)
}

function timeOf(text: string | null): number | undefined {
  return text === null ? undefined : Date.parse(text)
}

function toShownWebhook(row: OwnWebhook): ShownWebhook {
  const { id, url, description, types, collections, enabled } = row
  return {
    ...{ id, url, description, types, collections, enabled },
    pausedAt: timeOf(row.paused_at),
    pauseReason: row.pause_reason,
    createdAt: Date.parse(row.created_at),
    ofApp: row.app_id !== null,
  }
}

function toShownDelivery(row: OwnDelivery): ShownDelivery {
  const { id, type, status, attempt, error } = row
  return {
    ...{ id, type, status, attempt, error },
    responseStatus: row.response_status,
    durationMs: row.duration_ms,
    excerpt: row.response_excerpt,
    createdAt: Date.parse(row.created_at),
    dueAt: timeOf(row.due_at),
    isEvent: row.event_id !== null,
  }
}

export async function webhooksRoute(parts: RouteParts, visit: Visit, viewer: Viewer): Promise<RouteReply> {
  const rows = await ownItems(parts, viewer).list<OwnWebhook>(webhooksOfUser, maxShown + 1, viewer.user.id)
  const page = webhooksPage({
    ...{ menu: viewer.menu, note: noteOf(visit), hasMore: rows.length > maxShown },
    webhooks: rows.slice(0, maxShown).map(toShownWebhook),
  })
  return { page }
}

async function show(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  row: OwnWebhook,
  faults: FormFaults,
): Promise<RouteReply> {
  const shownSecrets =
    visit.method === 'GET' ? await parts.shownOnce.take(viewer.session, visit.path) : undefined
  const rows = await ownItems(parts, viewer).list<OwnDelivery>(
    deliveriesOfWebhook,
    maxDeliveriesShown,
    row.id,
  )
  const page = webhookPage({
    ...{ menu: viewer.menu, webhook: toShownWebhook(row), faults },
    note: faults.size > 0 ? undefined : noteOf(visit),
    deliveries: rows.map(toShownDelivery),
    revealed: shownSecrets?.secret,
    overlapSeconds: parts.own.webhookOverlapSeconds,
  })
  return { page }
}

interface Target {
  readonly parts: RouteParts
  readonly visit: Visit
  readonly viewer: Viewer
  readonly row: OwnWebhook
}

type WebhookChange = (target: Target, form: FormBody) => Promise<RouteReply>

/** `note`: see `noteOf`. */
function done({ row }: Target, note: string): RouteReply {
  return redirect(`${path}/${row.id}?done=${note}`)
}

const rotate: WebhookChange = async ({ parts, visit, viewer, row }) => {
  const redirection = signInRedirect(parts, visit, viewer)
  if (redirection) return redirection
  const secret = await parts.own.webhooks.rotateSecret(row.id, sessionPrincipal(viewer.user))
  return showOnce(parts, viewer, `${path}/${row.id}`, { secret })
}

const enable: WebhookChange = async target => {
  const { parts, visit, viewer, row } = target
  const redirection = signInRedirect(parts, visit, viewer)
  if (redirection) return redirection
  await parts.own.webhooks.enable(row.id, sessionPrincipal(viewer.user))
  return done(target, 'webhook-enabled')
}

function setEnabled(enabled: boolean): WebhookChange {
  return async target => {
    const { parts, visit, viewer, row } = target
    const redirection = enabled ? signInRedirect(parts, visit, viewer) : undefined
    if (redirection) return redirection
    await ownItems(parts, viewer).update(collection, row.id, { enabled })
    return done(target, enabled ? 'webhook-on' : 'webhook-off')
  }
}

const test: WebhookChange = async target => {
  const { parts, viewer, row } = target
  await parts.own.webhooks.test(row.id, sessionPrincipal(viewer.user))
  return done(target, 'webhook-tested')
}

const redeliver: WebhookChange = async (target, form) => {
  const { parts, viewer, row } = target
  const delivery = form.text('delivery')
  if (!/^[1-9]\d{0,14}$/.test(delivery)) throw new ApiError('NOT_FOUND')
  const { webhook_id: webhookId } = await ownItems(parts, viewer).item<{ webhook_id: number }>(
    webhookOfDelivery,
    Number(delivery),
  )
  if (webhookId !== row.id) throw new ApiError('NOT_FOUND')
  await parts.own.webhooks.redeliver(row.id, Number(delivery), sessionPrincipal(viewer.user))
  return done(target, 'redelivered')
}

const changes: ReadonlyMap<string, WebhookChange> = new Map([
  ['rotate', rotate],
  ['enable', enable],
  ['on', setEnabled(true)],
  ['off', setEnabled(false)],
  ['test', test],
  ['redeliver', redeliver],
])

export async function webhookRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const row = await webhookRow(parts, viewer, id)
  if (visit.method !== 'POST') return show(parts, visit, viewer, row, noFaults)
  const form = postedForm(parts, visit)
  const change = changeIn(form, changes)
  try {
    return await change({ parts, visit, viewer, row }, form)
  } catch (error) {
    return show(
      parts,
      visit,
      viewer,
      row,
      faultsOf(error, () => undefined),
    )
  }
}

export async function deleteWebhookRoute(
  parts: RouteParts,
  visit: Visit,
  viewer: Viewer,
  id: number,
): Promise<RouteReply> {
  const webhook = toShownWebhook(await webhookRow(parts, viewer, id))
  if (visit.method !== 'POST') return { page: deleteWebhookPage(viewer.menu, webhook) }
  postedForm(parts, visit)
  await ownItems(parts, viewer).remove(collection, id)
  return redirect(`${path}?done=webhook-deleted`)
}
