/** Components of the OpenAPI document that are created on demand, each once and under a unique name. */
import type { JsonSchema } from '../../../model/fields/type.ts'

export interface Reference {
  readonly [key: string]: string
  readonly $ref: string
}

export function referTo(section: string, name: string): Reference {
  return { $ref: `#/components/${section}/${name}` }
}

export function schemaReference(name: string): Reference {
  return referTo('schemas', name)
}

/** `preferredName`, with a number appended if it is taken. */
export function uniqueName(taken: Set<string>, preferredName: string): string {
  let name = preferredName
  for (let count = 2; taken.has(name); count += 1) name = `${preferredName}${count}`
  taken.add(name)
  return name
}

/** One section of the components: schemas, parameters or responses. */
export class Components {
  readonly #section: string
  readonly #taken: Set<string>
  readonly #references = new Map<unknown, Reference>()
  readonly #components: [string, JsonSchema][] = []

  /** `taken`: names of all sections, since some generators make a type of every component. */
  constructor(section: string, taken: Set<string>) {
    this.#section = section
    this.#taken = taken
  }

  /** The component with this key, created by `make` when it is first needed. */
  refer(key: unknown, preferredName: string, make: (name: string) => JsonSchema): Reference {
    const cached = this.#references.get(key)
    if (cached) return cached
    const name = uniqueName(this.#taken, preferredName)
    const reference = referTo(this.#section, name)
    this.#references.set(key, reference)
    this.#components.push([name, make(name)])
    return reference
  }

  /** The components created so far. */
  get all(): { readonly [name: string]: JsonSchema } {
    return Object.fromEntries(this.#components)
  }
}
