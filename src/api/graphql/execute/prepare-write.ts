/** A mutation field → a write that is ready to run, and the field's value. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { OperationParts } from '../../../engine/logic/operations/call.ts'
import type { WriteAnswer } from '../../../engine/plan/answer.ts'
import { admit } from '../../../engine/plan/guard/guard.ts'
import type {
  Assignment,
  CompositeShape,
  CreateShape,
  DeleteShape,
  Plan,
  UpdateShape,
  WriteShape,
} from '../../../engine/plan/plan.ts'
import { type CreateHooks, type Creation, emptyCreation, type Run } from '../../../engine/plan/run.ts'
import type { JsonObject, JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { readInput, type Variables } from '../plan/input.ts'
import { revealedKey } from '../plan/reply-fields.ts'
import type { WriteStep } from '../plan/variant.ts'
import { camelCase } from '../schema/names.ts'

export interface MutationParts {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  readonly logic: OperationParts
}

/** A step that is ready to run. */
export interface PreparedStep {
  /** Returns the field's value. Pure. Throws if the field fails although its write succeeded. */
  readonly value: (answer: WriteAnswer) => unknown
  /** The plan that decides which fields of the value are refused; undefined if the value has no fields. */
  readonly refusalPlan: Plan<CreateShape | UpdateShape | CompositeShape> | undefined
}

/** A write that is ready to run. */
export interface PreparedWrite extends PreparedStep {
  readonly plan: Plan<WriteShape>
  readonly afterwards?: Creation['afterwards']
}

interface WriteRequest {
  readonly step: WriteStep
  readonly variables: Variables
  readonly principal: Principal
}

/** Throws or rejects with an `ApiError` that names the model's fields: see `withArgumentNames`. */
export function prepareWrite(parts: MutationParts, request: WriteRequest): Awaitable<PreparedWrite> {
  const { step, principal } = request
  // Comes before validation, so that a caller without the right learns nothing about the values.
  admit(parts.model, step.collection, step.kind, principal.access)
  if (step.kind === 'create') return prepareCreate(parts, request)
  return step.kind === 'update' ? prepareUpdate(request) : prepareDelete(request)
}

function prepareCreate({ hooks }: MutationParts, { step, variables, principal }: WriteRequest) {
  const { collection } = step
  const { values } = bodyValidator(collection).create(bodyOf(collection, step.values, variables))
  const creation = hooks.get(collection.name)?.(values, principal) ?? emptyCreation
  return then(creation, settled => planCreate(step, variables, values, settled))
}

function planCreate(
  step: WriteStep,
  variables: Variables,
  values: JsonObject,
  { computed: computedValues, revealed, limit, afterwards }: Creation,
): PreparedWrite {
  const { collection, select } = step
  const args = step.getters.map(getter => getter(variables))
  const set = assign(collection, values, args)
  const computed = assign(collection, computedValues, args)
  const shape = shapeFor(step, [...set, ...computed], (): CreateShape => {
    return { kind: 'create', collection: collection.name, set, computed, limit, select, lenient: true }
  })
  const plan = { shape, args }
  const revealedEntries = Object.entries(revealed).map(([name, value]) => [revealedKey(name), value])
  const value = ({ id, text }: WriteAnswer) => {
    if (text === null) throw unreadableError(step, id)
    return { ...JSON.parse(text), ...Object.fromEntries(revealedEntries) }
  }
  return { plan, value, refusalPlan: plan, afterwards }
}

function prepareUpdate({ step, variables }: WriteRequest): PreparedWrite {
  const { collection, select } = step
  const { values } = bodyValidator(collection).merge(bodyOf(collection, step.values, variables))
  const args = step.getters.map(getter => getter(variables))
  const set = assign(collection, values, args)
  const id = args.push(step.id?.(variables) ?? 0) - 1
  const shape = shapeFor(step, set, (): UpdateShape => {
    const fixed = { kind: 'update', mode: 'merge', ifMatch: undefined, lenient: true } as const
    return { ...fixed, collection: collection.name, id, set, select }
  })
  const plan = { shape, args }
  return { plan, value: ({ text }) => (text === null ? null : JSON.parse(text)), refusalPlan: plan }
}

function prepareDelete({ step, variables }: WriteRequest): PreparedWrite {
  const shape = shapeFor(step, [], (): DeleteShape => {
    return { kind: 'delete', collection: step.collection.name, id: 0, ifMatch: undefined }
  })
  const plan = { shape, args: [step.id?.(variables) ?? 0] }
  return { plan, value: ({ id }) => String(id), refusalPlan: undefined }
}

const pastTenses = { create: 'created', update: 'changed', delete: 'deleted' } as const

/** As in REST, a caller who may not read the item still learns its id, so that it does not create the item again. */
export function unreadableError({ collection, kind }: WriteStep, id: number): ApiError {
  return new ApiError(
    'NOT_FOUND',
    `Item ${id} of ${collection.name} was ${pastTenses[kind]}, but you may not see it.`,
  )
}

/** The values, as in the body of a REST request. */
export function bodyOf(
  collection: Collection,
  values: WriteStep['values'],
  variables: Variables,
): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [name, input] of values) {
    const value = readInput(input, variables)
    const fromInput = collection.fields.get(name)?.type.graphql.fromInput
    if (value !== undefined) body[name] = fromInput && value !== null ? fromInput(value) : value
  }
  return body
}

/** Assigns the values in the model's order, and adds them to the arguments. */
function assign({ fields }: Collection, values: JsonObject, args: JsonValue[]): readonly Assignment[] {
  return [...fields.keys()].flatMap(field => {
    const value = Object.hasOwn(values, field) ? values[field] : undefined
    return value === undefined ? [] : [{ field, param: args.push(value) - 1 }]
  })
}

const shapes = new WeakMap<WriteStep, Map<string, WriteShape>>()

/** Writes of a step that set the same fields share a shape. */
function shapeFor<S extends WriteShape>(step: WriteStep, set: readonly Assignment[], create: () => S): S {
  const stepShapes = shapes.get(step) ?? new Map<string, WriteShape>()
  shapes.set(step, stepShapes)
  const key = set.map(({ field }) => field).join(' ')
  // All shapes of a step have the step's kind.
  const cached = stepShapes.get(key) as S | undefined
  if (cached) return cached
  const shape = create()
  stepShapes.set(key, shape)
  return shape
}

/** Replaces the model's field names in an error by the mutation's argument names. */
export function withArgumentNames(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, message, scope, headers, cause } = error
  if (!error.details) return error
  const names = [...new Set(error.details.map(fieldOf))]
  const details = error.details.map((fault): FieldFault => {
    const name = fieldOf(fault)
    const field = camelCase(name) + fault.field.slice(name.length)
    return { field, code: fault.code, message: names.reduce(renameField, fault.message) }
  })
  return new ApiError(code, names.reduce(renameField, message), {
    details,
    ...(scope === undefined ? {} : { scope }),
    ...(headers === undefined ? {} : { headers }),
    cause,
  })
}

/** For a part of a JSON field, the path follows the field's name. */
function fieldOf({ field }: FieldFault): string {
  return /^\w*/.exec(field)?.[0] ?? ''
}

function renameField(message: string, name: string): string {
  return name === '' ? message : message.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), camelCase(name))
}
