/** Binds an operation to its variables: coercion, the plan for this structure of variables, and the cost. */
import { hash } from 'node:crypto'
import { GraphQLError, type GraphQLSchema, getNamedType, getVariableValues } from 'graphql'
import type { JsonValue } from '../../../model/fields/type.ts'
import { badRequest } from '../bad-request.ts'
import type { CachedOperation } from '../documents/prepared-documents.ts'
import type { BoundOperation, RequestErrorResult } from '../engine.ts'
import type { Limits } from '../limits/document-limits.ts'
import { noVariables, structureOf, type Variables } from '../plan/input.ts'
import { planVariant } from '../plan/operation-plan.ts'
import type { Variant } from '../plan/variant.ts'
import { formatError, refused } from '../response.ts'
import type { SchemaDirectory } from '../schema/directory.ts'
import { isDocumentType } from '../schema/scalars.ts'
import type { ModelSchema } from '../schema/schema.ts'

/** A bound operation, with the properties that only the engine uses. */
export interface ExecutableOperation extends BoundOperation {
  readonly prepared: CachedOperation
  readonly variant: Variant
  readonly variables: Variables
  /** The variables as the client sent them. */
  readonly rawVariables: Readonly<Record<string, unknown>>
  readonly args: readonly JsonValue[]
}

/** A JSON field allows 64 levels; the path to it takes a few more. */
const maxNesting = 80
/** Objects and values within one variable, unless its type is JSON. */
const maxParts = 2000

export function createBind(modelSchema: ModelSchema, limits: Limits) {
  function variantFor(operation: CachedOperation, variables: Variables): Variant {
    const key = structureKey(operation, variables, modelSchema.directory.nodes)
    const cached = operation.variants.get(key)
    if (cached) return cached
    const { node, fragments } = operation
    const parts = { modelSchema, operation: node, fragments, listBound: limits.listBound }
    const variant = planVariant(parts, variables)
    operation.variants.set(key, variant)
    return variant
  }

  function bindOperation(
    operation: CachedOperation,
    variables: Variables,
    rawVariables: ExecutableOperation['rawVariables'],
  ): ExecutableOperation {
    const variant = variantFor(operation, variables)
    const args = variant.getters.map(getter => getter(variables))
    const cost = Math.max(1, variant.cost(variables))
    if (cost > limits.cost) {
      const message = `The operation costs ${cost} points; at most ${limits.cost} are allowed. Request shorter lists with "limit", or fewer items with "filter".`
      throw badRequest(message, operation.node)
    }
    const bound = {
      outcome: 'bound',
      prepared: operation,
      cost,
      variant,
      variables,
      rawVariables,
      args,
    } as const
    return variant.operation === 'subscription' ? detach(bound, variant.after?.(variables)) : bound
  }

  function attempt(
    operation: CachedOperation,
    rawVariables: unknown,
  ): ExecutableOperation | RequestErrorResult {
    try {
      const values = readVariables(rawVariables)
      checkSizes(operation, values)
      return bindOperation(operation, coerceVariables(modelSchema.schema, operation, values), values)
    } catch (error) {
      if (error instanceof InvalidVariables) return refused(error.errors.map(formatError))
      if (error instanceof GraphQLError) return refused([formatError(error)])
      throw error
    }
  }

  return (operation: CachedOperation, rawVariables: unknown): BoundOperation | RequestErrorResult => {
    if (operation.types.length > 0) return attempt(operation, rawVariables)
    operation.bound ??= attempt(operation, undefined)
    return operation.bound
  }
}

/** The numbers that stand for variants in keys. */
const variantNumbers = new WeakMap<Variant, number>()
let variantCount = 0

function variantNumber(variant: Variant): number {
  const cached = variantNumbers.get(variant)
  if (cached !== undefined) return cached
  variantNumbers.set(variant, ++variantCount)
  return variantCount
}

/**
 * An open subscription retains only the arguments of its request. They are copied, because a string can be a slice of
 * a larger one and would keep it in memory.
 */
function detach(bound: ExecutableOperation, after: number | undefined): ExecutableOperation {
  const text = JSON.stringify(bound.args)
  return {
    ...bound,
    variables: noVariables,
    rawVariables: {},
    args: JSON.parse(text),
    after,
    retained: {
      key: `${variantNumber(bound.variant)} ${hash('sha256', text, 'base64url')}`,
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
  { node, types }: CachedOperation,
  { coerced: values }: Variables,
  nodes: SchemaDirectory['nodes'],
): string {
  const definitions = node.variableDefinitions ?? []
  return types
    .map((type, index) => structureOf(values[definitions[index]?.variable.name.value ?? ''], type, nodes))
    .join()
}

function readVariables(rawVariables: unknown): Readonly<Record<string, unknown>> {
  if (rawVariables === undefined || rawVariables === null) return {}
  if (typeof rawVariables !== 'object' || Array.isArray(rawVariables)) {
    throw badRequest('"variables" must be a JSON object.')
  }
  return rawVariables as Readonly<Record<string, unknown>>
}

/** Bounds the time of coercion, which follows a value to any depth and looks up every field of an input type in every object. */
function checkSizes(
  { node, types }: CachedOperation,
  rawVariables: ExecutableOperation['rawVariables'],
): void {
  node.variableDefinitions?.forEach(({ variable }, index) => {
    const name = variable.name.value
    const type = types[index]
    if (!type || !Object.hasOwn(rawVariables, name)) return
    const isDocument = isDocumentType(getNamedType(type))
    let parts = 0
    const check = (value: unknown, depth: number): void => {
      if (!isDocument && ++parts > maxParts) throw tooLarge(name, node, maxParts, 'values')
      if (typeof value !== 'object' || value === null) return
      if (depth > maxNesting) throw tooLarge(name, node, maxNesting, 'levels')
      // By keys: `Object.values` of an object with very many members takes several times as long.
      for (const key of Object.keys(value)) check(Reflect.get(value, key), depth + 1)
    }
    check(rawVariables[name], 0)
  })
}

function tooLarge(name: string, node: CachedOperation['node'], max: number, noun: string): GraphQLError {
  return badRequest(`The variable "$${name}" has more than ${max} ${noun}; at most ${max} are allowed.`, node)
}

function coerceVariables(
  schema: GraphQLSchema,
  { node }: CachedOperation,
  rawVariables: ExecutableOperation['rawVariables'],
): Variables {
  const definitions = node.variableDefinitions ?? []
  if (definitions.length === 0) return noVariables
  const { variableValues, errors } = getVariableValues(schema, definitions, rawVariables, { maxErrors: 20 })
  if (errors) throw new InvalidVariables(errors)
  return variableValues
}
