/** Declared values of outputs and events, as GraphQL shows them. */
import type { InputValues } from '../../logic/operations/input.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Field } from '../../model/model.ts'

/** `shape`: their declarations, as the fields of a collection. */
export function shownValues({ fields }: Collection, values: InputValues): InputValues {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, shown(fields.get(name), value)]),
  )
}

/** A choice by the name of its enum value, an id as a text. */
function shown(field: Field | undefined, value: JsonValue): JsonValue {
  const { form, type } = field?.type.graphql ?? {}
  if (value === null || form === undefined) return value
  if (form === 'string') return String(value)
  const values = typeof type === 'object' && 'values' in type ? type.values : []
  return values.find(([, one]) => one === value)?.[0] ?? value
}
