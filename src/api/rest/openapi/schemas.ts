/** The schemas of the OpenAPI document. Request bodies have the schemas that validate them. */
import { catalogue } from '../../../base/errors.ts'
import { includedLimit, lastPage, maxListedValues, totalModes } from '../../../engine/plan/plan.ts'
import { revealedSecrets, sometimesRevealed } from '../../../model/builtin/revealed.ts'
import { exists } from '../../../model/crud.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, Field, Relation } from '../../../model/model.ts'
import type { BodyMode } from '../../../model/schemas.ts'
import { itemSchema, openapiBodySchema, propertySchema } from '../../../model/validate.ts'
import { maxBulkItems } from '../bulk.ts'
import { canFollow, visibleComputed, visibleFields } from '../operations.ts'
import { maxPerPage } from '../query/list-parameters.ts'
import { schemaReference } from './components.ts'
import { sharedEventSchemas } from './events.ts'
import type { Document } from './names.ts'
import { commonHeaders } from './responses.ts'
import { openapiSchema } from './values.ts'

/** The note for schemas whose `required` applies only to requests without `fields`. */
const sparse = 'With `fields`, only the fields that it names.'

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
        description: `${description} Sorted by id.`,
      }
}

/** Without `pattern`, which only request bodies have to match: most patterns are long, and readers do not need them. */
function readSchema(document: Document, collection: Collection, field: Field): JsonSchema {
  const { pattern: _, ...schema } = document.answerSchema(collection, field)
  return schema
}

/** An item without `fields`, and the relations that `include` may add. A writer who may not read it gets its id. */
function shapedSchema(document: Document, collection: Collection): JsonSchema {
  const isReadable = exists(collection, 'read')
  const visible = new Set(isReadable ? visibleFields(collection).map(({ name }) => name) : ['id'])
  const fullSchema = itemSchema(collection, field => readSchema(document, collection, field))
  const properties = Object.entries(fullSchema['properties'] ?? {}).filter(([name]) => visible.has(name))
  const required = [fullSchema['required'] ?? []].flat().filter(name => visible.has(String(name)))
  for (const relation of isReadable ? collection.relations.values() : []) {
    const schema = relationSchema(document, collection, relation)
    if (schema) properties.push([relation.name, schema])
  }
  if (isReadable) properties.push(...computedProperties(document, collection))
  return {
    type: 'object',
    description: sparse,
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  }
}

function computedProperties(document: Document, collection: Collection): [string, JsonSchema][] {
  return visibleComputed(collection).map(field => {
    const { name, description } = field
    const ownText = description === undefined ? '' : `${description} `
    const schema = propertySchema(field, readSchema(document, collection, field))
    const note = `${ownText}Computed: returned with \`fields=*,${name}\`. Read-only.`
    return [name, { ...schema, description: note, 'x-computed': true }]
  })
}

function listSchema(document: Document, collection: Collection): JsonSchema {
  return {
    type: 'object',
    required: ['data', 'meta'],
    properties: {
      data: { type: 'array', items: document.schema(collection, 'item'), maxItems: maxPerPage },
      meta: schemaReference('ListMeta'),
    },
  }
}

/** Whether the response to a create contains more than the item. */
export function isRevealing({ name }: Collection): boolean {
  return revealedSecrets.has(name)
}

function createdSchema(document: Document, collection: Collection): JsonSchema {
  const revealed = Object.entries(revealedSecrets.get(collection.name) ?? {})
  const properties = revealed.map(([name, description]) => [name, { type: 'string', description }])
  return {
    allOf: [
      document.schema(collection, 'item'),
      {
        type: 'object',
        description: sparse,
        properties: Object.fromEntries(properties),
        ...(!sometimesRevealed.has(collection.name) && { required: revealed.map(([name]) => name) }),
      },
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
      openapiBodySchema(collection, mode, field => document.valueSchema(collection, field)),
    ]),
  ]
}

const code = schemaReference('ErrorCode')
const faults = { type: 'array', items: schemaReference('FieldFault'), maxItems: 100 }
const codes = Object.entries(catalogue)
  .map(([name, { status, message }]) => `- \`${name}\` (${status}): ${message}`)
  .join('\n')

export const shared = {
  introduction: [
    '**Items** are read with GET and written with POST, PUT, PATCH and DELETE. They have every field that their schema requires, unless `fields` selects some. Times are returned in UTC; requests may use any RFC 3339 time without leap seconds. Integers stay within ±(2^53 − 1).',
    '**Lists** are paginated by `page` or by `cursor`. A page by cursor costs the same at any depth.',
    [
      '**Filters**, all of which must hold:',
      '- `status=done`: the field has this value.',
      '- `created_at[gte]=…&created_at[lt]=…`: operators are written in brackets.',
      `- \`status[in]=open,done\`: one of up to ${maxListedValues} values; \`title[contains]=…\`, or \`[icontains]\` to ignore case; \`due_on[null]=true\`: the field has no value.`,
      '- `author.name[contains]=Ann`: across up to three relations, with every operator of the last field.',
      '- `not[status]=done`, `not[status][in]=a,b`: the condition must not hold.',
      '- `or[1][status]=open&or[2][author.name]=Ann`: alternatives, numbered from 1 to 20; at least one must hold.',
    ].join('\n'),
    `**Writes.** A POST that creates an item also accepts an array of up to ${maxBulkItems.toLocaleString('en')} bodies. It creates all of them or none, and returns \`{"data":[…]}\`. API keys, apps, app secrets and webhooks are created one by one. A caller who may write an item but not read it gets only its \`id\`.`,
    '**Credentials** that are limited to scopes need the scopes that an operation names.',
    '**Errors** are `{"error": {"code", "message"}}`, or problem details (RFC 9457) with `Accept: application/problem+json`.',
    `**Headers** of every response: ${Object.keys(commonHeaders)
      .map(name => `\`${name}\``)
      .join(', ')}, the last two only if the response contains something deprecated.`,
  ].join('\n\n'),
  schemas: {
    TotalMode: { type: 'string', enum: totalModes },
    OpenApiDocument: { type: 'object', additionalProperties: true },
    ListMeta: openapiSchema({
      type: 'object',
      required: ['per_page'],
      properties: {
        per_page: { type: 'integer', minimum: 1, maximum: maxPerPage },
        page: {
          type: 'integer',
          minimum: 1,
          maximum: lastPage,
          description: 'The number of the page, in a list by `page`.',
        },
        total: {
          type: 'integer',
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'The number of matching items, in a list by `page`, unless `total=none`.',
        },
        total_is_estimate: {
          type: 'boolean',
          description: 'True if `total` is an estimate; omitted otherwise.',
        },
        next_cursor: {
          type: ['string', 'null'],
          description: 'The `cursor` of the next page, in a list by `cursor`. Null on the last page.',
        },
      },
    }),
    ...sharedEventSchemas,
    ErrorCode: {
      type: 'string',
      description: `What went wrong. Later versions may add codes.\n\n${codes}`,
      enum: Object.keys(catalogue),
    },
    FieldFault: {
      type: 'object',
      required: ['field', 'code', 'message'],
      properties: {
        field: {
          type: 'string',
          description:
            'The name of the field, followed by the place in its value as a JSON Pointer (RFC 6901).',
        },
        code: { type: 'string' },
        message: { type: 'string' },
      },
    },
    ErrorResponse: {
      type: 'object',
      required: ['error'],
      properties: { error: schemaReference('ApiError') },
    },
    ApiError: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code, message: { type: 'string' }, details: faults },
    },
    Problem: {
      type: 'object',
      required: ['type', 'title', 'status', 'detail', 'code'],
      properties: {
        type: { type: 'string', format: 'uri-reference' },
        title: { type: 'string' },
        status: { type: 'integer', format: 'int32', minimum: 400, maximum: 599 },
        detail: { type: 'string' },
        instance: { type: 'string', format: 'uri' },
        code,
        errors: faults,
      },
    },
  },
} satisfies { introduction: string; schemas: { readonly [name: string]: JsonSchema } }
