/** The values that a GraphQL field sets, or passes to an operation. */
import type { Collection } from '../../../model/model.ts'
import { camelCase } from '../schema/names.ts'
import type { Input } from './input.ts'

/** By the field's name, in the model's order, so that mutations that set the same fields share a shape. */
export function inputsByField(
  collection: Collection,
  inputs: ReadonlyMap<string, Input>,
): ReadonlyMap<string, Input> {
  const result = new Map<string, Input>()
  for (const field of collection.fields.values()) {
    const input = field.name === 'id' ? undefined : inputs.get(camelCase(field.name))
    if (input) result.set(field.name, input)
  }
  return result
}
