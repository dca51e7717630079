/** What operations of the OpenAPI document share. */
import type { JsonSchema } from '../../model/fields/type.ts'
import type { Document } from './names.ts'
import { type Access, accessMembers } from './security.ts'

export interface Described {
  readonly id: string
  readonly summary: string
  /** What it does to which collections; first the collection that it belongs to. */
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
