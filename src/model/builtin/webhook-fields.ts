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
/** Of a singular and the kind of the event: `post.created`. */
const maxTypeLength = 110
const name = { type: 'string', maxLength: maxTypeLength }
const several = { minItems: 1, maxItems: maxTypes }

const readOnly = { optional: true, readOnly: true } as const
const internal = { optional: true, internal: true } as const

export const webhookFields = {
  user_id: relation('users', {
    inverse: 'webhooks',
    onDelete: 'cascade',
    readOnly: true,
    default: currentUser,
    description: 'Whose webhook it is.',
  }),
  app_id: relation('oauth_apps', {
    as: 'app',
    inverse: 'webhooks',
    onDelete: 'cascade',
    optional: true,
    immutable: true,
    description:
      'One of your own OAuth apps: it is told of what each user who granted it access may see; null: what you may see.',
  }),
  url: url({ description: 'Where events are sent by POST: an https address.' }),
  types: texts(name, several, {
    description: 'Which events: e.g. `post.created`, `post.*` for all of posts, or `*` for all.',
  }),
  collections: texts(name, several, {
    optional: true,
    description: 'Only events of these collections, e.g. `posts`; null: of all.',
  }),
  enabled: boolean({ default: true, description: 'Whether events are sent.' }),
  description: string({ optional: true, description: 'What it is for, in your own words.' }),
  scopes: texts(
    { type: 'string' },
    { maxItems: 10_000 },
    { ...readOnly, description: 'The scopes of the credential that made it; null: all.' },
  ),
  paused_at: datetime({
    ...readOnly,
    description: 'Since when nothing is sent, until it is enabled again.',
  }),
  pause_reason: string({ ...readOnly, description: 'Why nothing is sent.' }),
  /** `Principal.grant` of the credential that made it. */
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
    description: 'Of which webhook.',
  }),
  event_id: string({ ...readOnly, max: 20, description: 'The event; null for a test.' }),
  type: string({ readOnly: true, description: 'The type of the event.' }),
  collection: string({ ...readOnly, description: 'The collection of the item.' }),
  item_id: integer({ ...readOnly, min: 1, description: 'The item.' }),
  user_id: relation('users', {
    ...readOnly,
    onDelete: 'cascade',
    description:
      'Of an app’s webhook: the user who granted the app access, as whom it is sent; null: the webhook’s owner.',
  }),
  message_id: string({
    readOnly: true,
    max: 100,
    description: 'The header `webhook-id`, the same for every attempt.',
  }),
  attempt: integer({ readOnly: true, default: 0, min: 0, description: 'How often it was sent.' }),
  status: choice(deliveryStatuses, {
    readOnly: true,
    default: 'pending',
    description:
      '`pending`: to be sent; `succeeded`: answered with 2xx; `failed`: given up; `dropped`: not sent, since it may not be seen any more.',
  }),
  due_at: datetime({ ...readOnly, description: 'When it is sent next; null: never again.' }),
  response_status: integer({ ...readOnly, description: 'The status of the last response; null: none came.' }),
  duration_ms: integer({
    ...readOnly,
    min: 0,
    description: 'How long the last attempt took, in milliseconds.',
  }),
  response_excerpt: text({
    ...readOnly,
    max: 1000,
    description: 'How the last response’s body begins.',
  }),
  error: string({ ...readOnly, max: 1000, description: 'Why the last attempt failed.' }),
  completed_at: datetime({ ...readOnly, description: 'When it succeeded, failed for good or was dropped.' }),
} as const

export type WebhookFields = typeof webhookFields
export type WebhookDeliveryFields = typeof webhookDeliveryFields
