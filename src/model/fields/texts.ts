import { declared, type FieldDeclaration, type FieldOptions } from './declared.ts'
import { jsonType } from './json.ts'
import type { JsonSchema } from './type.ts'

interface ListBounds {
  readonly minItems?: number
  readonly maxItems: number
}

/** A JSON array of distinct strings, of built-in collections. `items`: the schema of each. */
export function texts<const O extends FieldOptions>(
  items: JsonSchema,
  bounds: ListBounds,
  options: O,
): FieldDeclaration<readonly string[], O> {
  return declared({
    type: jsonType({ type: 'array', items, uniqueItems: true, ...bounds }),
    options,
    checks: {},
  })
}
