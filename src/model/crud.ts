/** The operations of a collection that exist on every transport: those that the model allows to somebody. */
import type { Collection, CrudOperation } from './model.ts'
import { isOffered } from './schemas.ts'

/** An update exists only if there is a field that it could set. */
export function exists(collection: Collection, operation: CrudOperation): boolean {
  if (collection.access[operation].kind === 'nobody') return false
  return operation !== 'update' || [...collection.fields.values()].some(field => isOffered(field, 'merge'))
}
