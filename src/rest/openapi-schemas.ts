/** The schemas of the OpenAPI document. Bodies have the very schemas that they are checked with. */
import { catalogue } from '../errors.ts'
import type { JsonSchema, JsonValue } from '../model/fields/type.ts'
import type { Collection, Field, Model, Relation } from '../model/model.ts'
import { bodySchema, itemSchema } from '../model/validate.ts'
import { exists } from './operations.ts'
import { includedLimit } from './select.ts'

type Mode = 'create' | 'replace' | 'merge'

/** `blog_post` → `BlogPost`. */
export function typeName({ singular }: Collection): string {
  return singular.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** The name of a body's schema, e.g. `PostCreate`. */
export function bodyName(collection: Collection, mode: Mode): string {
  return `${typeName(collection)}${mode.charAt(0).toUpperCase()}${mode.slice(1)}`
}

/** The fields that anybody can ever read. */
export function visibleFields(collection: Collection): readonly Field[] {
  return [...collection.fields.values()].filter(
    field => !field.internal && !field.writeOnly && field.access.read.kind !== 'nobody',
  )
}

function relationSchema(model: Model, relation: Relation): JsonSchema | undefined {
  const target = model.collections.get(relation.target)
  if (!target || !exists(target, 'read')) return undefined
  const schema = { $ref: `#/components/schemas/${typeName(target)}` }
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
function shapedSchema(model: Model, collection: Collection): JsonSchema {
  const visible = new Set(visibleFields(collection).map(({ name }) => name))
  const properties: [string, JsonValue][] = Object.entries(itemSchema(collection)['properties'] ?? {}).filter(
    ([name]) => visible.has(name),
  )
  for (const relation of collection.relations.values()) {
    const schema = relationSchema(model, relation)
    if (schema) properties.push([relation.name, schema])
  }
  return { type: 'object', properties: Object.fromEntries(properties) }
}

function listSchema(collection: Collection): JsonSchema {
  const perPage = { type: 'integer' }
  return {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: { $ref: `#/components/schemas/${typeName(collection)}` } },
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

function bodyModes(collection: Collection): readonly Mode[] {
  const update: readonly Mode[] = exists(collection, 'update') ? ['replace', 'merge'] : []
  return exists(collection, 'create') ? ['create', ...update] : update
}

/** The schemas of one collection, by name. */
export function collectionSchemas(model: Model, collection: Collection): [string, JsonSchema][] {
  const name = typeName(collection)
  return [
    [name, shapedSchema(model, collection)],
    [`${name}List`, listSchema(collection)],
    ...bodyModes(collection).map((mode): [string, JsonSchema] => [
      bodyName(collection, mode),
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
