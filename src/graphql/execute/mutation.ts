/** Mutations run one after the other. Each is a write, whose result is read back in the same transaction. */
import type { GraphQLFormattedError } from 'graphql'
import { ApiError, type FieldFault } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import type { Collection, Model } from '../../model/model.ts'
import { bodyValidator } from '../../model/validate.ts'
import { admit } from '../../plan/guard.ts'
import type { Assignment, CreateShape, DeleteShape, Plan, UpdateShape, WriteShape } from '../../plan/plan.ts'
import type { CreateHooks, Creation, Run } from '../../plan/run.ts'
import type { Principal } from '../../principal.ts'
import type { Executed, ExecutionContext } from '../engine.ts'
import { readInput, type Variables } from '../plan/input.ts'
import { revealedKey } from '../plan/reply-fields.ts'
import type { MutationVariant, WriteStep } from '../plan/variant.ts'
import { executed } from '../response.ts'
import { camelCase } from '../schema/names.ts'
import { byPlace, Completion, FieldFailure } from './completion.ts'

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

/** `plan`: knows which fields of the value were refused. */
interface WriteResult {
  readonly value: unknown
  readonly plan: Plan<CreateShape | UpdateShape> | undefined
}

interface Writing {
  readonly step: WriteStep
  readonly variables: Variables
  readonly principal: Principal
}

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
        data[step.replyField.key] =
          step.kind === 'constant' ? step.value : await answer(parts, step, bound, principal, context, errors)
      }
      return executed(JSON.stringify(data), errors, cost)
    } catch (error) {
      if (!(error instanceof FieldFailure)) throw error
      return executed('null', [...errors, error.formatted], cost)
    }
  }
}

/** The value of one mutation in the reply. Throws a `FieldFailure` when a non-null mutation fails. */
async function answer(
  parts: Parts,
  step: WriteStep,
  { variables }: BoundMutation,
  principal: Principal,
  { onFault }: ExecutionContext,
  errors: GraphQLFormattedError[],
): Promise<unknown> {
  const { model, run } = parts
  let outcome: WriteResult = { value: null, plan: undefined }
  let failure: unknown
  try {
    // Before validation: a caller without the right learns nothing about the values.
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
  return completion.field(step.replyField, read, { before: undefined, key: step.replyField.key })
}

type Write = (parts: Parts, writing: Writing) => Promise<WriteResult>

const writes: Readonly<Record<WriteStep['kind'], Write>> = {
  async create({ run, hooks }, { step, variables, principal }) {
    const { collection, select } = step
    const { values } = bodyValidator(collection).create(given(step, variables))
    const creation = (await hooks.get(collection.name)?.(values, principal)) ?? noHook
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
    const revealed = Object.entries(creation.revealed).map(([name, value]) => [revealedKey(name), value])
    return { value: { ...JSON.parse(text), ...Object.fromEntries(revealed) }, plan }
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

const noHook: Creation = { computed: {}, revealed: {} }

/** As in REST, a creator that may not see the new item still learns its id, and does not create it again. */
function unseen({ name }: Collection, id: number): ApiError {
  return new ApiError('NOT_FOUND', `Item ${id} of ${name} was made, but you may not see it.`)
}

/** The values as in a REST body. */
function given({ collection, values }: WriteStep, variables: Variables): Record<string, unknown> {
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

/** Names the arguments of the mutation in place of the model's fields. */
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

/** For a part of a JSON field, the path follows the field's name. */
function fieldOf({ field }: FieldFault): string {
  return /^\w*/.exec(field)?.[0] ?? ''
}

function renamed(message: string, name: string): string {
  return name === '' ? message : message.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), camelCase(name))
}
