/** Makes the engine of a model. */
import { hash } from 'node:crypto'
import {
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getNamedType,
  getVariableValues,
} from 'graphql'
import type { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Model } from '../model/model.ts'
import { revealedByPortico } from '../model/revealed.ts'
import { type CompositeAnswer, type RenderedAnswer, then } from '../plan/answer.ts'
import type { CreateHooks, Run } from '../plan/run.ts'
import type { Principal } from '../principal.ts'
import { byPlace, Completion } from './completion.ts'
import type { Bound, Engine, ItemChange, OnFault, Prepared, Refused, Subscribed } from './engine.ts'
import { noVariables, structureOf, type Variables } from './input.ts'
import { defaultLimits, type Limits, limitError } from './limits.ts'
import { createMutation } from './mutation.ts'
import { planVariant } from './operation-plan.ts'
import { placeOf } from './picked.ts'
import { createPrepare, type Operation } from './prepare.ts'
import { type BoundQuery, createQuery } from './query.ts'
import { formatted, refused } from './reply.ts'
import { Json } from './scalars.ts'
import { createSchema, type ModelSchema } from './schema.ts'
import type { SubscriptionVariant, Variant } from './variant.ts'

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

/** An operation with its variables, as the engine itself knows it. */
interface Ready extends Bound {
  readonly prepared: Operation
  readonly variant: Variant
  readonly variables: Variables
  readonly given: Readonly<Record<string, unknown>>
  readonly args: readonly JsonValue[]
}

/** How deeply variables may be nested. A JSON field takes 64 levels. */
const MAX_NESTING = 80
/** Objects and values of one variable that is no JSON document. */
const MAX_PARTS = 2000

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
    subscribe(bound, principal, onFault) {
      const ready = bound as Ready
      if (ready.variant.operation !== 'subscription') throw new TypeError('only a subscription has events')
      return subscribe(run, ready, ready.variant, { principal, onFault })
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
    operation.variants.set(key, variant)
    return variant
  }

  function ready(operation: Operation, variables: Variables, given: Ready['given']): Ready {
    const variant = variantFor(operation, variables)
    const args = variant.getters.map(getter => getter(variables))
    const cost = Math.max(1, variant.cost(variables))
    if (cost > limits.cost) {
      const message = `The operation costs ${cost} points; at most ${limits.cost} are allowed. Ask for shorter lists with "limit", or for less with "filter".`
      throw limitError(message, { nodes: operation.node })
    }
    if (variant.operation === 'subscription') return lasting({ operation, variant, args, cost })
    return { outcome: 'bound', prepared: operation, cost, variant, variables, given, args }
  }

  function attempt(operation: Operation, given: unknown): Ready | Refused {
    try {
      const values = givenVariables(given)
      checkSizes(operation, values)
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

/** Each variant's own, for keys. */
const variantNumbers = new WeakMap<Variant, number>()
let variantCount = 0

function numberOf(variant: Variant): number {
  const known = variantNumbers.get(variant)
  if (known !== undefined) return known
  variantNumbers.set(variant, ++variantCount)
  return variantCount
}

/**
 * A subscription keeps its arguments and nothing else of the request. They are made anew: a text could be a part of a
 * larger one, which it would keep in memory.
 */
function lasting({
  operation,
  variant,
  args,
  cost,
}: {
  readonly operation: Operation
  readonly variant: Variant
  readonly args: readonly JsonValue[]
  readonly cost: number
}): Ready {
  const text = JSON.stringify(args)
  return {
    outcome: 'bound',
    prepared: operation,
    cost,
    variant,
    variables: noVariables,
    given: {},
    args: JSON.parse(text),
    kept: {
      key: `${numberOf(variant)} ${hash('sha256', text, 'base64url')}`,
      documentBytes: operation.bytes,
      argumentBytes: 2 * Buffer.byteLength(text),
    },
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
  return given as Readonly<Record<string, unknown>>
}

/**
 * Coercion goes down as deep as a value does, and looks for every field of an input type in every object: bounds
 * keep it short.
 */
function checkSizes({ node, types }: Operation, given: Ready['given']): void {
  node.variableDefinitions?.forEach(({ variable }, index) => {
    const name = variable.name.value
    const type = types[index]
    if (!type || !Object.hasOwn(given, name)) return
    const isJson = getNamedType(type).name === Json.name
    let parts = 0
    const look = (value: unknown, depth: number): void => {
      if (!isJson && ++parts > MAX_PARTS) throw tooLarge(name, node, `more than ${MAX_PARTS} values`)
      if (typeof value !== 'object' || value === null) return
      if (depth > MAX_NESTING) throw tooLarge(name, node, `more than ${MAX_NESTING} levels`)
      // By keys: of an object with very many members, to list the values takes several times as long.
      for (const key of Object.keys(value)) look(Reflect.get(value, key), depth + 1)
    }
    look(given[name], 0)
  })
}

function tooLarge(name: string, nodes: Operation['node'], what: string): GraphQLError {
  return limitError(`The variable "$${name}" has ${what}, which is more than is allowed.`, { nodes })
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
interface Rendered extends RenderedAnswer {
  readonly reply: string | null
}

function rendered(reply: string | null): Rendered {
  return { reply, bytes: 2 * (reply?.length ?? 0) }
}

function subscribe(
  run: Run,
  { args, cost }: Ready,
  variant: SubscriptionVariant,
  { principal, onFault }: { readonly principal: Principal; readonly onFault: OnFault },
): Subscribed | Refused {
  const { shape, picked, collection, kind } = variant
  const refusal = byPlace(run.refusals({ shape, args }, principal)).get(placeOf([picked.key]))
  if (refusal) return refused([refusedField(refusal, picked.key)])
  const render = (answer: CompositeAnswer): Rendered => {
    const data = JSON.parse(answer.text)
    if (data[picked.source] === null) return rendered(null)
    const completion = new Completion(byPlace(run.refusals({ shape, args }, principal)), args, onFault)
    return rendered(completion.reply(cost, () => completion.object([picked], data, undefined)).text)
  }
  return {
    collection: collection.name,
    kind,
    deliver: change =>
      then(run.composite({ shape, args: argsOf(args, variant, change) }, principal), answer => {
        const made = (answer.rendered as Rendered | undefined) ?? render(answer)
        answer.rendered = made
        return made.reply
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
  own[event] = change.row
  return own
}

function refusedField({ message, code }: ApiError, key: string): GraphQLFormattedError {
  return { message, path: [key], extensions: { code } }
}
