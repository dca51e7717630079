/** Parses and validates documents, and caches their operations. */
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
import { Cache, CacheBound } from '../../../base/cache.ts'
import { badRequest } from '../bad-request.ts'
import type { BoundOperation, PreparedOperation, RequestErrorResult } from '../engine.ts'
import { checkDocument, checkLength, type Limits } from '../limits/document-limits.ts'
import { formatError, refused } from '../response.ts'
import { checkMerging } from './field-merging.ts'
import { type Fragments, fragmentsOf } from './fragments.ts'
import { rulesFor } from './validation-rules.ts'
import { Variants, weightOf } from './variants.ts'

/** An operation, and what has been derived from it so far. */
export interface CachedOperation extends PreparedOperation {
  readonly node: OperationDefinitionNode
  readonly document: DocumentNode
  readonly fragments: Fragments
  readonly types: readonly GraphQLInputType[]
  /** By the structure of the variables. */
  readonly variants: Variants
  /** An operation without variables is bound once. */
  bound: BoundOperation | RequestErrorResult | undefined
  /** About how much memory the document takes: its text and its syntax tree. */
  readonly bytes: number
}

/** Measured: a token, its node, and the locations of both. */
const bytesPerToken = 300

export interface PrepareOptions {
  readonly schema: GraphQLSchema
  readonly limits: Limits
  readonly introspection: boolean
}

/** Validation stops after this many errors. */
const maxErrors = 10

export type Prepare = (
  source: string,
  operationName: string | null | undefined,
) => CachedOperation | RequestErrorResult

/** A valid document, and the operations of it that have been requested, by name. */
interface CachedDocument {
  readonly document: DocumentNode
  readonly operations: Map<string, CachedOperation>
}

export function createPrepare({ schema, limits, introspection }: PrepareOptions): Prepare {
  const documents = new Cache<string, CachedDocument>(
    new CacheBound('graphql_documents', limits.tokens * 100),
  )

  function parseDocument(source: string): DocumentNode {
    checkLength(source, limits)
    const document = parseWithin(source, limits.tokens)
    checkDocument(document, limits)
    return document
  }

  function validateDocument(document: DocumentNode, source: string): void {
    const errors = validate(schema, document, rulesFor(source, introspection), {
      maxErrors: maxErrors,
      hideSuggestions: !introspection,
    })
    if (errors.length > 0) throw new InvalidDocument(errors)
    const fragments = fragmentsOf(document)
    for (const node of document.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION) continue
      const root = schema.getRootType(node.operation)
      if (root) checkMerging(schema, root, node.selectionSet, fragments)
    }
  }

  /** Chooses the operation first: without one, the validation would be wasted. */
  function prepare(source: string, name: string): CachedOperation {
    const cached = documents.get(source)
    const document = cached?.document ?? parseDocument(source)
    const node = chooseOperation(document, name)
    if (!cached) validateDocument(document, source)
    const weight = weightOf(document.tokenCount ?? limits.tokens, source)
    const entry = cached ?? { document, operations: new Map() }
    const operation = createOperation(schema, document, node, growth => documents.grow(source, growth))
    entry.operations.set(name, operation)
    if (!cached) documents.set(source, entry, weight)
    return operation
  }

  return (source, operationName) => {
    const name = operationName ?? ''
    const cached = documents.get(source)?.operations.get(name)
    if (cached) return cached
    try {
      return prepare(source, name)
    } catch (error) {
      if (error instanceof InvalidDocument) return refused(error.errors.map(formatError))
      if (error instanceof GraphQLError) return refused([formatError(error)])
      throw error
    }
  }
}

class InvalidDocument extends Error {
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
    throw badRequest(`The document has more than ${tokens} tokens; at most ${tokens} are allowed.`)
  }
}

function createOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  node: OperationDefinitionNode,
  grow: (weight: number) => void,
): CachedOperation {
  const types = (node.variableDefinitions ?? []).map(({ type: typeNode }) => {
    const type = typeFromAST(schema, typeNode)
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
    variants: new Variants(grow),
    bound: undefined,
    bytes: bytesPerToken * (document.tokenCount ?? 0) + 2 * (document.loc?.source.body.length ?? 0),
  }
}

/** `name`: empty for the document's only operation. */
function chooseOperation(document: DocumentNode, name: string): OperationDefinitionNode {
  const operations = document.definitions.filter(node => node.kind === Kind.OPERATION_DEFINITION)
  const [first] = operations
  if (name === '') {
    if (first && operations.length === 1) return first
    throw badRequest(`The document has ${operations.length} operations: choose one with "operationName".`)
  }
  const operation = operations.find(node => node.name?.value === name)
  if (operation) return operation
  throw badRequest(`The document has no operation named "${name.slice(0, 60)}".`)
}
