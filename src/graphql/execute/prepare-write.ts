/** A mutation field → a write that is ready to run, and the field's value. */
import { ApiError, type FieldFault } from '../../errors.ts'
import type { OperationParts } from '../../logic/operations/call.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import { bodyValidator } from '../../model/validate.ts'
import { type Awaitable, then, type WriteAnswer } from '../../plan/answer.ts'
import { admit } from '../../plan/guard.ts'
import type {
  Assignment,
  CompositeShape,
  CreateShape,
  DeleteShape,
  Plan,
  UpdateShape,
  WriteShape,
} from '../../plan/plan.ts'
import type { CreateHooks, Creation, Run } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
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
  /** Pure. The field's value. Throws if the field fails although its write succeeded. */
  readonly value: (answer: WriteAnswer) => unknown
  /** The plan whose refusals apply to the fields of the value; undefined if the value has no fields. */
  readonly refusing: Plan<CreateShape | UpdateShape | CompositeShape> | undefined
  /** The principal whose refusals apply; by default the caller. */
  readonly refusingAs?: Principal
}

/** A write that is ready to run. */
export interface PreparedWrite extends PreparedStep {
  readonly plan: Plan<WriteShape>
  readonly afterwards?: Creation['afterwards']
}

interface Writing {
  readonly step: WriteStep
  readonly variables: Variables
  readonly principal: Principal
}

/** Throws or rejects with an `ApiError` that names the model's fields: see `inArguments`. */
export function prepareWrite(parts: MutationParts, writing: Writing): Awaitable<PreparedWrite> {
  const { step, principal } = writing
  // Before validation: a caller without the right learns nothing about the values.
  admit(parts.model, step.collection, step.kind, principal.access)
  if (step.kind === 'create') return prepareCreate(parts, writing)
  return step.kind === 'update' ? prepareUpdate(writing) : prepareDelete(writing)
}

const noHook: Creation = { computed: {}, revealed: {} }

function prepareCreate({ hooks }: MutationParts, { step, variables, principal }: Writing) {
  const { collection } = step
  const { values } = bodyValidator(collection).create(given(collection, step.values, variables))
  const made = hooks.get(collection.name)?.(values, principal) ?? noHook
  return then(made, creation => preparedCreate(step, variables, values, creation))
}

function preparedCreate(
  step: WriteStep,
  variables: Variables,
  values: Readonly<Record<string, JsonValue>>,
  { computed: own, revealed, most, afterwards }: Creation,
): PreparedWrite {
  const { collection, select } = step
  const args = step.getters.map(getter => getter(variables))
  const set = assign(collection, values, args)
  const computed = assign(collection, own, args)
  const shape = shapeOf(step, [...set, ...computed], (): CreateShape => {
    return { kind: 'create', collection: collection.name, set, computed, most, select, lenient: true }
  })
  const plan = { shape, args }
  const added = Object.entries(revealed).map(([name, value]) => [revealedKey(name), value])
  const value = ({ id, text }: WriteAnswer) => {
    if (text === null) throw unseen(step, id)
    return { ...JSON.parse(text), ...Object.fromEntries(added) }
  }
  return { plan, value, refusing: plan, afterwards }
}

function prepareUpdate({ step, variables }: Writing): PreparedWrite {
  const { collection, select } = step
  const { values } = bodyValidator(collection).merge(given(collection, step.values, variables))
  const args = step.getters.map(getter => getter(variables))
  const set = assign(collection, values, args)
  const id = args.push(step.id?.(variables) ?? 0) - 1
  const shape = shapeOf(step, set, (): UpdateShape => {
    const fixed = { kind: 'update', mode: 'merge', ifMatch: undefined, lenient: true } as const
    return { ...fixed, collection: collection.name, id, set, select }
  })
  const plan = { shape, args }
  return { plan, value: ({ text }) => (text === null ? null : JSON.parse(text)), refusing: plan }
}

function prepareDelete({ step, variables }: Writing): PreparedWrite {
  const shape = shapeOf(step, [], (): DeleteShape => {
    return { kind: 'delete', collection: step.collection.name, id: 0, ifMatch: undefined }
  })
  const plan = { shape, args: [step.id?.(variables) ?? 0] }
  return { plan, value: ({ id }) => String(id), refusing: undefined }
}

const deeds = { create: 'made', update: 'changed', delete: 'deleted' } as const

/** As in REST, a caller who may not read the item still learns its id, and so does not create it again. */
export function unseen({ collection, kind }: WriteStep, id: number): ApiError {
  return new ApiError(
    'NOT_FOUND',
    `Item ${id} of ${collection.name} was ${deeds[kind]}, but you may not see it.`,
  )
}

/** The values as in a REST body. */
export function given(
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
function assign(
  { fields }: Collection,
  values: Readonly<Record<string, JsonValue>>,
  args: JsonValue[],
): readonly Assignment[] {
  return [...fields.keys()].flatMap(field => {
    const value = Object.hasOwn(values, field) ? values[field] : undefined
    return value === undefined ? [] : [{ field, param: args.push(value) - 1 }]
  })
}

const shapes = new WeakMap<WriteStep, Map<string, WriteShape>>()

/** Writes of a step that set the same fields share a shape. */
function shapeOf<S extends WriteShape>(step: WriteStep, set: readonly Assignment[], make: () => S): S {
  const known = shapes.get(step) ?? new Map<string, WriteShape>()
  shapes.set(step, known)
  const key = set.map(({ field }) => field).join(' ')
  // All shapes of a step have the step's kind.
  const found = known.get(key) as S | undefined
  if (found) return found
  const made = make()
  known.set(key, made)
  return made
}

/** Replaces the model's field names in an error by the mutation's argument names. */
export function inArguments(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  const { code, message, scope, headers, cause } = error
  if (!error.details) return error
  const names = [...new Set(error.details.map(fieldOf))]
  const details = error.details.map((fault): FieldFault => {
    const name = fieldOf(fault)
    const field = camelCase(name) + fault.field.slice(name.length)
    return { field, code: fault.code, message: names.reduce(renamed, fault.message) }
  })
  return new ApiError(code, names.reduce(renamed, message), {
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

function renamed(message: string, name: string): string {
  return name === '' ? message : message.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), camelCase(name))
}
