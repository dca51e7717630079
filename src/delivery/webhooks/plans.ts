/** The plans that read and write webhooks and deliveries. */

import { system } from '../../base/principal.ts'
import { totalOrder } from '../../engine/plan/order.ts'
import type { CreateShape, ListShape, Plan, UpdateShape, WriteShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import {
  deleteShape,
  itemShape,
  listShape,
  readAll,
  readItem,
  selected,
  updateShape,
} from '../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Delivery, Webhook } from './delivery.ts'

const webhookFields = [
  'id',
  'user_id',
  'app_id',
  'url',
  'types',
  'collections',
  'enabled',
  'scopes',
  'grant',
  'paused_at',
  'position',
  'failing_since',
] as const

interface WebhookRow {
  readonly id: number
  readonly user_id: number
  readonly app_id: number | null
  readonly url: string
  readonly types: readonly string[]
  readonly collections: readonly string[] | null
  readonly enabled: boolean
  readonly scopes: readonly string[] | null
  readonly grant: string | null
  readonly paused_at: string | null
  readonly position: number | null
  readonly failing_since: string | null
}

const allWebhooks = listShape('webhooks', webhookFields)

export async function readWebhooks(run: Run): Promise<readonly Webhook[]> {
  return (await readAll<WebhookRow>(run, allWebhooks)).map(webhookOf)
}

function webhookOf(row: WebhookRow): Webhook {
  const { id, user_id: userId, app_id: appId, url, types, collections, scopes, grant, position } = row
  const { enabled: isEnabled } = row
  const isLive = isEnabled && row.paused_at === null
  const failingSince = row.failing_since === null ? null : Date.parse(row.failing_since)
  return {
    id,
    userId,
    appId,
    url,
    types,
    collections,
    scopes,
    grant,
    isEnabled,
    isLive,
    position,
    failingSince,
  }
}

export type WebhookChange = Readonly<Partial<Record<'position' | 'failing_since', JsonValue>>>

export function changeWebhook(id: number, change: WebhookChange): Plan<UpdateShape> {
  return changePlan('webhooks', id, change)
}

const pauseShape: UpdateShape = {
  ...updateShape('webhooks', ['paused_at', 'pause_reason', 'position']),
  eventType: 'webhook.paused',
}

/** The event of this write is `webhook.paused`. `at`: ISO 8601 UTC. `position`: the last event in the queue. */
export function pauseWebhook(id: number, at: string, reason: string, position: number): Plan<UpdateShape> {
  return { shape: pauseShape, args: [id, at, reason, position] }
}

const updateShapes = new Map<string, UpdateShape>()

/** There is one shape for each set of fields, because the guard and the store use it as a cache key. */
function changePlan(collection: string, id: number, change: object): Plan<UpdateShape> {
  const fields = Object.keys(change)
  const key = `${collection} ${fields}`
  const shape = updateShapes.get(key) ?? updateShape(collection, fields)
  updateShapes.set(key, shape)
  return { shape, args: [id, ...Object.values(change)] }
}

const deliveryFields = [
  'id',
  'webhook_id',
  'event_id',
  'type',
  'collection',
  'item_id',
  'user_id',
  'message_id',
  'attempt',
  'status',
  'due_at',
  'created_at',
] as const

interface DeliveryRow {
  readonly id: number
  readonly webhook_id: number
  readonly event_id: string | null
  readonly type: string
  readonly collection: string | null
  readonly item_id: number | null
  readonly user_id: number | null
  readonly message_id: string
  readonly attempt: number
  readonly status: string
  readonly due_at: string | null
  readonly created_at: string
}

function deliveryOf(row: DeliveryRow): Delivery {
  const { id, type, created_at: createdAt } = row
  return {
    id,
    webhookId: row.webhook_id,
    userId: row.user_id,
    messageId: row.message_id,
    event: row.event_id === null ? null : Number(row.event_id),
    type,
    itemKey: itemKeyOf(row),
    attempts: row.attempt,
    dueAt: row.due_at === null ? 0 : Date.parse(row.due_at),
    createdAt,
  }
}

function itemKeyOf({ id, user_id, collection, item_id }: DeliveryRow): string {
  return item_id === null ? `test/${id}` : `${user_id ?? ''}/${collection}/${item_id}`
}

const pageSize = 500
const [afterParam, limitParam, statusParam, webhookParam] = [0, 1, 2, 3]

/** The pending deliveries in the order of ids. Arguments: the id before, the limit, the status, the webhook. */
function pendingShape(ofOneWebhook: boolean): ListShape {
  const pendingFilter = { kind: 'compare', field: 'status', operator: 'eq', param: statusParam } as const
  const webhookFilter = { kind: 'compare', field: 'webhook_id', operator: 'eq', param: webhookParam } as const
  return {
    kind: 'list',
    collection: 'webhook_deliveries',
    within: undefined,
    filter: ofOneWebhook ? { kind: 'and', parts: [pendingFilter, webhookFilter] } : pendingFilter,
    search: undefined,
    sort: totalOrder([]),
    window: { kind: 'cursor', after: [afterParam], limit: limitParam },
    select: selected(deliveryFields),
  }
}

const pendingOfAll = pendingShape(false)
const pendingOfWebhook = pendingShape(true)

/**
 * The pending deliveries of one webhook, or of all, in the order of their events. Nodes draw the ids of deliveries from
 * separate ranges, so ids are not in that order.
 */
export async function readPending(run: Run, webhookId: number | undefined): Promise<readonly Delivery[]> {
  const shape = webhookId === undefined ? pendingOfAll : pendingOfWebhook
  const filterArgs = webhookId === undefined ? ['pending'] : ['pending', webhookId]
  const deliveries: Delivery[] = []
  for (let after = 0; ; ) {
    const { text } = await run.list({ shape, args: [after, pageSize, ...filterArgs] }, system)
    const rows: readonly DeliveryRow[] = JSON.parse(text ?? '[]')
    for (const row of rows) deliveries.push(deliveryOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < pageSize) break
    after = last.id
  }
  return deliveries.sort((a, b) => (a.event ?? 0) - (b.event ?? 0))
}

const deliveryShape = itemShape('webhook_deliveries', deliveryFields)

/** Undefined if there is no such delivery, or it is not pending. */
export async function readPendingDelivery(run: Run, id: number): Promise<Delivery | undefined> {
  const row = await readItem<DeliveryRow>(run, deliveryShape, id)
  return row?.status === 'pending' ? deliveryOf(row) : undefined
}

export interface NewDelivery {
  readonly webhook_id: number
  readonly event_id: string | null
  readonly type: string
  readonly collection: string | null
  readonly item_id: number | null
  readonly user_id: number | null
  readonly message_id: string
  /** ISO 8601 UTC. */
  readonly due_at: string
}

const newDeliveryFields = [
  'webhook_id',
  'event_id',
  'type',
  'collection',
  'item_id',
  'user_id',
  'message_id',
  'due_at',
] as const satisfies readonly (keyof NewDelivery)[]

const createDeliveryShape: CreateShape = {
  kind: 'create',
  collection: 'webhook_deliveries',
  set: [],
  computed: newDeliveryFields.map((field, param) => ({ field, param })),
  select: selected(['id']),
}

export function newDelivery(values: NewDelivery): Plan<CreateShape> {
  return { shape: createDeliveryShape, args: newDeliveryFields.map(field => values[field]) }
}

/** The delivery that was stored with these values. */
export function storedDelivery(id: number, values: NewDelivery): Delivery {
  const { due_at } = values
  return deliveryOf({ ...values, id, attempt: 0, status: 'pending', created_at: due_at })
}

export interface DeliveryChange {
  readonly attempt?: number
  readonly status?: 'pending' | 'succeeded' | 'failed' | 'dropped'
  readonly due_at?: string | null
  readonly response_status?: number | null
  readonly duration_ms?: number | null
  readonly response_excerpt?: string | null
  readonly error?: string | null
  readonly completed_at?: string | null
}

export function changeDelivery(id: number, change: DeliveryChange): Plan<UpdateShape> {
  return changePlan('webhook_deliveries', id, change)
}

const deleteDeliveryShape = deleteShape('webhook_deliveries')

export function removeDelivery(id: number): Plan<WriteShape> {
  return { shape: deleteDeliveryShape, args: [id] }
}
