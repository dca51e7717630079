/** Replies as text, and errors as replies show them. */
import type { GraphQLError, GraphQLFormattedError } from 'graphql'
import type { Executed, Refused } from './engine.ts'

/** Messages repeat what was sent; no more of it than this. */
const LONGEST = 500

/** What graphql-js refuses without a code of ours is a request that cannot be understood. */
export function formatted(error: GraphQLError): GraphQLFormattedError {
  const { extensions, message, ...rest } = error.toJSON()
  const told = message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message
  return { message: told, ...rest, extensions: { code: 'BAD_REQUEST', ...extensions } }
}

export function refused(errors: readonly GraphQLFormattedError[]): Refused {
  return { outcome: 'request error', errors, text: JSON.stringify({ errors }) }
}

/** `data`: JSON. */
export function executed(data: string, errors: readonly GraphQLFormattedError[], cost: number): Executed {
  const told = errors.length === 0 ? '' : `"errors":${JSON.stringify(errors)},`
  return { text: `{${told}"data":${data},"extensions":{"cost":${cost}}}` }
}
