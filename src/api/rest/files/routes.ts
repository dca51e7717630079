/** The paths of files: `/{collection}/{id}/{field}`, to write one, and `…/{key}/{name}`, to read it. */

import type { Call } from '../../../base/call.ts'
import { exists } from '../../../model/crud.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { isOffered } from '../../../model/schemas.ts'
import { isMediaType } from '../body.ts'
import type { Methods } from '../methods.ts'

export interface FileRoute {
  readonly kind: 'file'
  readonly collection: Collection
  readonly id: number
  readonly field: Field
  /** The end of the file's address, as it is sent. Undefined: the file of the field, whichever it is. */
  readonly file: string | undefined
}

/** `path`: the part after `/{collection}/{id}/`. */
export function fileRoute(collection: Collection, id: number, path: string): FileRoute | undefined {
  const end = path.indexOf('/')
  const field = collection.fields.get(end === -1 ? path : path.slice(0, end))
  if (field?.type.file === undefined) return undefined
  return { kind: 'file', collection, id, field, file: end === -1 ? undefined : path.slice(end + 1) }
}

const readMethods: Methods = ['GET', 'HEAD', 'OPTIONS']

export function fileMethods({ collection, field, file }: FileRoute): Methods {
  if (file !== undefined) return exists(collection, 'read') ? readMethods : []
  if (!exists(collection, 'update') || !isOffered(field, 'merge')) return []
  return field.optional ? ['PUT', 'DELETE', 'OPTIONS'] : ['PUT', 'OPTIONS']
}

const form: readonly string[] = ['multipart/form-data']

/** Whether the call creates or changes an item by a form, perhaps with files. */
export function isForm({ method, headers, parsed }: Pick<Call, 'method' | 'headers' | 'parsed'>): boolean {
  if (method !== 'POST' && method !== 'PATCH') return false
  const type = headers['content-type']
  // The boundary may be any text in quotes.
  return parsed === undefined && type !== undefined && isMediaType(type.split(';', 1)[0] ?? '', form)
}

/** Whether the collection has fields for files, which forms can write. */
export function takesForms({ fields }: Collection): boolean {
  return [...fields.values()].some(({ type }) => type.file !== undefined)
}
