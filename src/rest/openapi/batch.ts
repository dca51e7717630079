/** Batches in the OpenAPI document. */
import type { JsonSchema } from '../../model/fields/type.ts'
import { batchMethods, maxOperations } from '../batch/operations.ts'
import { prefix } from '../routes.ts'
import { referTo } from './components.ts'
import type { Document } from './names.ts'
import { headerParameters } from './parameters.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

const reference = (name: string) => referTo('schemas', name)

export const batchSchemas: { readonly [name: string]: JsonSchema } = {
  BatchMethod: { type: 'string', enum: [...batchMethods] },
  BatchOperation: {
    type: 'object',
    required: ['method', 'path'],
    additionalProperties: false,
    properties: {
      method: reference('BatchMethod'),
      path: {
        type: 'string',
        description: `After \`${prefix}\`, with the query, e.g. \`/posts/7?fields=id\`. A segment may be \`$name.id\`.`,
      },
      body: {
        type: 'object',
        additionalProperties: true,
        description:
          'As in a request of its own. A text `$name.field` is a field of the earlier result that has this name; a text that begins with `$$` is one that begins with `$`.',
      },
      as: { type: 'string', description: 'Names the result, for later operations.' },
      if_match: { type: 'string', description: 'As the header `If-Match`.' },
    },
  },
  BatchRequest: {
    type: 'object',
    required: ['operations'],
    additionalProperties: false,
    properties: {
      operations: { type: 'array', items: reference('BatchOperation'), minItems: 1, maxItems: maxOperations },
    },
  },
  BatchResult: {
    type: 'object',
    required: ['status', 'body'],
    properties: {
      status: { type: 'integer', format: 'int32', minimum: 200, maximum: 299 },
      body: { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }] },
    },
  },
  BatchResults: {
    type: 'object',
    required: ['results'],
    properties: { results: { type: 'array', items: reference('BatchResult'), maxItems: maxOperations } },
  },
}

const description =
  'Up to 100 reads and writes of items and collections, in order, in one transaction: each sees what the earlier ones have changed, and all are done or none. The first that fails decides the status and the code of the error; `details` name its index. Each needs what it would need by itself, and draws as much from the budget. Who may: anyone.'

export function batchPath(document: Document): [string, JsonSchema] {
  return [
    `${prefix}/batch`,
    {
      post: {
        operationId: document.operationId('run_batch'),
        summary: 'Run several operations, or none',
        description,
        tags: ['batch'],
        security: requirements(true),
        parameters: headerParameters('Idempotency-Key'),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: reference('BatchRequest') } },
        },
        responses: {
          200: json('The results, in order.', reference('BatchResults'), 'Idempotent-Replayed'),
          ...errors('Batch'),
        },
      },
    },
  ]
}
