/** The names of the schema that do not follow from a collection's own name. */
import { camelCase, pascalCase } from '../model/check/names.ts'
import type { Collection } from '../model/model.ts'

export { camelCase, pascalCase }

/** The types that a collection has, after its own name. */
const endings = ['', 'Connection', 'Edge', 'Filter', 'OrderBy']

/** Gives each wanted name, or the name with `Type` after it where something else has it already. */
export class Names {
  readonly #taken = new Set(['Query', 'Mutation', 'Subscription', 'ID', 'Int', 'Float', 'String', 'Boolean'])

  constructor(collections: Iterable<Collection>) {
    for (const { singular } of collections) {
      for (const ending of endings) this.#taken.add(pascalCase(singular) + ending)
    }
  }

  free(wanted: string): string {
    let name = wanted
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

/** A choice's value as an enum value: `in-progress` → `IN_PROGRESS`. */
export function choiceName(value: string): string {
  return value.toUpperCase().replaceAll('-', '_')
}
