/** Declared values of outputs and events, as GraphQL returns them. */
import type { InputValues } from '../../../engine/logic/operations/input.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'

/** `fields`: the declarations of the values. */
export function graphqlValues({ fields }: Collection, values: InputValues): InputValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, graphqlValue(fields.get(name), value)]),
  )
}

/** A choice becomes the name of its enum value, and an id becomes a text. */
function graphqlValue(field: Field | undefined, value: JsonValue): JsonValue {
  const { form, type } = field?.type.graphql ?? {}
  if (value === null || form === undefined) return value
  if (form === 'string') return String(value)
  const values = typeof type === 'object' && 'values' in type ? type.values : []
  return values.find(([, choice]) => choice === value)?.[0] ?? value
}
