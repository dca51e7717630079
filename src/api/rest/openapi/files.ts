/** The paths of files in the OpenAPI document, and forms as request bodies. */
import { exists } from '../../../model/crud.ts'
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Collection, Field, Model } from '../../../model/model.ts'
import { type BodyMode, isOffered, openapiBodySchema } from '../../../model/schemas.ts'
import { takesForms } from '../files/routes.ts'
import { visibleFields } from '../operations.ts'
import { prefix } from '../routes.ts'
import { schemaReference } from './components.ts'
import { type Document, words } from './names.ts'
import { base } from './operation.ts'
import { headerParameters, idParameter, queryParameter } from './parameters.ts'
import { errors, itemResponse, json, noContent, readResponses } from './responses.ts'
import { requirements } from './security.ts'
import { openapiSchema } from './values.ts'

const binary = { type: 'string', format: 'binary' }
const content = { required: true, content: { 'application/octet-stream': { schema: binary } } }
const fileHeader = (name: string, description: string) => ({
  ...{ name, in: 'header', description },
  schema: { type: 'string' },
})
const fileHeaders = [
  fileHeader('If-Match', 'Entity tags of the content. If none of them is current, the response is 412.'),
  fileHeader('Range', 'One range of bytes, e.g. `bytes=0-1023`.'),
  fileHeader('If-Range', 'An entity tag. If it is not current, `Range` is ignored.'),
]
const named = queryParameter('name', 'The name of the file.', { type: 'string' })

/** The content of a body that may also be a form. Empty for a collection without files. */
export function formContent(document: Document, collection: Collection, mode: BodyMode): JsonSchema {
  if (!takesForms(collection) || mode === 'replace') return {}
  const schema = openapiBodySchema(collection, mode, field =>
    field.type.file === undefined ? document.valueSchema(collection, field) : binary,
  )
  return { 'multipart/form-data': { schema } }
}

/** The paths of a collection's files. */
export function filePaths(document: Document, collection: Collection): [string, JsonSchema][] {
  return [...collection.fields.values()]
    .filter(({ type }) => type.file !== undefined)
    .flatMap(field => {
      const path = `${prefix}/${collection.name}/{id}/${field.name}`
      return [
        [path, writePath(document, collection, field)],
        [`${path}/{key}/{name}`, readPath(document, collection, field)],
      ]
    })
}

function writePath(document: Document, collection: Collection, field: Field): JsonSchema {
  if (!exists(collection, 'update') || !isOffered(field, 'merge')) return {}
  const of = `${field.name}_of_${collection.singular}`
  const summary = `the ${words(field.name)} of ${words(collection.singular)}`
  const accesses = [{ collection, operation: 'update' }] as const
  return {
    parameters: [idParameter],
    put: {
      ...base(document, { id: `put_${of}`, summary: `Set ${summary}`, accesses }),
      parameters: [named, ...headerParameters('If-Match', 'Idempotency-Key')],
      requestBody: content,
      responses: { 200: itemResponse(document, collection), ...errors('Update') },
    },
    ...(field.optional && {
      delete: {
        ...base(document, { id: `remove_${of}`, summary: `Remove ${summary}`, accesses }),
        parameters: headerParameters('If-Match', 'Idempotency-Key'),
        responses: { ...noContent, ...errors('Delete') },
      },
    }),
  }
}

function readPath(document: Document, collection: Collection, field: Field): JsonSchema {
  if (!exists(collection, 'read') || !visibleFields(collection).includes(field)) return {}
  const text = { type: 'string' }
  const inPath = (name: string, description: string) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: text,
  })
  return {
    parameters: [idParameter, inPath('key', 'As in its `url`.'), inPath('name', 'As in its `url`.')],
    get: {
      ...base(document, {
        id: `download_${field.name}_of_${collection.singular}`,
        summary: `Download the ${words(field.name)} of ${words(collection.singular)}`,
        accesses: [{ collection, operation: 'read' }],
      }),
      parameters: [
        queryParameter('download', 'Browsers save the file instead of showing it.', text),
        ...headerParameters('If-None-Match'),
        ...fileHeaders,
      ],
      responses: readResponses({
        description: 'The content. With `Range`, the response is 206 with a part of it, or 416.',
        content: { 'application/octet-stream': { schema: binary } },
      }),
    },
  }
}

/** The path of uploads; none in a model without files. */
export function uploadPath(document: Document): [string, JsonSchema][] {
  if (!document.model.collections.has('uploads')) return []
  const post = {
    operationId: document.operationId('create_upload'),
    summary: 'Upload a file',
    description:
      'The upload becomes the file of a field by `{"upload": "…"}` in a body. It belongs to the user and the app of the credential, is used once, and is removed after a day. Who may: everyone with a credential that may create or change an item with files.',
    tags: [uploadTag],
    security: requirements(false),
    parameters: [named],
    requestBody: content,
    responses: { 201: json('The upload.', schemaReference('Upload')), ...errors('Create') },
  }
  return [[`${prefix}/uploads`, { post }]]
}

export const uploadTag = 'uploads'

export function uploadSchemas({ collections }: Model): { readonly [name: string]: JsonSchema } {
  if (!collections.has('uploads')) return {}
  const text = { type: 'string' }
  const Upload = openapiSchema({
    type: 'object',
    required: ['upload', 'name', 'type', 'size', 'sha256'],
    properties: {
      upload: { ...text, description: 'Its id.' },
      name: text,
      type: { ...text, description: 'The media type, by its content.' },
      size: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
      sha256: text,
    },
  })
  return { Upload }
}
