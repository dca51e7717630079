/** The settings of GraphQL: `graphql.documents` can also be `documents` in an object `graphql`. */
import { flag, integer, type Kind, path } from './kinds.ts'
import { member, membersSetting } from './members.ts'
import { setting } from './setting.ts'

export interface DocumentsSetting {
  readonly mode: 'any' | 'registered'
  /** The file of registered documents. */
  readonly file: string
}

const defaultFile = './portico.documents.json'

function documentsOf(value: unknown): DocumentsSetting | undefined {
  if (value === 'any' || value === 'registered') return { mode: value, file: defaultFile }
  const file = typeof value === 'string' && value.endsWith('.json') ? path.fromText(value) : undefined
  return file === undefined ? undefined : { mode: 'registered', file }
}

const documents: Kind<DocumentsSetting, string> = {
  expected: '`any`, `registered`, or the path of a file, e.g. `./documents.json`',
  fromText: documentsOf,
  fromValue: documentsOf,
}

export const graphqlSettings = {
  'graphql.documents': setting({
    variable: 'PORTICO_GRAPHQL_DOCUMENTS',
    kind: documents,
    default: 'any',
    description: `Which GraphQL documents are accepted: any; only those registered by \`portico documents register\` in \`${defaultFile}\` (\`registered\`); or only those registered in another file, whose name ends in \`.json\`. The file is read when the service starts.`,
  }),
  'graphql.introspection': setting({
    variable: 'PORTICO_GRAPHQL_INTROSPECTION',
    kind: flag,
    default: true,
    description:
      'Whether introspection (`__schema` and `__type`) is allowed, and `/graphql` serves GraphiQL to browsers.',
  }),
  'graphql.limits': membersSetting({
    variable: 'PORTICO_GRAPHQL_LIMITS',
    description: 'The limits of a GraphQL document.',
    members: {
      tokens: member({
        kind: integer(1, 1_000_000),
        default: 2000,
        description: 'Its length, in tokens.',
      }),
      depth: member({
        kind: integer(1, 100),
        default: 12,
        description: 'The nesting depth of an operation.',
      }),
      aliases: member({
        kind: integer(0, 10_000),
        default: 30,
        description: 'The number of aliases in an operation.',
      }),
      cost: member({
        kind: integer(1, 1_000_000_000),
        default: 5000,
        description:
          'The cost of an operation, in points: one per object that it may return, by the limits of its lists, and more for lists without an index.',
      }),
      listSize: member({
        kind: integer(1, 10_000),
        default: 100,
        description: 'The `limit` of a list.',
      }),
    },
  }),
} as const
