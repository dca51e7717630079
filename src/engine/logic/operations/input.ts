/** The inputs and outputs of actions, queries, jobs and emitted events, checked as request bodies are. */
import { randomUUID } from 'node:crypto'
import { ApiError } from '../../../base/errors.ts'
import { idField } from '../../../model/builtin/builtin.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type {
  Collection,
  EmittedEvent,
  Field,
  Operation,
  OperationValue,
  Route,
} from '../../../model/model.ts'
import { plainField } from '../../../model/plain-field.ts'
import { anyoneRule } from '../../../model/rule/rule.ts'
import { bodyValidator } from '../../../model/validate.ts'

export type InputValues = JsonObject

function shapeOf(name: string, values: ReadonlyMap<string, OperationValue>): Collection {
  return collectionOfFields(name, new Map([...values].map(([key, value]) => [key, fieldOfValue(key, value)])))
}

/** A collection with these fields and without a table: values are validated, and faults reported, as for a request body. */
export function collectionOfFields(name: string, fields: ReadonlyMap<string, Field>): Collection {
  const access = { read: anyoneRule, create: anyoneRule, update: anyoneRule, delete: anyoneRule }
  return {
    ...{ name, singular: name, description: undefined, fields, relations: new Map(), computed: new Map() },
    ...{ prepare: undefined, check: undefined, limits: [], indexes: [], access, searchable: [] },
    ...{ deprecated: undefined, renamedFrom: undefined, unlogged: true },
  }
}

/** The field of a value; an item is represented by its id. */
export function fieldOfValue(name: string, value: OperationValue): Field {
  if (value.kind === 'field') return value.field
  return { ...plainField(name, idField.type), optional: value.optional }
}

const inputShapes = new WeakMap<Operation, Collection>()
const outputShapes = new WeakMap<Operation, Collection>()

/** The input as a collection: its fields give the JSON Schema, the validator and the defaults. */
export function inputShape(operation: Operation): Collection {
  const shape = inputShapes.get(operation) ?? shapeOf(operation.name, operation.input)
  inputShapes.set(operation, shape)
  return shape
}

export function outputShape(operation: Operation): Collection {
  const { output } = operation
  const values = output.kind === 'values' ? output.values : new Map<string, OperationValue>()
  const shape = outputShapes.get(operation) ?? shapeOf(operation.name, values)
  outputShapes.set(operation, shape)
  return shape
}

const emittedShapes = new WeakMap<EmittedEvent, Collection>()

/** The values of an event that actions emit. */
export function emittedShape(event: EmittedEvent): Collection {
  const shape = emittedShapes.get(event) ?? collectionOfFields(event.type.replaceAll('.', '_'), event.fields)
  emittedShapes.set(event, shape)
  return shape
}

const routeShapes = new WeakMap<Route, Collection>()

/** The input of a route. */
export function routeInputShape(route: Route): Collection {
  const shape = routeShapes.get(route) ?? collectionOfFields(route.name, route.input ?? new Map())
  routeShapes.set(route, shape)
  return shape
}

/** Whether all values may be omitted. */
export function isOptional({ fields }: Collection): boolean {
  return [...fields.values()].every(field => field.optional || field.default !== undefined)
}

/** Whether the whole input may be omitted. */
export function isInputOptional(operation: Operation): boolean {
  return isOptional(inputShape(operation))
}

/** The canonical input, without defaults. Throws VALIDATION_FAILED with all faults. */
export function checkedInput(operation: Operation, body: unknown): InputValues {
  return bodyValidator(inputShape(operation)).create(body).values
}

/** All declared values. A missing one gets its default, or null. `at`: the time, ISO 8601 UTC. */
export function withDefaults(
  { fields }: Collection,
  values: InputValues,
  at: string,
  userId: number | null,
): Record<string, JsonValue> {
  const complete: Record<string, JsonValue> = {}
  for (const [name, field] of fields) {
    complete[name] = values[name] !== undefined ? values[name] : defaultValue(field, at, userId)
  }
  return complete
}

function defaultValue({ default: declared, type }: Field, at: string, userId: number | null): JsonValue {
  switch (declared?.kind) {
    case undefined:
      return null
    case 'value':
      return declared.value
    case 'now':
      return type.encoding.now?.(at) ?? at
    case 'currentUser':
      return userId
    case 'currentApp':
      // The default of a relation, which no input is.
      return null
    case 'uuid':
      return randomUUID()
  }
}

/** The canonical output, defaults not yet set; or an error that tells the operator what is invalid. */
export function checkedOutput(operation: Operation, output: unknown): InputValues | Error {
  try {
    return bodyValidator(outputShape(operation)).create(withoutUndefined(idsOf(operation, output))).values
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const details = (error.details ?? []).map(({ message }) => message).join(' ')
    return new Error(details === '' ? error.message : details)
  }
}

/** If an output is an item, `run` may return the item or its id. */
function idsOf({ output }: Operation, returned: unknown): unknown {
  if (
    output.kind !== 'values' ||
    typeof returned !== 'object' ||
    returned === null ||
    Array.isArray(returned)
  )
    return returned
  return Object.fromEntries(
    Object.entries(returned).map(([name, value]) => {
      return [name, output.values.get(name)?.kind === 'item' ? itemId(value) : value]
    }),
  )
}

/** The `id` of an object; any other value unchanged. */
export function itemId(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, 'id') : value
}

function withoutUndefined(output: unknown): unknown {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return output
  return Object.fromEntries(Object.entries(output).filter(([, value]) => value !== undefined))
}
