/** Shared parts of the operations in the OpenAPI document. */
import type { JsonSchema } from '../../../model/fields/type.ts'
import type { Document } from './names.ts'
import { type Access, accessMembers } from './security.ts'

export interface Described {
  readonly id: string
  readonly summary: string
  /** Each collection with what the operation does to it. The first one is the collection that it belongs to. */
  readonly accesses: readonly [Access, ...Access[]]
  readonly signedIn?: boolean
}

/** The members that every operation on a collection has. */
export function base(document: Document, { id, summary, accesses, signedIn }: Described): JsonSchema {
  const [{ collection }] = accesses
  return {
    operationId: document.operationId(id),
    summary,
    tags: [collection.name],
    ...accessMembers(document.model, accesses, signedIn),
    ...(collection.deprecated && { deprecated: true }),
  }
}

/** `base` of an operation whose answer can also be exported. In words: generators take a second media type for a second type of data. */
export function exportedBase(document: Document, described: Described): JsonSchema {
  const { description, ...members } = base(document, described)
  const note =
    'With `Accept: text/csv` or `application/x-ndjson`, the response is a stream of all of them, unless the query names a page.'
  return { ...members, description: `${String(description)} ${note}` }
}
