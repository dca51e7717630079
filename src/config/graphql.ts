/** The settings of GraphQL: `graphql.documents` is also `documents` in an object `graphql`. */
import { choice, flag, integer, text } from './kinds.ts'
import { row } from './row.ts'

export const graphqlSettings = {
  'graphql.documents': row<'any' | 'registered'>({
    variable: 'PORTICO_GRAPHQL_DOCUMENTS',
    kind: choice('any', 'registered'),
    default: 'any',
    sentence:
      'Which GraphQL documents are answered: any, or only those that `portico documents register` has registered.',
  }),
  'graphql.documentsFile': row({
    variable: 'PORTICO_GRAPHQL_DOCUMENTS_FILE',
    kind: text,
    default: './portico.documents.json',
    sentence: 'The file of registered documents, read at the start.',
  }),
  'graphql.introspection': row({
    variable: 'PORTICO_GRAPHQL_INTROSPECTION',
    kind: flag,
    default: true,
    sentence: 'Whether the GraphQL schema can be asked for with `__schema` and `__type`.',
  }),
  'graphql.graphiql': row({
    variable: 'PORTICO_GRAPHQL_GRAPHIQL',
    kind: flag,
    default: true,
    sentence: 'Whether `/graphql` shows GraphiQL to browsers.',
  }),
  'graphql.maxTokens': row({
    variable: 'PORTICO_GRAPHQL_MAX_TOKENS',
    kind: integer(1, 1_000_000),
    default: 2000,
    sentence: 'The longest GraphQL document, in tokens.',
  }),
  'graphql.maxDepth': row({
    variable: 'PORTICO_GRAPHQL_MAX_DEPTH',
    kind: integer(1, 100),
    default: 12,
    sentence: 'How deep fields may be nested in a GraphQL operation.',
  }),
  'graphql.maxAliases': row({
    variable: 'PORTICO_GRAPHQL_MAX_ALIASES',
    kind: integer(0, 10_000),
    default: 30,
    sentence: 'How many aliases a GraphQL operation may have.',
  }),
  'graphql.maxCost': row({
    variable: 'PORTICO_GRAPHQL_MAX_COST',
    kind: integer(1, 1_000_000_000),
    default: 5000,
    sentence:
      'The most that a GraphQL operation may cost, in points: one for each object that it may give, by the bounds of its lists, and more for lists that no index leads to.',
  }),
  'graphql.maxListSize': row({
    variable: 'PORTICO_GRAPHQL_MAX_LIST_SIZE',
    kind: integer(1, 10_000),
    default: 100,
    sentence: 'The largest `limit` of a list in GraphQL.',
  }),
  'graphql.costPerRequest': row({
    variable: 'PORTICO_GRAPHQL_COST_PER_REQUEST',
    kind: integer(1, 1_000_000_000),
    default: 100,
    sentence:
      'How many points of a GraphQL operation’s cost draw one request from the rate limit; every operation draws at least one.',
  }),
  'graphql.maxSubscriptions': row({
    variable: 'PORTICO_GRAPHQL_MAX_SUBSCRIPTIONS',
    kind: integer(0, 10_000_000),
    default: 1000,
    sentence: 'Open GraphQL subscriptions of each user, and of each client address without a credential.',
  }),
  'graphql.maxSubscriptionBytes': row({
    variable: 'PORTICO_GRAPHQL_MAX_SUBSCRIPTION_BYTES',
    kind: integer(1024, 1_073_741_824),
    default: 262_144,
    sentence:
      'The memory that one open GraphQL subscription may keep for its document and its arguments, in bytes, by an estimate: 300 for each token, and two for each character.',
  }),
  'graphql.maxCallerBytes': row({
    variable: 'PORTICO_GRAPHQL_MAX_CALLER_BYTES',
    kind: integer(1024, 68_719_476_736),
    default: 16_777_216,
    sentence:
      'The same for all open subscriptions of each user, and of each client address without a credential, in each worker. Subscriptions with the same document count it once.',
  }),
  'graphql.maxAnonymousConnections': row({
    variable: 'PORTICO_GRAPHQL_MAX_ANONYMOUS_CONNECTIONS',
    kind: integer(0, 1_000_000),
    default: 50,
    sentence:
      'Open WebSockets and streams of server-sent events of each client address without a credential, in each worker, but no more than half of `maxConnections`. IPv6 addresses count by their /64 network.',
  }),
  'graphql.maxConnections': row({
    variable: 'PORTICO_GRAPHQL_MAX_CONNECTIONS',
    kind: integer(0, 1_000_000),
    default: 2000,
    sentence:
      'The same of each user, and of each app for each user, in each worker, but no more than half of `maxConnections`.',
  }),
  'graphql.maxOperations': row({
    variable: 'PORTICO_GRAPHQL_MAX_OPERATIONS',
    kind: integer(1, 100_000),
    default: 100,
    sentence: 'GraphQL operations at once on one WebSocket connection, subscriptions among them.',
  }),
  'graphql.maxBuffered': row({
    variable: 'PORTICO_GRAPHQL_MAX_BUFFERED',
    kind: integer(1024, 1_073_741_824),
    default: 262_144,
    sentence: 'Bytes that may wait for a subscriber who reads slowly; one with more is dropped.',
  }),
} as const
