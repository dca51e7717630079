/** The types of events that actions emit: the item of the event, and its values. */
import { type GraphQLFieldConfigMap, GraphQLObjectType } from 'graphql'
import { emittedShape } from '../../../engine/logic/operations/input.ts'
import type { Collection, EmittedEvent } from '../../../model/model.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, pascalCase, type TypeNames } from './names.ts'
import { nonNull, type SchemaField } from './parts.ts'

interface EmittedTypes {
  readonly names: TypeNames
  readonly leafTypes: LeafTypes
  readonly itemType: (collection: Collection) => GraphQLObjectType
}

/** `project.archived` → `projectArchived`. */
export function emittedField({ type }: EmittedEvent): string {
  return camelCase(type.replace('.', '_'))
}

export function emittedType(
  collection: Collection,
  event: EmittedEvent,
  { names, leafTypes, itemType }: EmittedTypes,
): GraphQLObjectType {
  const name = pascalCase(emittedField(event))
  const shape = emittedShape(event)
  const values = [...event.fields.values()].map((field): [string, SchemaField] => {
    const type = leafTypes.type(shape, field)
    const { description } = field
    return [camelCase(field.name), { type: field.optional ? type : nonNull(type), description }]
  })
  const fields: GraphQLFieldConfigMap<unknown, unknown> = {
    data: { type: nonNull(itemType(collection)), description: 'The item of the event.' },
  }
  if (values.length > 0) {
    const type = new GraphQLObjectType({
      name: names.reserve(`${name}Values`),
      fields: () => Object.fromEntries(values),
    })
    fields['values'] = { type: nonNull(type) }
  }
  return new GraphQLObjectType({ name: names.reserve(`${name}Event`), fields })
}
