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
