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
import { type Fragments, fragmentsOf } from './fields.ts'
import { checkDocument, checkLength, type Limits, limitError } from './limits.ts'
import { checkMerging } from './merging.ts'
import { Remembered, Variants, type Weighed, weightOf } from './remembered.ts'
import { formatted, refused } from './reply.ts'
import { rulesFor } from './rules.ts'

/** An operation with what was made of it so far. */
export interface Operation extends Prepared {
  readonly node: OperationDefinitionNode
  readonly document: DocumentNode
  readonly fragments: Fragments
  readonly types: readonly GraphQLInputType[]
  /** By the structure of the variables. */
  readonly variants: Variants
  /** Where there are no variables, there is only one. */
  bound: Bound | Refused | undefined
  /** About how much memory the document takes: its text, and what was made of it. */
  readonly bytes: number
}

/** Of a token with its node and where both stand, measured. */
const TOKEN_BYTES = 300

export interface PrepareOptions {
  readonly schema: GraphQLSchema
  readonly limits: Limits
  readonly introspection: boolean
}

/** Told before more is looked for. */
const MAX_ERRORS = 10

export type Prepare = (source: string, operationName: string | null | undefined) => Operation | Refused

/** A valid document, and the operations of it that were asked for, by name. */
interface Read extends Weighed {
  readonly document: DocumentNode
  readonly operations: Map<string, Operation>
}

export function createPrepare({ schema, limits, introspection }: PrepareOptions): Prepare {
  const remembered = new Remembered<Read>(limits.tokens * 50)

  function parsed(source: string): DocumentNode {
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
      if (node.kind !== Kind.OPERATION_DEFINITION) continue
      const root = schema.getRootType(node.operation)
      if (root) checkMerging(schema, root, node.selectionSet, fragments)
    }
  }

  /** The operation is chosen before the document is validated: where there is none, that is in vain. */
  function read(source: string, name: string): Operation {
    const known = remembered.get(source)
    const document = known?.document ?? parsed(source)
    const node = chosen(document, name)
    if (!known) check(document, source)
    const weight = weightOf(document.tokenCount ?? limits.tokens, source)
    const kept = known ?? { document, operations: new Map(), weight }
    const made = operationOf(schema, document, node, weight => remembered.grow(kept, weight))
    kept.operations.set(name, made)
    if (!known) remembered.set(source, kept)
    return made
  }

  return (source, operationName) => {
    const name = operationName ?? ''
    const known = remembered.get(source)?.operations.get(name)
    if (known) return known
    try {
      return read(source, name)
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
  grow: (weight: number) => void,
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
    variants: new Variants(grow),
    bound: undefined,
    bytes: TOKEN_BYTES * (document.tokenCount ?? 0) + 2 * (document.loc?.source.body.length ?? 0),
  }
}

/** `name`: empty for the only one. */
function chosen(document: DocumentNode, name: string): OperationDefinitionNode {
  const operations = document.definitions.filter(node => node.kind === Kind.OPERATION_DEFINITION)
  const [first] = operations
  if (name === '') {
    if (first && operations.length === 1) return first
    throw limitError(`The document has ${operations.length} operations: say which by "operationName".`)
  }
  const found = operations.find(node => node.name?.value === name)
  if (found) return found
  throw limitError(`The document has no operation named "${name.slice(0, 60)}".`)
}
