/** Texts → operations of valid documents, remembered. */
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputType,
  Kind,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
  validate,
} from 'graphql'
import type { Bound, Prepared, Refused } from './engine.ts'
import { checkMerging, type Fragments, fragmentsOf } from './fields.ts'
import { checkDocument, checkLength, type Limits, limitError } from './limits.ts'
import { formatted, refused } from './reply.ts'
import { rulesFor } from './rules.ts'
import type { Variant } from './variant.ts'

/** An operation with what was made of it so far. */
export interface Operation extends Prepared {
  readonly node: OperationDefinitionNode
  readonly document: DocumentNode
  readonly fragments: Fragments
  readonly types: readonly GraphQLInputType[]
  /** By the structure of the variables. */
  readonly variants: Map<string, Variant>
  /** Where there are no variables, there is only one. */
  bound: Bound | Refused | undefined
}

export interface PrepareOptions {
  readonly schema: GraphQLSchema
  readonly limits: Limits
  readonly introspection: boolean
}

/** Told before more is looked for. */
const MAX_ERRORS = 10

export type Prepare = (source: string, operationName: string | null | undefined) => Operation | Refused

export function createPrepare({ schema, limits, introspection }: PrepareOptions): Prepare {
  const remembered = new Remembered<Operation>(limits.tokens * 50)

  function read(source: string): DocumentNode {
    checkLength(source, limits)
    const document = parseWithin(source, limits.tokens)
    checkDocument(document, limits)
    return document
  }

  function check(document: DocumentNode, source: string): void {
    const errors = validate(schema, document, rulesFor(source, introspection), {
      maxErrors: MAX_ERRORS,
      hideSuggestions: !introspection,
    })
    if (errors.length > 0) throw new Invalid(errors)
    const fragments = fragmentsOf(document)
    for (const node of document.definitions) {
      if (node.kind === Kind.OPERATION_DEFINITION) checkMerging(node.selectionSet, fragments)
    }
  }

  return (source, operationName) => {
    // The length keeps names and texts apart, whatever they hold.
    const key = operationName ? `${operationName.length} ${operationName}${source}` : source
    const known = remembered.get(key)
    if (known) return known
    try {
      const document = read(source)
      const node = chosen(document, operationName)
      check(document, source)
      const made = operationOf(schema, document, node)
      remembered.set(key, made, document.tokenCount ?? limits.tokens)
      return made
    } catch (error) {
      if (error instanceof Invalid) return refused(error.errors.map(formatted))
      if (error instanceof GraphQLError) return refused([formatted(error)])
      throw error
    }
  }
}

class Invalid extends Error {
  readonly errors: readonly GraphQLError[]

  constructor(errors: readonly GraphQLError[]) {
    super('The document is not valid.')
    this.errors = errors
  }
}

function parseWithin(source: string, tokens: number): DocumentNode {
  try {
    return parse(source, { maxTokens: tokens })
  } catch (error) {
    if (!(error instanceof GraphQLError) || !error.message.includes('tokens. Parsing aborted')) throw error
    throw limitError(`The document has more than ${tokens} tokens; at most ${tokens} are allowed.`)
  }
}

function operationOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  node: OperationDefinitionNode,
): Operation {
  const types = (node.variableDefinitions ?? []).map(({ type: wanted }) => {
    const type = typeFromAST(schema, wanted)
    if (!isInputType(type)) throw new Error('a valid document has only input types in its variables')
    return type
  })
  return {
    outcome: 'prepared',
    operation: node.operation,
    operationName: node.name?.value,
    node,
    document,
    fragments: fragmentsOf(document),
    types,
    variants: new Map(),
    bound: undefined,
  }
}

function chosen(document: DocumentNode, name: string | null | undefined): OperationDefinitionNode {
  const operations = document.definitions.filter(node => node.kind === Kind.OPERATION_DEFINITION)
  const [first] = operations
  if (!name) {
    if (first && operations.length === 1) return first
    throw limitError(`The document has ${operations.length} operations: say which by "operationName".`)
  }
  const found = operations.find(node => node.name?.value === name)
  if (found) return found
  throw limitError(`The document has no operation named "${name.slice(0, 60)}".`)
}

/** Values in two generations: what was not asked for since the younger one was last filled is forgotten. */
class Remembered<V> {
  readonly #room: number
  #young = new Map<string, V>()
  #old = new Map<string, V>()
  #weight = 0

  /** `room`: how much weight a generation holds. */
  constructor(room: number) {
    this.#room = room
  }

  get(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: string, value: V, weight: number): void {
    this.#weight += weight + 20
    if (this.#weight > this.#room) {
      this.#old = this.#young
      this.#young = new Map()
      this.#weight = weight + 20
    }
    this.#young.set(key, value)
  }
}
