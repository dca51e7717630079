/** The input of actions and queries. */
import type { Call } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import {
  checkedInput,
  collectionOfFields,
  fieldOfValue,
  type InputValues,
  isInputOptional,
} from '../../../engine/logic/operations/input.ts'
import { quoted } from '../../../engine/plan/names.ts'
import type { BuiltinAction } from '../../../model/builtin/actions.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field, Operation } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { readBody } from '../body.ts'
import { parseId } from '../path-id.ts'
import { describeSchema } from '../query/filter.ts'
import { itemParameters } from '../query/item.ts'
import {
  type Parameter,
  parameterFault,
  parseQuery,
  requireValue,
  unknownParameter,
} from '../query/query-string.ts'
import { json } from '../write.ts'

/** For actions without an input. `{}` is accepted, because some clients send it with every POST. */
function refuseBody({ body, parsed }: Call): void {
  if (parsed === undefined && (body.length === 0 || body.toString('latin1').trim() === '{}')) return
  if (parsed !== undefined && JSON.stringify(parsed.body) === '{}') return
  throw new ApiError('BAD_REQUEST', 'This action takes no body: omit it.')
}

/**
 * The body of a POST; it may be empty if the whole input is optional. Throws BAD_REQUEST, UNSUPPORTED_MEDIA_TYPE, or
 * VALIDATION_FAILED with all faults.
 */
export function bodyInput(operation: Operation, call: Call): InputValues {
  if (operation.input.size === 0) {
    refuseBody(call)
    return {}
  }
  const isEmpty = call.parsed === undefined && call.body.length === 0
  if (isEmpty && isInputOptional(operation)) return {}
  return checkedInput(operation, readBody(call, json))
}

const shapes = new WeakMap<BuiltinAction, Collection>()

/** The input as a collection, e.g. for its schema; undefined if the action has none. */
export function builtinShape(action: BuiltinAction): Collection | undefined {
  if (action.input === undefined) return undefined
  const shape = shapes.get(action) ?? collectionOfFields(action.name, action.input)
  shapes.set(action, shape)
  return shape
}

/** The body of a POST to a built-in action. Throws as `bodyInput`. */
export function builtinInput(action: BuiltinAction, call: Call): InputValues {
  const shape = builtinShape(action)
  if (shape !== undefined) return bodyValidator(shape).create(readBody(call, json)).values
  refuseBody(call)
  return {}
}

/** The input of an action or a query. */
export interface OperationInput {
  readonly id: number | undefined
  readonly input: InputValues
  /** The parameters of the answer, encoded. */
  readonly answerQuery: string
}

/** The parameters of a GET. Throws BAD_REQUEST, naming the parameter, or VALIDATION_FAILED with all faults. */
export function queryInput(operation: Operation, query: string): OperationInput {
  const values: Record<string, JsonValue> = {}
  const answerParameters: string[] = []
  let id: number | undefined
  for (const parameter of parseQuery(query)) {
    const { name, value } = parameter
    const declared = operation.input.get(name)
    if (declared) {
      values[name] = valueOfParameter(parameter, fieldOfValue(name, declared))
      continue
    }
    requireValue(parameter)
    if (name === 'id' && operation.target === 'item') id = idOf(parameter)
    else if (operation.output.kind === 'item' && itemParameters.includes(name)) {
      answerParameters.push(`${name}=${encodeURIComponent(value)}`)
    } else throw unknownParameter(name, parametersOf(operation))
  }
  if (operation.target === 'item' && id === undefined) {
    throw parameterFault('id', 'required', 'The parameter "id" is required: the id of the item.')
  }
  return { id, input: checkedInput(operation, values), answerQuery: answerParameters.join('&') }
}

function parametersOf({ input, target, output }: Operation): readonly string[] {
  return [
    ...input.keys(),
    ...(target === 'item' ? ['id'] : []),
    ...(output.kind === 'item' ? itemParameters : []),
  ]
}

/** The value of a text in a query or a form. Throws BAD_REQUEST. */
export function valueOfParameter(parameter: Parameter, { type }: Field): JsonValue {
  const { name, value } = parameter
  const parsed = type.fromText(value)
  if (parsed !== undefined) return parsed
  requireValue(parameter)
  const expected = describeSchema(type.filterSchema)
  throw parameterFault(
    name,
    'wrong_type',
    `The parameter ${quoted(name)} must be ${expected}, not ${quoted(value)}.`,
  )
}

function idOf({ value }: Parameter): number {
  const id = parseId(value, 0, value.length)
  if (id > 0) return id
  throw parameterFault('id', 'wrong_type', `The parameter "id" must be a whole number, not ${quoted(value)}.`)
}
