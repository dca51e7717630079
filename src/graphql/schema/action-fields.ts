/** The fields of `Mutation` that are actions of the model. */
import { GraphQLBoolean, GraphQLID, GraphQLObjectType, type GraphQLOutputType } from 'graphql'
import { inputShape, outputShape } from '../../logic/operation-input.ts'
import type { Action, Collection, Model } from '../../model/model.ts'
import type { ItemTypes } from './item-types.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, type Names, pascalCase } from './names.ts'
import { type Arguments, nonNull, type SchemaField } from './parts.ts'

interface ActionTypes {
  readonly types: ItemTypes
  readonly names: Names
  readonly leafTypes: LeafTypes
  /** The arguments for the fields of a collection that is created. */
  readonly argumentsOf: (collection: Collection) => Arguments
}

export function actionFields(
  { logic }: Model,
  { types, names, leafTypes, argumentsOf }: ActionTypes,
): readonly (readonly [string, Action, SchemaField])[] {
  const outputType = (action: Action): GraphQLOutputType => {
    const { name, output } = action
    if (output.kind === 'nothing') return nonNull(GraphQLBoolean)
    if (output.kind === 'item') return types.type(types.collection(output.collection))
    const shape = outputShape(action)
    const fields = [...output.values].map(([key, value]): [string, SchemaField] => {
      if (value.kind === 'item')
        return [camelCase(key), { type: types.type(types.collection(value.collection)) }]
      const { field } = value
      const type = leafTypes.type(shape, field)
      return [camelCase(key), { type: field.optional ? type : nonNull(type), description: field.description }]
    })
    const payload = names.free(`${pascalCase(name)}Payload`)
    return nonNull(new GraphQLObjectType({ name: payload, fields: () => Object.fromEntries(fields) }))
  }
  return [...logic.actions.values()].map(action => {
    const id: Arguments = action.target === 'item' ? { id: { type: nonNull(GraphQLID) } } : {}
    const args = { ...id, ...argumentsOf(inputShape(action)) }
    const { description } = action
    return [camelCase(action.name), action, { type: outputType(action), args, description }] as const
  })
}
