/** The schemas of the OpenAPI document. Bodies have the very schemas that they are checked with. */
import { catalogue } from '../errors.ts'
import type { JsonSchema, JsonValue } from '../model/fields/type.ts'
import type { Collection, Relation } from '../model/model.ts'
import { revealedByPortico } from '../model/revealed.ts'
import type { BodyMode } from '../model/schemas.ts'
import { bodySchema, itemSchema } from '../model/validate.ts'
import type { Document } from './openapi-names.ts'
import { canFollow, exists, visibleFields } from './operations.ts'
import { includedLimit } from './select.ts'

function relationSchema(
  document: Document,
  collection: Collection,
  relation: Relation,
): JsonSchema | undefined {
  const target = document.model.collections.get(relation.target)
  if (!target || !canFollow(document.model, collection, relation)) return undefined
  const schema = document.schema(target, 'item')
  const description = `With \`include=${relation.name}\`.`
  return relation.kind === 'one'
    ? { anyOf: [schema, { type: 'null' }], description }
    : {
        type: 'array',
        items: schema,
        maxItems: includedLimit,
        description: `${description} In the order of ids.`,
      }
}

/** An item as `fields` and `include` shape it: so nothing is required, and related items may be there. */
function shapedSchema(document: Document, collection: Collection): JsonSchema {
  const visible = new Set(visibleFields(collection).map(({ name }) => name))
  const properties: [string, JsonValue][] = Object.entries(itemSchema(collection)['properties'] ?? {}).filter(
    ([name]) => visible.has(name),
  )
  for (const relation of collection.relations.values()) {
    const schema = relationSchema(document, collection, relation)
    if (schema) properties.push([relation.name, schema])
  }
  return { type: 'object', properties: Object.fromEntries(properties) }
}

function listSchema(document: Document, collection: Collection): JsonSchema {
  const perPage = { type: 'integer' }
  return {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: document.schema(collection, 'item') },
      meta: {
        oneOf: [
          {
            type: 'object',
            required: ['total', 'page', 'per_page'],
            properties: { total: { type: 'integer' }, page: { type: 'integer' }, per_page: perPage },
          },
          {
            type: 'object',
            description: 'With `cursor`.',
            required: ['per_page', 'next_cursor'],
            properties: { per_page: perPage, next_cursor: { type: ['string', 'null'] } },
            not: { required: ['total'] },
          },
        ],
      },
    },
  }
}

/** Whether the answer to a create tells more than the item. */
export function isRevealing({ name }: Collection): boolean {
  return revealedByPortico.has(name)
}

function createdSchema(document: Document, collection: Collection): JsonSchema {
  const revealed = Object.entries(revealedByPortico.get(collection.name) ?? {})
  const properties = revealed.map(([name, description]) => [name, { type: 'string', description }])
  return {
    allOf: [
      document.schema(collection, 'item'),
      { type: 'object', properties: Object.fromEntries(properties) },
    ],
  }
}

function bodyModes(collection: Collection): readonly BodyMode[] {
  const update: readonly BodyMode[] = exists(collection, 'update') ? ['replace', 'merge'] : []
  return exists(collection, 'create') ? ['create', ...update] : update
}

/** The schemas of one collection, by name. */
export function collectionSchemas(document: Document, collection: Collection): [string, JsonSchema][] {
  const created = isRevealing(collection) ? createdSchema(document, collection) : undefined
  return [
    [document.schemaName(collection, 'item'), shapedSchema(document, collection)],
    [document.schemaName(collection, 'list'), listSchema(document, collection)],
    ...(created ? [[document.schemaName(collection, 'created'), created] as [string, JsonSchema]] : []),
    ...bodyModes(collection).map((mode): [string, JsonSchema] => [
      document.schemaName(collection, mode),
      bodySchema(collection, mode),
    ]),
  ]
}

const code = { type: 'string', enum: Object.keys(catalogue) }
const fault = {
  type: 'object',
  required: ['field', 'code', 'message'],
  properties: { field: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } },
}
const faults = { type: 'array', items: fault }

export const shared = {
  introduction: [
    'Items are read with GET and written with POST, PUT, PATCH and DELETE. Lists come in pages (`page`) or by',
    '`cursor`; the cursor form costs the same at any depth. Times are ISO 8601 in UTC. Errors are',
    '`{"error": {"code", "message"}}`, or problem details (RFC 9457) with `Accept: application/problem+json`.',
  ].join('\n'),
  schemas: {
    Error: {
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: { code, message: { type: 'string' }, details: faults },
        },
      },
    },
    Problem: {
      type: 'object',
      required: ['type', 'title', 'status', 'detail', 'code'],
      properties: {
        type: { type: 'string', format: 'uri-reference' },
        title: { type: 'string' },
        status: { type: 'integer' },
        detail: { type: 'string' },
        instance: { type: 'string', format: 'uri' },
        code,
        errors: faults,
      },
    },
  },
} satisfies { introduction: string; schemas: { readonly [name: string]: JsonSchema } }
