/** The fields of webhooks and of their deliveries. */
import { boolean } from '../fields/boolean.ts'
import { choice } from '../fields/choice.ts'
import { datetime } from '../fields/datetime.ts'
import { integer } from '../fields/integer.ts'
import { currentUser } from '../fields/marker.ts'
import { relation } from '../fields/relation.ts'
import { string } from '../fields/string.ts'
import { text } from '../fields/text.ts'
import { texts } from '../fields/texts.ts'
import { url } from '../fields/url.ts'

const maxTypes = 100
/** The singular of a collection, a dot, and a kind of event: `post.created`. */
const maxTypeLength = 110
const typeSchema = { type: 'string', maxLength: maxTypeLength }
const listBounds = { minItems: 1, maxItems: maxTypes }

const readOnly = { optional: true, readOnly: true } as const
const internal = { optional: true, internal: true } as const

export const webhookFields = {
  user_id: relation('users', {
    inverse: 'webhooks',
    onDelete: 'cascade',
    readOnly: true,
    default: currentUser,
    description: 'The user who owns the webhook.',
  }),
  app_id: relation('oauth_apps', {
    as: 'app',
    inverse: 'webhooks',
    onDelete: 'cascade',
    optional: true,
    immutable: true,
    description:
      'One of your own OAuth apps. The webhook then receives the events that users who granted the app access may see. Null: the events that you may see.',
  }),
  url: url({ description: 'The https URL to which events are sent by POST.' }),
  types: texts(typeSchema, listBounds, {
    description: 'The event types, e.g. `post.created`, `post.*` for all types of posts, or `*` for all.',
  }),
  collections: texts(typeSchema, listBounds, {
    optional: true,
    description: 'Only events of these collections, e.g. `posts`; null: all collections.',
  }),
  enabled: boolean({ default: true, description: 'Whether events are sent.' }),
  description: string({ optional: true, description: 'A note about the webhook.' }),
  scopes: texts(
    { type: 'string' },
    { maxItems: 10_000 },
    { ...readOnly, description: 'The scopes of the credential that created it; null: all.' },
  ),
  paused_at: datetime({
    ...readOnly,
    description: 'When sending was paused. It stays paused until the webhook is enabled again.',
  }),
  pause_reason: string({ ...readOnly, description: 'Why sending was paused.' }),
  /** `Principal.grant` of the credential that created it. */
  grant: text(internal),
  /** The event after which it starts or resumes; null: it is at the sender's position. */
  position: integer(internal),
  /** How often its secret was replaced. */
  secret_version: integer({ internal: true, default: 0 }),
  /** Since when no delivery has succeeded. */
  failing_since: datetime(internal),
} as const

const deliveryStatuses = ['pending', 'succeeded', 'failed', 'dropped'] as const

export const webhookDeliveryFields = {
  webhook_id: relation('webhooks', {
    as: 'webhook',
    inverse: 'deliveries',
    onDelete: 'cascade',
    readOnly: true,
    description: 'The webhook.',
  }),
  event_id: string({ ...readOnly, max: 20, description: 'The event; null for a test.' }),
  type: string({ readOnly: true, description: 'The type of the event.' }),
  collection: string({ ...readOnly, description: 'The collection of the item.' }),
  item_id: integer({ ...readOnly, min: 1, description: 'The item.' }),
  user_id: relation('users', {
    ...readOnly,
    onDelete: 'cascade',
    description:
      'For a webhook of an app: the user who granted the app access and for whom it is sent. Null: the owner of the webhook.',
  }),
  message_id: string({
    readOnly: true,
    max: 100,
    description: 'The header `webhook-id`, the same for every attempt.',
  }),
  attempt: integer({ readOnly: true, default: 0, min: 0, description: 'The number of attempts.' }),
  status: choice(deliveryStatuses, {
    readOnly: true,
    default: 'pending',
    description:
      '`pending`: waiting to be sent; `succeeded`: the response was 2xx; `failed`: given up; `dropped`: not sent, because the recipient may no longer see the item.',
  }),
  due_at: datetime({ ...readOnly, description: 'When it is sent next; null: it is not sent again.' }),
  response_status: integer({
    ...readOnly,
    description: 'The status of the last response; null: there was none.',
  }),
  duration_ms: integer({
    ...readOnly,
    min: 0,
    description: 'How long the last attempt took, in milliseconds.',
  }),
  response_excerpt: text({
    ...readOnly,
    max: 1000,
    description: 'The beginning of the last response body.',
  }),
  error: string({ ...readOnly, max: 1000, description: 'Why the last attempt failed.' }),
  completed_at: datetime({ ...readOnly, description: 'When it succeeded, failed for good or was dropped.' }),
} as const

export type WebhookFields = typeof webhookFields
export type WebhookDeliveryFields = typeof webhookDeliveryFields
