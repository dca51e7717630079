/** The setting `quotas`: what one user, or one client address, may have, or do at once. */
import { integer } from './kinds.ts'
import { member, membersSetting } from './members.ts'

export const quotaSetting = membersSetting({
  variable: 'PORTICO_QUOTAS',
  description:
    'What one user may have or do at once, and one client address without a credential. IPv6 addresses count by their /64 network. Connections and subscriptions are counted in each worker, also of each app for each user.',
  members: {
    keys: member({
      kind: integer(1, 100_000),
      default: 100,
      description: 'API keys of a user.',
    }),
    webhooks: member({
      kind: integer(1, 10_000),
      default: 50,
      description: 'Webhooks of a user.',
    }),
    connections: member({
      kind: integer(0, 1_000_000),
      default: 2000,
      description:
        'Open WebSockets, event streams and polls that wait for events, of a user, and at most half of `maxConnections`.',
    }),
    addressConnections: member({
      kind: integer(0, 1_000_000),
      default: 50,
      description: 'The same of an address.',
    }),
    subscriptions: member({
      kind: integer(0, 10_000_000),
      default: 1000,
      description: 'Open GraphQL subscriptions of a user or an address.',
    }),
    distinctSubscriptions: member({
      kind: integer(0, 1_000_000),
      default: 200,
      description:
        'Different requests among the open GraphQL subscriptions, event streams and polls that wait for events, of a user or an address. Each event is rendered once for each of them.',
    }),
    cascade: member({
      kind: integer(0, 10_000_000),
      default: 10_000,
      description:
        'The other items that one deletion deletes or changes: other writes wait for it. `portico delete` deletes more, in slices.',
    }),
  },
})
