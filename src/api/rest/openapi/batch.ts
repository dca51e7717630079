/** Batches in the OpenAPI document. */
import type { JsonSchema } from '../../../model/fields/type.ts'
import { batchMethods, maxOperations } from '../batch/operations.ts'
import { prefix } from '../routes.ts'
import { schemaReference } from './components.ts'
import type { Document } from './names.ts'
import { entityTags, headerParameters } from './parameters.ts'
import { errors, json } from './responses.ts'
import { requirements } from './security.ts'

export const batchSchemas: { readonly [name: string]: JsonSchema } = {
  BatchMethod: { type: 'string', enum: [...batchMethods] },
  BatchOperation: {
    type: 'object',
    required: ['method', 'path'],
    additionalProperties: false,
    examples: [{ method: 'GET', path: '/users/1', as: 'user' }],
    properties: {
      method: schemaReference('BatchMethod'),
      path: {
        type: 'string',
        pattern: '^/(?!/)',
        description: `The path after \`${prefix}\`, with the query, e.g. \`/posts/7?fields=id\`. A segment may be \`$name.id\`.`,
      },
      body: {
        type: 'object',
        additionalProperties: true,
        description:
          'The body of a POST, PUT or PATCH. A string `$name.field` is replaced with that field of the result called `name`; write `$$` for a string that begins with `$`.',
      },
      as: {
        type: 'string',
        pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$',
        description: 'A name for the result, for use in later operations.',
      },
      if_match: {
        ...entityTags,
        description: 'The value of the header `If-Match`, for PUT, PATCH and DELETE.',
      },
    },
  },
  BatchRequest: {
    type: 'object',
    required: ['operations'],
    additionalProperties: false,
    properties: {
      operations: {
        type: 'array',
        items: schemaReference('BatchOperation'),
        minItems: 1,
        maxItems: maxOperations,
      },
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
    properties: {
      results: { type: 'array', items: schemaReference('BatchResult'), maxItems: maxOperations },
    },
  },
}

const description =
  'Runs up to 100 reads and writes of items and collections, in order, in one transaction: each sees the changes of the earlier ones, and either all take effect or none. The first operation that fails determines the status and code of the error; `details` contains its index. Each operation needs the same rights, and uses as much of the rate limit, as a separate request. Who may: anyone.'

export function batchPath(document: Document): [string, JsonSchema] {
  return [
    `${prefix}/batch`,
    {
      post: {
        operationId: document.operationId('run_batch'),
        summary: 'Run several operations in one transaction',
        description,
        tags: ['batch'],
        security: requirements(true),
        parameters: headerParameters('Idempotency-Key'),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: schemaReference('BatchRequest') } },
        },
        responses: {
          200: json(
            'The results, in the order of the operations.',
            schemaReference('BatchResults'),
            'Idempotent-Replayed',
          ),
          ...errors('Batch'),
        },
      },
    },
  ]
}
