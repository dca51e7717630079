/** The settings of GraphQL: `graphql.documents` can also be `documents` in an object `graphql`. */
import { choice, flag, integer, path } from './kinds.ts'
import { setting } from './setting.ts'

export const graphqlSettings = {
  'graphql.documents': setting<'any' | 'registered'>({
    variable: 'PORTICO_GRAPHQL_DOCUMENTS',
    kind: choice('any', 'registered'),
    default: 'any',
    description:
      'Which GraphQL documents are accepted: any, or only those registered by `portico documents register`.',
  }),
  'graphql.documentsFile': setting({
    variable: 'PORTICO_GRAPHQL_DOCUMENTS_FILE',
    kind: path,
    default: './portico.documents.json',
    description: 'The file of registered documents. It is read when the service starts.',
  }),
  'graphql.introspection': setting({
    variable: 'PORTICO_GRAPHQL_INTROSPECTION',
    kind: flag,
    default: true,
    description: 'Whether introspection (`__schema` and `__type`) is allowed.',
  }),
  'graphql.graphiql': setting({
    variable: 'PORTICO_GRAPHQL_GRAPHIQL',
    kind: flag,
    default: true,
    description: 'Whether `/graphql` serves GraphiQL to browsers.',
  }),
  'graphql.maxTokens': setting({
    variable: 'PORTICO_GRAPHQL_MAX_TOKENS',
    kind: integer(1, 1_000_000),
    default: 2000,
    description: 'The maximum length of a GraphQL document, in tokens.',
  }),
  'graphql.maxDepth': setting({
    variable: 'PORTICO_GRAPHQL_MAX_DEPTH',
    kind: integer(1, 100),
    default: 12,
    description: 'The maximum nesting depth of a GraphQL operation.',
  }),
  'graphql.maxAliases': setting({
    variable: 'PORTICO_GRAPHQL_MAX_ALIASES',
    kind: integer(0, 10_000),
    default: 30,
    description: 'The maximum number of aliases in a GraphQL operation.',
  }),
  'graphql.maxCost': setting({
    variable: 'PORTICO_GRAPHQL_MAX_COST',
    kind: integer(1, 1_000_000_000),
    default: 5000,
    description:
      'The maximum cost of a GraphQL operation, in points: one per object that it may return, by the limits of its lists, and more for lists without an index.',
  }),
  'graphql.maxListSize': setting({
    variable: 'PORTICO_GRAPHQL_MAX_LIST_SIZE',
    kind: integer(1, 10_000),
    default: 100,
    description: 'The maximum `limit` of a GraphQL list.',
  }),
  'graphql.costPerRequest': setting({
    variable: 'PORTICO_GRAPHQL_COST_PER_REQUEST',
    kind: integer(1, 1_000_000_000),
    default: 100,
    description:
      'How many points of cost count as one request of the rate limit. Every operation counts as at least one.',
  }),
  'graphql.maxSubscriptions': setting({
    variable: 'PORTICO_GRAPHQL_MAX_SUBSCRIPTIONS',
    kind: integer(0, 10_000_000),
    default: 1000,
    description:
      'The maximum number of open GraphQL subscriptions of each user, and of each client address without a credential, in each worker.',
  }),
  'graphql.maxSubscriptionBytes': setting({
    variable: 'PORTICO_GRAPHQL_MAX_SUBSCRIPTION_BYTES',
    kind: integer(1024, 1_073_741_824),
    default: 262_144,
    description:
      'The maximum memory that the document and arguments of one open GraphQL subscription may take, in bytes, estimated as 300 per token plus two per character.',
  }),
  'graphql.maxCallerBytes': setting({
    variable: 'PORTICO_GRAPHQL_MAX_CALLER_BYTES',
    kind: integer(1024, 68_719_476_736),
    default: 16_777_216,
    description:
      'The maximum of that memory, in bytes, for all open subscriptions of each user, and of each client address without a credential, in each worker. Subscriptions with the same document count once.',
  }),
  'graphql.maxAnonymousConnections': setting({
    variable: 'PORTICO_GRAPHQL_MAX_ANONYMOUS_CONNECTIONS',
    kind: integer(0, 1_000_000),
    default: 50,
    description:
      'The maximum number of open WebSockets, event streams and polls that wait for events, of each client address without a credential, in each worker, and at most half of `maxConnections`. IPv6 addresses count by their /64 network.',
  }),
  'graphql.maxConnections': setting({
    variable: 'PORTICO_GRAPHQL_MAX_CONNECTIONS',
    kind: integer(0, 1_000_000),
    default: 2000,
    description:
      'The maximum number of open WebSockets, event streams and polls that wait for events, of each user, and of each app for each user, in each worker, and at most half of `maxConnections`.',
  }),
  'graphql.maxDistinctSubscriptions': setting({
    variable: 'PORTICO_GRAPHQL_MAX_DISTINCT_SUBSCRIPTIONS',
    kind: integer(0, 1_000_000),
    default: 200,
    description:
      'The maximum number of different requests among the open GraphQL subscriptions, event streams and polls that wait for events, of each user, of each app for each user, and of each client address without a credential, in each worker. Each event is rendered once for each of them.',
  }),
  'graphql.maxOperations': setting({
    variable: 'PORTICO_GRAPHQL_MAX_OPERATIONS',
    kind: integer(1, 100_000),
    default: 100,
    description:
      'The maximum number of concurrent GraphQL operations on one WebSocket, subscriptions included.',
  }),
  'graphql.maxBuffered': setting({
    variable: 'PORTICO_GRAPHQL_MAX_BUFFERED',
    kind: integer(1024, 1_073_741_824),
    default: 262_144,
    description:
      'The maximum size of events that wait for a slow subscriber, in bytes. Beyond it, the subscriber is disconnected.',
  }),
} as const
