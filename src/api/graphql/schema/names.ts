/** The names of types, enum values and orders. */
import { camelCase, pascalCase } from '../../../model/check/names.ts'
import type { Collection } from '../../../model/model.ts'

export { camelCase, pascalCase }

/** Each collection has a type with each of these suffixes. */
const suffixes = ['', 'Connection', 'Edge', 'Filter', 'OrderBy']

/** Names for types that do not belong to a collection. If the preferred name is taken, `Type` is appended. */
export class TypeNames {
  readonly #taken = new Set(['Query', 'Mutation', 'Subscription', 'ID', 'Int', 'Float', 'String', 'Boolean'])

  constructor(collections: Iterable<Collection>) {
    for (const { singular } of collections) {
      for (const suffix of suffixes) this.#taken.add(pascalCase(singular) + suffix)
    }
  }

  /** Returns a name that no other type has, and reserves it. */
  reserve(preferred: string): string {
    let name = preferred
    while (this.#taken.has(name)) name += 'Type'
    this.#taken.add(name)
    return name
  }
}

export function typeName({ singular }: Collection): string {
  return pascalCase(singular)
}

/** `created_at`, descending → `CREATED_AT_DESC`. */
export function orderName(field: string, descending: boolean): string {
  return `${field.toUpperCase()}_${descending ? 'DESC' : 'ASC'}`
}
