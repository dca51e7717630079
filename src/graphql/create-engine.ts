/** Makes the engine of a model. */
import { GraphQLError, type GraphQLFormattedError, type GraphQLSchema, getVariableValues } from 'graphql'
import type { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Model } from '../model/model.ts'
import { type CompositeAnswer, then } from '../plan/answer.ts'
import type { CreateHooks, Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import { byPlace, Completion, FieldFailure } from './completion.ts'
import type { Bound, Engine, ItemChange, Prepared, Refused, Subscribed } from './engine.ts'
import { noVariables, structureOf, type Variables } from './input.ts'
import { defaultLimits, type Limits, limitError } from './limits.ts'
import { createMutation } from './mutation.ts'
import { placeOf } from './picked.ts'
import { createPrepare, type Operation } from './prepare.ts'
import { type BoundQuery, createQuery } from './query.ts'
import { executed, formatted, refused } from './reply.ts'
import { createSchema, type ModelSchema } from './schema.ts'
import { planVariant, type SubscriptionVariant, type Variant } from './variant.ts'

export interface EngineOptions {
  readonly model: Model
  readonly run: Run
  readonly hooks: CreateHooks
  readonly limits?: Partial<Limits>
  /** Whether `__schema` and `__type` are answered. True by default. */
  readonly introspection?: boolean
  /** Fields that only the answer to a create tells, by collection, with a sentence each. */
  readonly revealed?: ReadonlyMap<string, Readonly<Record<string, string>>>
}

/** What `CreateHooks` of Portico's own collections reveal. */
const revealedByPortico = new Map<string, Readonly<Record<string, string>>>([
  ['api_keys', { key: 'The key itself. Only the answer to the mutation that made it tells it.' }],
  [
    'oauth_apps',
    {
      client_secret:
        'The secret of a confidential app. Only the answer to the mutation that made it tells it.',
    },
  ],
  [
    'oauth_app_secrets',
    { client_secret: 'The secret itself. Only the answer to the mutation that made it tells it.' },
  ],
])

/** An operation with its variables, as the engine itself knows it. */
interface Ready extends Bound {
  readonly prepared: Operation
  readonly variant: Variant
  readonly variables: Variables
  readonly given: Readonly<Record<string, unknown>>
  readonly args: readonly JsonValue[]
}

/** How many structures of variables are remembered for an operation. */
const MAX_VARIANTS = 64
/** How deeply variables may be nested. A JSON field takes 64 levels. */
const MAX_NESTING = 80

export function createEngine(options: EngineOptions): Engine {
  const { model, run, hooks, introspection = true, revealed = revealedByPortico } = options
  const limits = { ...defaultLimits, ...options.limits }
  const made = createSchema(model, { listBound: limits.listBound, revealed })
  const { schema } = made
  const query = createQuery(model, run, schema)
  const mutation = createMutation(model, run, hooks)
  const bind = binder(model, made, limits)
  return {
    schema,
    prepare: createPrepare({ schema, limits, introspection }),
    bind: (prepared, variables) => bind(known(prepared), variables),
    execute(bound, principal, context) {
      const ready = bound as Ready
      const { variant } = ready
      if (variant.operation === 'query') return query(ready as BoundQuery, principal, context)
      if (variant.operation === 'mutation') return mutation({ ...ready, variant }, principal, context)
      throw new TypeError('a subscription is not executed: subscribe to it')
    },
    subscribe(bound, principal) {
      const ready = bound as Ready
      if (ready.variant.operation !== 'subscription') throw new TypeError('only a subscription has events')
      return subscribe(run, ready, ready.variant, principal)
    },
  }
}

/** Transports only pass on what the engine gave them. */
function known(prepared: Prepared): Operation {
  return prepared as Operation
}

// --- variables

function binder(model: Model, { schema, directory }: ModelSchema, limits: Limits) {
  const ground = { model, schema, directory }

  function variantFor(operation: Operation, variables: Variables): Variant {
    const key = keyOf(operation, variables)
    const found = operation.variants.get(key)
    if (found) return found
    const { node, fragments } = operation
    const parts = { ground, operation: node, fragments, listBound: limits.listBound }
    const variant = planVariant(parts, variables)
    if (operation.variants.size >= MAX_VARIANTS) operation.variants.clear()
    operation.variants.set(key, variant)
    return variant
  }

  function ready(operation: Operation, variables: Variables, given: Ready['given']): Ready {
    const variant = variantFor(operation, variables)
    const args = variant.getters.map(getter => getter(variables))
    const cost = Math.max(1, variant.cost(variables))
    if (cost > limits.cost) {
      const message = `The operation costs ${cost} points; at most ${limits.cost} are allowed. Ask for shorter lists with "limit".`
      throw limitError(message, { nodes: operation.node })
    }
    return { outcome: 'bound', prepared: operation, cost, variant, variables, given, args }
  }

  function attempt(operation: Operation, given: unknown): Ready | Refused {
    try {
      const values = givenVariables(given)
      return ready(operation, coerced(schema, operation, values), values)
    } catch (error) {
      if (error instanceof Unfit) return refused(error.errors.map(formatted))
      if (error instanceof GraphQLError) return refused([formatted(error)])
      throw error
    }
  }

  return (operation: Operation, given: unknown): Bound | Refused => {
    if (operation.types.length > 0) return attempt(operation, given)
    operation.bound ??= attempt(operation, undefined)
    return operation.bound
  }
}

class Unfit extends Error {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super('The variables do not fit.')
    this.errors = errors
  }
}

function keyOf({ node, types }: Operation, { coerced: values }: Variables): string {
  const definitions = node.variableDefinitions ?? []
  return types
    .map((type, index) => structureOf(values[definitions[index]?.variable.name.value ?? ''], type))
    .join()
}

function givenVariables(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw limitError('"variables" must be a JSON object.')
  }
  requireFlat(given, 0)
  return given as Readonly<Record<string, unknown>>
}

/** Coercion goes down as deep as the value does, so a bound keeps it off the stack's end. */
function requireFlat(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_NESTING) {
    throw limitError(`The variables are nested more than ${MAX_NESTING} levels deep.`)
  }
  for (const part of Object.values(value)) requireFlat(part, depth + 1)
}

function coerced(schema: GraphQLSchema, { node }: Operation, given: Ready['given']): Variables {
  const definitions = node.variableDefinitions ?? []
  if (definitions.length === 0) return noVariables
  const { variableValues, errors } = getVariableValues(schema, definitions, given, { maxErrors: 20 })
  if (errors) throw new Unfit(errors)
  return variableValues
}

// --- subscriptions

/** What was made of an answer; null: the item is not to be seen. */
interface Rendered {
  readonly reply: string | null
}

function subscribe(
  run: Run,
  { args, cost }: Ready,
  variant: SubscriptionVariant,
  principal: Principal,
): Subscribed | Refused {
  const { shape, picked, collection, kind } = variant
  const refusal = byPlace(run.refusals({ shape, args }, principal)).get(placeOf([picked.key]))
  if (refusal) return refused([refusedField(refusal, picked.key)])
  const render = (answer: CompositeAnswer): Rendered => {
    const data = JSON.parse(answer.text)
    if (data[picked.source] === null) return { reply: null }
    const completion = new Completion(byPlace(run.refusals({ shape, args }, principal)), args, () => {})
    try {
      const shown = completion.object([picked], data, undefined)
      return { reply: executed(JSON.stringify(shown), completion.errors, cost).text }
    } catch (error) {
      if (!(error instanceof FieldFailure)) throw error
      completion.fail(error)
      return { reply: executed('null', completion.errors, cost).text }
    }
  }
  return {
    collection: collection.name,
    kind,
    deliver: change =>
      then(run.composite({ shape, args: argsOf(args, variant, change) }, principal), answer => {
        const rendered = (answer.rendered as Rendered | undefined) ?? render(answer)
        answer.rendered = rendered
        return rendered.reply
      }),
  }
}

function argsOf(
  args: readonly JsonValue[],
  { id, event }: SubscriptionVariant,
  change: ItemChange,
): readonly JsonValue[] {
  const own = [...args]
  own[id] = change.id
  if (event === undefined) return own
  const row = change.row ?? null
  own[event] = typeof row === 'string' ? row : JSON.stringify(row)
  return own
}

function refusedField({ message, code }: ApiError, key: string): GraphQLFormattedError {
  return { message, path: [key], extensions: { code } }
}
