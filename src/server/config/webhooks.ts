/** The settings of webhooks. */
import { flag } from './kinds.ts'
import { setting } from './setting.ts'

export const webhookSettings = {
  'webhooks.allowPrivate': setting({
    variable: 'PORTICO_WEBHOOKS_PRIVATE',
    kind: flag,
    default: false,
    description:
      'Whether webhooks may use http, and reach private, loopback and link-local addresses. For development only: users who may create webhooks can then send requests into your network.',
  }),
} as const
