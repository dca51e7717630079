/** Binds an operation to its variables: coercion, the plan for this structure of variables, and the cost. */
import { hash } from 'node:crypto'
import { GraphQLError, type GraphQLSchema, getNamedType, getVariableValues } from 'graphql'
import type { JsonValue } from '../../model/fields/type.ts'
import { badRequest } from '../bad-request.ts'
import type { Operation } from '../documents/prepared-documents.ts'
import type { Bound, Refused } from '../engine.ts'
import type { Limits } from '../limits/document-limits.ts'
import { noVariables, structureOf, type Variables } from '../plan/input.ts'
import { planVariant } from '../plan/operation-plan.ts'
import type { Variant } from '../plan/variant.ts'
import { formatted, refused } from '../response.ts'
import type { Directory } from '../schema/directory.ts'
import { holdsDocuments } from '../schema/scalars.ts'
import type { ModelSchema } from '../schema/schema.ts'

/** A bound operation, with what only the engine knows of it. */
export interface BoundOperation extends Bound {
  readonly prepared: Operation
  readonly variant: Variant
  readonly variables: Variables
  /** The variables as the client sent them. */
  readonly given: Readonly<Record<string, unknown>>
  readonly args: readonly JsonValue[]
}

/** A JSON field takes 64 levels; what leads to it takes a few more. */
const maxNesting = 80
/** Objects and values within one variable, unless its type is JSON. */
const maxParts = 2000

export function createBind(modelSchema: ModelSchema, limits: Limits) {
  function variantFor(operation: Operation, variables: Variables): Variant {
    const key = structureKey(operation, variables, modelSchema.directory.nodes)
    const known = operation.variants.get(key)
    if (known) return known
    const { node, fragments } = operation
    const parts = { modelSchema, operation: node, fragments, listBound: limits.listBound }
    const variant = planVariant(parts, variables)
    operation.variants.set(key, variant)
    return variant
  }

  function bound(operation: Operation, variables: Variables, given: BoundOperation['given']): BoundOperation {
    const variant = variantFor(operation, variables)
    const args = variant.getters.map(getter => getter(variables))
    const cost = Math.max(1, variant.cost(variables))
    if (cost > limits.cost) {
      const message = `The operation costs ${cost} points; at most ${limits.cost} are allowed. Ask for shorter lists with "limit", or for less with "filter".`
      throw badRequest(message, operation.node)
    }
    const all = { outcome: 'bound', prepared: operation, cost, variant, variables, given, args } as const
    return variant.operation === 'subscription' ? detached(all, variant.after?.(variables)) : all
  }

  function attempt(operation: Operation, given: unknown): BoundOperation | Refused {
    try {
      const values = objectOf(given)
      checkSizes(operation, values)
      return bound(operation, coerced(modelSchema.schema, operation, values), values)
    } catch (error) {
      if (error instanceof InvalidVariables) return refused(error.errors.map(formatted))
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

/** The numbers that stand for variants in keys. */
const variantNumbers = new WeakMap<Variant, number>()
let variantCount = 0

function numberOf(variant: Variant): number {
  const known = variantNumbers.get(variant)
  if (known !== undefined) return known
  variantNumbers.set(variant, ++variantCount)
  return variantCount
}

/**
 * An open subscription retains only the arguments of its request. They are copied, because a string can be a slice of
 * a larger one and would keep it in memory.
 */
function detached(bound: BoundOperation, after: number | undefined): BoundOperation {
  const text = JSON.stringify(bound.args)
  return {
    ...bound,
    variables: noVariables,
    given: {},
    args: JSON.parse(text),
    after,
    retained: {
      key: `${numberOf(bound.variant)} ${hash('sha256', text, 'base64url')}`,
      documentBytes: bound.prepared.bytes,
      argumentBytes: 2 * Buffer.byteLength(text),
    },
  }
}

class InvalidVariables extends Error {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super('The variables are not valid.')
    this.errors = errors
  }
}

/** The same key means the same plan. */
function structureKey(
  { node, types }: Operation,
  { coerced: values }: Variables,
  nodes: Directory['nodes'],
): string {
  const definitions = node.variableDefinitions ?? []
  return types
    .map((type, index) => structureOf(values[definitions[index]?.variable.name.value ?? ''], type, nodes))
    .join()
}

function objectOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw badRequest('"variables" must be a JSON object.')
  }
  return given as Readonly<Record<string, unknown>>
}

/** Coercion follows a value to any depth, and looks for every field of an input type in every object. */
function checkSizes({ node, types }: Operation, given: BoundOperation['given']): void {
  node.variableDefinitions?.forEach(({ variable }, index) => {
    const name = variable.name.value
    const type = types[index]
    if (!type || !Object.hasOwn(given, name)) return
    const isDocument = holdsDocuments(getNamedType(type))
    let parts = 0
    const check = (value: unknown, depth: number): void => {
      if (!isDocument && ++parts > maxParts) throw tooLarge(name, node, `more than ${maxParts} values`)
      if (typeof value !== 'object' || value === null) return
      if (depth > maxNesting) throw tooLarge(name, node, `more than ${maxNesting} levels`)
      // By keys: `Object.values` of an object with very many members takes several times as long.
      for (const key of Object.keys(value)) check(Reflect.get(value, key), depth + 1)
    }
    check(given[name], 0)
  })
}

function tooLarge(name: string, nodes: Operation['node'], what: string): GraphQLError {
  return badRequest(`The variable "$${name}" has ${what}, which is more than is allowed.`, nodes)
}

function coerced(schema: GraphQLSchema, { node }: Operation, given: BoundOperation['given']): Variables {
  const definitions = node.variableDefinitions ?? []
  if (definitions.length === 0) return noVariables
  const { variableValues, errors } = getVariableValues(schema, definitions, given, { maxErrors: 20 })
  if (errors) throw new InvalidVariables(errors)
  return variableValues
}
