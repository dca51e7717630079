/** Explanations in the OpenAPI document. */
import type { JsonSchema } from '../../../model/fields/type.ts'
import { prefix } from '../routes.ts'
import { schemaReference } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

const text: JsonSchema = { type: 'string' }
const id: JsonSchema = { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
const list = (items: JsonSchema, maxItems: number): JsonSchema => ({ type: 'array', items, maxItems })
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

export const explainSchemas: { readonly [name: string]: JsonSchema } = {
  ExplainRequest: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    examples: [{ as: 1, method: 'GET', path: '/users/1' }],
    properties: {
      as: {
        anyOf: [id, { type: 'string', maxLength: 320 }, { type: 'null' }],
        description: 'The id or e-mail address of a user. Null: a caller who is not signed in.',
      },
      scopes: {
        ...list(text, 200),
        description: 'The scopes of the credential. If omitted, it is not limited to scopes.',
      },
      api_key: { ...id, description: 'The id of an API key, instead of `as`.' },
      app: {
        ...id,
        description:
          'The id of an app in `oauth_apps`, through which the user of `as` acts; with `as` null, an app without a user. If `scopes` is omitted, it has all scopes that the app may request now.',
      },
      method: {
        type: 'string',
        pattern: '^(GET|HEAD|POST|PUT|PATCH|DELETE)$',
        description: '`GET` by default.',
      },
      path: {
        type: 'string',
        maxLength: 8000,
        pattern: '^/',
        description: 'The path with the query, e.g. `/tasks/7`, or `/graphql`.',
      },
      body: { description: 'The body of the request.' },
      if_match: { type: 'string', description: 'The value of the header `If-Match`.' },
    },
  },
  RulePart: {
    type: 'object',
    required: ['rule', 'holds'],
    properties: {
      rule: { type: 'string', description: 'The rule as written in the model.' },
      holds: { ...nullable({ type: 'boolean' }), description: 'Null if it depends on an item.' },
      because: text,
      parts: list(schemaReference('RulePart'), 1000),
    },
  },
  ReasonKind: {
    type: 'string',
    enum: [
      'rule',
      'scope',
      'field',
      'credential',
      'hidden',
      'missing',
      'limit',
      'validation',
      'request',
      'code',
    ],
  },
  Reason: {
    type: 'object',
    required: ['kind', 'message'],
    properties: {
      kind: schemaReference('ReasonKind'),
      message: text,
      collection: text,
      operation: text,
      id,
      fields: list(text, 1000),
      path: {
        ...list({ anyOf: [text, { type: 'integer', format: 'int32', minimum: 0 }] }, 100),
        description: 'The path in the response, for GraphQL.',
      },
      types: { ...list(text, 1000), description: 'For events: the types that are delivered, or not.' },
      scope: text,
      scopes: list(text, 1000),
      rule: text,
      words: text,
      parts: list(schemaReference('RulePart'), 1000),
    },
  },
  LimitName: { type: 'string', enum: ['user', 'app', 'address', 'route'] },
  ExplainedLimit: {
    type: 'object',
    required: ['name', 'requests', 'seconds'],
    properties: {
      name: schemaReference('LimitName'),
      requests: { type: 'integer', format: 'int32', minimum: 1, maximum: 1_000_000_000 },
      seconds: { type: 'integer', format: 'int32', minimum: 1, maximum: 1_000_000_000 },
    },
  },
  Explanation: {
    type: 'object',
    required: ['allowed', 'status', 'code', 'message', 'as', 'request', 'reasons', 'limits', 'notes'],
    properties: {
      allowed: { type: 'boolean' },
      status: {
        ...nullable({ type: 'integer', format: 'int32', minimum: 200, maximum: 599 }),
        description: 'The status that the request would get. Null: the code of a route decides it.',
      },
      code: nullable(text),
      message: nullable(text),
      as: { type: 'object', additionalProperties: true },
      request: { type: 'object', additionalProperties: true },
      reasons: list(schemaReference('Reason'), 1000),
      limits: list(schemaReference('ExplainedLimit'), 2),
      notes: list(text, 10),
    },
  },
}

const description =
  'Runs a request as another caller, rolls it back, and reports which rule, scope or field decided. Code of actions and queries runs within its usual limits. Nothing is stored and no events are sent. It counts as ten requests towards the rate limit. Who may: administrators, with a session or an API key that is not limited to scopes, or through a first-party app with the scope `write:user`.'

export function explainPath(document: Document): [string, JsonSchema] {
  return [
    `${prefix}/explain`,
    {
      post: {
        operationId: document.operationId('explain'),
        summary: 'Explain why a request is allowed or refused',
        description,
        tags: ['explain'],
        security: requirements(false),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaReference('ExplainRequest') } },
        },
        responses: { 200: json('The explanation.', schemaReference('Explanation')), ...errors('Batch') },
      },
    },
  ]
}
