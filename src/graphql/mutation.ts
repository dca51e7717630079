/** Mutations: one after the other, each a write whose result is read back within its transaction. */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError, type FieldFault } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Collection, Model } from '../model/model.ts'
import { bodyValidator } from '../model/validate.ts'
import { admit } from '../plan/guard.ts'
import type { Assignment, CreateShape, DeleteShape, Plan, UpdateShape, WriteShape } from '../plan/plan.ts'
import type { CreateHooks, Creation, Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import { byPlace, Completion, FieldFailure } from './completion.ts'
import type { Executed, ExecutionContext } from './engine.ts'
import { readInput, type Variables } from './input.ts'
import { camelCase } from './names.ts'
import { idOf } from './parameters.ts'
import { executed } from './reply.ts'
import { revealedKey } from './revealed.ts'
import type { MutationVariant, WriteStep } from './variant.ts'

export interface BoundMutation {
  readonly variant: MutationVariant
  readonly variables: Variables
  readonly cost: number
}

export type ExecuteMutation = (
  bound: BoundMutation,
  principal: Principal,
  context: ExecutionContext,
) => Promise<Executed>

/** What a write gave. `plan`: what tells which parts of the value are left out. */
interface Outcome {
  readonly value: unknown
  readonly plan: Plan<CreateShape | UpdateShape> | undefined
}

interface Writing {
  readonly step: WriteStep
  readonly variables: Variables
  readonly principal: Principal
}

/** What writes are made with. */
interface Parts {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
}

export function createMutation(model: Model, run: Run, hooks: CreateHooks): ExecuteMutation {
  const parts = { model, run, hooks }
  return async (bound, principal, context) => {
    const { variant, cost } = bound
    const errors: GraphQLFormattedError[] = []
    const data: Record<string, unknown> = Object.create(null)
    try {
      for (const step of variant.steps) {
        data[step.picked.key] =
          step.kind === 'constant' ? step.value : await answer(parts, step, bound, principal, context, errors)
      }
      return executed(JSON.stringify(data), errors, cost)
    } catch (error) {
      if (!(error instanceof FieldFailure)) throw error
      return executed('null', [...errors, error.formatted], cost)
    }
  }
}

/** The reply's value of one mutation. Throws a `FieldFailure` where it fails and cannot be null. */
async function answer(
  parts: Parts,
  step: WriteStep,
  { variables }: BoundMutation,
  principal: Principal,
  { onFault }: ExecutionContext,
  errors: GraphQLFormattedError[],
): Promise<unknown> {
  const { model, run } = parts
  let outcome: Outcome = { value: null, plan: undefined }
  let failure: unknown
  try {
    // Before the values are looked at: whoever may never do this is told so, and nothing about the values.
    admit(model, step.collection, step.kind, principal.access)
    outcome = await writes[step.kind](parts, { step, variables, principal })
  } catch (error) {
    failure = error instanceof ApiError ? inArguments(error) : error
  }
  const { value, plan } = outcome
  const refusals = plan ? run.refusals(plan, principal) : []
  const completion = new Completion(byPlace(refusals), plan?.args ?? [], onFault, errors)
  const read = () => {
    if (failure !== undefined) throw failure
    return value
  }
  return completion.field(step.picked, read, { before: undefined, key: step.picked.key })
}

type Write = (parts: Parts, writing: Writing) => Promise<Outcome>

const writes: Readonly<Record<WriteStep['kind'], Write>> = {
  async create({ run, hooks }, { step, variables, principal }) {
    const { collection, select } = step
    const { values } = bodyValidator(collection).create(given(step, variables))
    const creation = (await hooks.get(collection.name)?.(values, principal)) ?? nothing
    const args = step.getters.map(getter => getter(variables))
    const set = assign(collection, values, args)
    const computed = assign(collection, creation.computed, args)
    const shape = shapeOf(step, [...set, ...computed], (): CreateShape => {
      const { most } = creation
      return { kind: 'create', collection: collection.name, set, computed, most, select, lenient: true }
    })
    const plan = { shape, args }
    const { id, text } = await run.write(plan, principal)
    await creation.afterwards?.(id)
    if (text === null) throw unseen(collection, id)
    const told = Object.entries(creation.revealed).map(([name, value]) => [revealedKey(name), value])
    return { value: { ...JSON.parse(text), ...Object.fromEntries(told) }, plan }
  },

  async update({ run }, { step, variables, principal }) {
    const { collection, select } = step
    const { values } = bodyValidator(collection).merge(given(step, variables))
    const args = step.getters.map(getter => getter(variables))
    const set = assign(collection, values, args)
    const id = args.push(step.id?.(variables) ?? 0) - 1
    const shape = shapeOf(step, set, (): UpdateShape => {
      const fixed = { kind: 'update', mode: 'merge', ifMatch: undefined, lenient: true } as const
      return { ...fixed, collection: collection.name, id, set, select }
    })
    const plan = { shape, args }
    const { text } = await run.write(plan, principal)
    return { value: text === null ? null : JSON.parse(text), plan }
  },

  async delete({ run }, { step, variables, principal }) {
    const shape = shapeOf(step, [], (): DeleteShape => {
      return { kind: 'delete', collection: step.collection.name, id: 0, ifMatch: undefined }
    })
    const { id } = await run.write({ shape, args: [step.id?.(variables) ?? 0] }, principal)
    return { value: String(id), plan: undefined }
  },
}

const nothing: Creation = { computed: {}, revealed: {} }

/** As in REST, whoever may not see what they have made learns its id, and does not make it again. */
function unseen({ name }: Collection, id: number): ApiError {
  return new ApiError('NOT_FOUND', `Item ${id} of ${name} was made, but you may not see it.`)
}

/** The values as a body would hold them: an `ID` is a number there. */
function given({ collection, values }: WriteStep, variables: Variables): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [name, input] of values) {
    const value = readInput(input, variables)
    const isId = collection.fields.get(name)?.type.graphql === 'ID'
    if (value !== undefined) body[name] = isId && value !== null ? idOf(value) : value
  }
  return body
}

/** Sets the values in the model's order and adds them to the arguments. */
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

/** One shape for all writes of a step that set the same fields. */
function shapeOf<S extends WriteShape>(step: WriteStep, set: readonly Assignment[], make: () => S): S {
  const known = shapes.get(step) ?? new Map<string, WriteShape>()
  shapes.set(step, known)
  const key = set.map(({ field }) => field).join(' ')
  // A step is of one kind, and so are its shapes.
  const found = known.get(key) as S | undefined
  if (found) return found
  const made = make()
  known.set(key, made)
  return made
}

/** The fields that an error names, as the arguments they were given by. */
function inArguments(error: ApiError): ApiError {
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

/** What leads to a part of a JSON field follows its name. */
function fieldOf({ field }: FieldFault): string {
  return /^\w*/.exec(field)?.[0] ?? ''
}

function renamed(message: string, name: string): string {
  return name === '' ? message : message.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), camelCase(name))
}
