/** The settings of webhooks. */
import { flag, integer } from './kinds.ts'
import { setting } from './setting.ts'

const yearSeconds = 31_536_000

export const webhookSettings = {
  'webhooks.allowPrivate': setting({
    variable: 'PORTICO_WEBHOOKS_PRIVATE',
    kind: flag,
    default: false,
    description:
      'Whether webhooks may use http, and reach private, loopback and link-local addresses. For development only: users who may create webhooks can then send requests into your network.',
  }),
  'webhooks.maxPerUser': setting({
    variable: 'PORTICO_MAX_WEBHOOKS_PER_USER',
    kind: integer(1, 10_000),
    default: 50,
    description: 'The maximum number of webhooks per user.',
  }),
  'webhooks.secretOverlap': setting({
    variable: 'PORTICO_WEBHOOK_SECRET_OVERLAP',
    kind: integer(0, yearSeconds),
    default: 86_400,
    description:
      'How long deliveries of a webhook are also signed with its previous secret after a rotation, in seconds.',
  }),
} as const
