/** The components of the OpenAPI document that are made on demand: each is written once, under a name of its own. */
import type { JsonSchema } from '../../model/fields/type.ts'

export interface Reference {
  readonly [key: string]: string
  readonly $ref: string
}

export function referTo(section: string, name: string): Reference {
  return { $ref: `#/components/${section}/${name}` }
}

/** `wished`, or that with a number where the name is taken. */
export function uniqueName(taken: Set<string>, wished: string): string {
  let name = wished
  for (let count = 2; taken.has(name); count += 1) name = `${wished}${count}`
  taken.add(name)
  return name
}

/** One section of the components: schemas, parameters or responses. */
export class Components {
  readonly #section: string
  readonly #taken: Set<string>
  readonly #references = new Map<unknown, Reference>()
  readonly #written: [string, JsonSchema][] = []

  /** `taken`: names of all sections, since some generators make a type of every component. */
  constructor(section: string, taken: Set<string>) {
    this.#section = section
    this.#taken = taken
  }

  /** The component of this key. `make` writes it, the first time. */
  refer(key: unknown, wished: string, make: (name: string) => JsonSchema): Reference {
    const known = this.#references.get(key)
    if (known) return known
    const name = uniqueName(this.#taken, wished)
    const made = referTo(this.#section, name)
    this.#references.set(key, made)
    this.#written.push([name, make(name)])
    return made
  }

  /** Those that were made so far. */
  get all(): { readonly [name: string]: JsonSchema } {
    return Object.fromEntries(this.#written)
  }
}
