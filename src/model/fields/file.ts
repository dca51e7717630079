/** Fields that hold a file. The column has what the API tells of it; its bytes are an object of the file store. */
import { isObject } from '../../base/json.ts'
import {
  declared,
  type FieldDeclaration,
  type FieldOptions,
  flag,
  type OptionCheck,
  type OptionFault,
} from './declared.ts'
import type { Encoding } from './encoding.ts'
import type { FieldType, FileBounds, GraphqlScalar } from './field-type.ts'
import { documentEncoding } from './json.ts'
import type { JsonSchema, JsonValue } from './type.ts'

/** A file as the API tells it. */
export interface StoredFile {
  /** The path of its content, which is guarded by the rules of the item and of the field. */
  readonly url: string
  readonly name: string
  /** The media type, by its content. */
  readonly type: string
  /** In bytes. */
  readonly size: number
  /** The SHA-256 of its content, in hexadecimal digits. */
  readonly sha256: string
}

/** The value that makes an upload the file of a field: it was made by the same user and app, and is used once. */
export interface FileUpload {
  readonly upload: string
}

/** The value of the column. `file`: the end of its address, the object's key and the encoded name. */
export interface FileValue extends Omit<StoredFile, 'url'> {
  readonly file: string
}

interface FileOptions
  extends Omit<FieldOptions, 'unique' | 'readOnly' | 'writeOnly' | 'internal' | 'signUp'> {
  /** The largest size, e.g. `'10 MB'`, or a number of bytes. Default: 10 MB. */
  readonly max?: string | number
  /** The accepted media types, e.g. `['image/*', 'application/pdf']`. Default: all. */
  readonly types?: readonly string[]
  /** Whether caches may keep the content for ever. It cannot be revoked: the address stays readable in every cache. */
  readonly public?: boolean
}

/** Of the name of a file, in UTF-8. Together with the rest of the value, it is within `maxBytes` of the encoding. */
export const maxNameBytes = 255

const defaultMaxBytes = 10_000_000
/** 5 TB: what an object of S3 may have. */
const greatestMaxBytes = 5_000_000_000_000

const units: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1000,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

/** Undefined for another value than a size. */
function bytesOf(size: unknown): number | undefined {
  const [, digits, unit = ''] =
    typeof size === 'string' ? (/^([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([kKMGT]?i?B)$/.exec(size) ?? []) : []
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  const bytes = factor === undefined ? size : Math.floor(Number(digits) * factor)
  return Number.isSafeInteger(bytes) && Number(bytes) > 0 && Number(bytes) <= greatestMaxBytes
    ? Number(bytes)
    : undefined
}

const size: OptionCheck = value =>
  bytesOf(value) === undefined ? "Write a size of at most 5 TB, e.g. '10 MB'." : undefined

const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,127})$/

const mediaTypes: OptionCheck = value =>
  Array.isArray(value) && value.length > 0 && value.every(type => mediaType.test(String(type)))
    ? undefined
    : "Write media types in lower case, e.g. `['image/*', 'application/pdf']`."

const isAlwaysShown: OptionCheck = value =>
  value === false
    ? undefined
    : 'A file field is written by uploads, and read by its address. Remove the option.'

/** Whether a field accepts a media type. */
export function acceptsType({ types }: Pick<FileBounds, 'types'>, type: string): boolean {
  return (
    types === undefined ||
    types.some(
      accepted => accepted === type || (accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1))),
    )
  )
}

const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' }

/** A file in an answer. */
const storedSchema: JsonSchema = {
  type: 'object',
  properties: {
    url: { type: 'string', format: 'uri-reference', description: 'The path of its content.' },
    name: { type: 'string', maxLength: maxNameBytes },
    type: { type: 'string', description: 'The media type, by its content.' },
    size: { type: 'integer', minimum: 0, maximum: greatestMaxBytes, description: 'In bytes.' },
    sha256: { ...sha256, description: 'The SHA-256 of its content.' },
  },
  required: ['url', 'name', 'type', 'size', 'sha256'],
  additionalProperties: false,
}

const uploadSchema: JsonSchema = {
  type: 'object',
  properties: {
    upload: { type: 'string', maxLength: 100, description: 'The id of an upload, which is used once.' },
  },
  required: ['upload'],
  additionalProperties: false,
}

/** An upload, or the file that the item has. */
const bodySchema: JsonSchema = { anyOf: [uploadSchema, storedSchema] }

function isFileValue(value: JsonValue): boolean {
  return isObject(value) && typeof value.file === 'string'
}

/** Uploads are replaced by `FileValue`s before they are stored: see `engine/store/write/files.ts`. */
export const fileEncoding: Encoding = {
  ...documentEncoding,
  name: 'file',
  encode(value) {
    if (isFileValue(value)) return JSON.stringify(value)
    throw new TypeError('A file is set by an upload: `prepare` can only remove it.')
  },
  maxBytes: 2048,
  namesObjects: true,
  // In the JSON of an event, a missing value is a null of JSON.
  sqlite: {
    ...documentEncoding.sqlite,
    logged: (event, member) => `nullif(${event} -> ${member}, 'null')`,
  },
  postgres: {
    ...documentEncoding.postgres,
    logged: (event, member) => `nullif((${event}::json -> ${member})::text, 'null')::json`,
  },
}

const upload: GraphqlScalar = {
  name: 'FileUpload',
  description:
    'An upload that becomes the file of a field: `{upload: "…"}`. It is made by `POST /api/v1/uploads`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
}

function fileType(bounds: FileBounds): FieldType {
  return {
    name: 'file',
    encoding: fileEncoding,
    graphql: {
      type: upload,
      object: {
        name: 'StoredFile',
        description: 'A file. Its `url` is guarded by the rules of its item and field.',
        fields: { url: 'String', name: 'String', type: 'String', size: 'Float', sha256: 'String' },
      },
    },
    file: bounds,
    operators: ['null'],
    sortable: false,
    schema: bodySchema,
    answerSchema: storedSchema,
    canonical: value => value,
    filterSchema: {},
    fromText: () => undefined,
  }
}

function typeFaults(types: unknown, isPublic: unknown): readonly OptionFault[] {
  if (isPublic !== true || types !== undefined) return []
  return [{ option: 'public', message: "A public file needs `types`, e.g. `types: ['image/*']`." }]
}

/** A file: uploaded by `multipart/form-data`, `PUT` or `{ upload }`, read as `{ url, name, type, size, sha256 }`. */
export function file<const O extends FileOptions>(options?: O): FieldDeclaration<StoredFile, O> {
  const { max = defaultMaxBytes, types, public: isPublic } = (options ?? {}) as FileOptions
  return declared({
    type: fileType({
      maxBytes: bytesOf(max) ?? defaultMaxBytes,
      types: mediaTypes(types) === undefined ? types : undefined,
      isPublic: isPublic === true,
    }),
    options,
    checks: {
      max: size,
      types: mediaTypes,
      public: flag,
      unique: isAlwaysShown,
      readOnly: isAlwaysShown,
      writeOnly: isAlwaysShown,
      internal: isAlwaysShown,
      signUp: isAlwaysShown,
    },
    faults: typeFaults(types, isPublic),
  })
}
