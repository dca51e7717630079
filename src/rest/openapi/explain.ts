/** Explanations in the OpenAPI document. */
import type { JsonSchema } from '../../model/fields/type.ts'
import { prefix } from '../routes.ts'
import { referTo } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

const text: JsonSchema = { type: 'string' }
const id: JsonSchema = { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
const list = (items: JsonSchema, maxItems: number): JsonSchema => ({ type: 'array', items, maxItems })
const reference = (name: string) => referTo('schemas', name)
const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

export const explainSchemas: { readonly [name: string]: JsonSchema } = {
  ExplainRequest: {
    type: 'object',
    required: ['path'],
    additionalProperties: false,
    properties: {
      as: {
        anyOf: [id, { type: 'string', maxLength: 320 }, { type: 'null' }],
        description: 'A user’s id or e-mail address; null: nobody signed in.',
      },
      scopes: { ...list(text, 200), description: 'Of the credential; left out: no scope limits it.' },
      api_key: { ...id, description: 'The id of an API key, in place of `as`.' },
      method: { type: 'string', description: '`GET` where it is left out.' },
      path: {
        type: 'string',
        maxLength: 8000,
        description: 'With the query, e.g. `/tasks/7`; or `/graphql`.',
      },
      body: { description: 'As in the request.' },
      if_match: { type: 'string', description: 'As the header `If-Match`.' },
    },
  },
  RulePart: {
    type: 'object',
    required: ['rule', 'holds'],
    properties: {
      rule: { type: 'string', description: 'As a model file has it.' },
      holds: { ...nullable({ type: 'boolean' }), description: 'Null: it takes an item to tell.' },
      because: text,
      parts: list(reference('RulePart'), 1000),
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
      kind: reference('ReasonKind'),
      message: text,
      collection: text,
      operation: text,
      id,
      fields: list(text, 1000),
      path: {
        ...list({ anyOf: [text, { type: 'integer', format: 'int32', minimum: 0 }] }, 100),
        description: 'Of GraphQL: where in the reply.',
      },
      types: { ...list(text, 1000), description: 'Of events: those that are heard, or not.' },
      scope: text,
      scopes: list(text, 1000),
      rule: text,
      words: text,
      parts: list(reference('RulePart'), 1000),
    },
  },
  Explanation: {
    type: 'object',
    required: ['allowed', 'status', 'code', 'message', 'as', 'request', 'reasons', 'notes'],
    properties: {
      allowed: { type: 'boolean' },
      status: {
        type: 'integer',
        format: 'int32',
        minimum: 200,
        maximum: 599,
        description: 'Of the answer that the request would get.',
      },
      code: nullable(text),
      message: nullable(text),
      as: { type: 'object', additionalProperties: true },
      request: { type: 'object', additionalProperties: true },
      reasons: list(reference('Reason'), 1000),
      notes: list(text, 10),
    },
  },
}

const description =
  'Carries a request out as somebody else, undoes all of it, and says which rule, scope or field decided. Code of actions and queries runs within its bounds. Nothing is written, and nobody is told. It draws ten requests from the budget. Who may: administrators, by a session or a key that no scope limits, or a first-party app with the scope `write:user`.'

export function explainPath(document: Document): [string, JsonSchema] {
  return [
    `${prefix}/explain`,
    {
      post: {
        operationId: document.operationId('explain'),
        summary: 'Say why a request is allowed or refused',
        description,
        tags: ['explain'],
        security: requirements(false),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: reference('ExplainRequest') } },
        },
        responses: { 200: json('The explanation.', reference('Explanation')), ...errors('Batch') },
      },
    },
  ]
}
