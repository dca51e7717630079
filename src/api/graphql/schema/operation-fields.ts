/** The root fields that are actions and queries of the model. */
import { GraphQLBoolean, GraphQLID, GraphQLObjectType, type GraphQLOutputType } from 'graphql'
import { inputShape, outputShape } from '../../../engine/logic/operations/input.ts'
import type { Collection, Operation } from '../../../model/model.ts'
import type { ItemTypes } from './item-types.ts'
import type { LeafTypes } from './leaf-types.ts'
import { camelCase, pascalCase, type TypeNames } from './names.ts'
import { type Arguments, nonNull, type SchemaField } from './parts.ts'

interface OperationFieldParts {
  /** What follows the operation's name in the name of its output type. */
  readonly suffix: 'Payload' | 'Result'
  readonly types: ItemTypes
  readonly names: TypeNames
  readonly leafTypes: LeafTypes
  /** The arguments that set the fields of a new item. */
  readonly argumentsOf: (collection: Collection) => Arguments
}

export function operationFields<T extends Operation>(
  operations: ReadonlyMap<string, T>,
  { types, names, leafTypes, argumentsOf, suffix }: OperationFieldParts,
): readonly (readonly [string, T, SchemaField])[] {
  const outputType = (operation: T): GraphQLOutputType => {
    const { name, output } = operation
    if (output.kind === 'nothing') return nonNull(GraphQLBoolean)
    if (output.kind === 'item') return types.type(types.collection(output.collection))
    const shape = outputShape(operation)
    const fields = [...output.values].map(([key, value]): [string, SchemaField] => {
      if (value.kind === 'item')
        return [camelCase(key), { type: types.type(types.collection(value.collection)) }]
      const { field } = value
      const type = leafTypes.type(shape, field)
      return [camelCase(key), { type: field.optional ? type : nonNull(type), description: field.description }]
    })
    const payload = names.reserve(`${pascalCase(name)}${suffix}`)
    return nonNull(new GraphQLObjectType({ name: payload, fields: () => Object.fromEntries(fields) }))
  }
  return [...operations.values()].map(operation => {
    const id: Arguments = operation.target === 'item' ? { id: { type: nonNull(GraphQLID) } } : {}
    const args = { ...id, ...argumentsOf(inputShape(operation)) }
    const { description } = operation
    return [camelCase(operation.name), operation, { type: outputType(operation), args, description }] as const
  })
}
