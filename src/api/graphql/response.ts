/** Responses as text (GraphQL 7), and the errors in them. */
import type { GraphQLError, GraphQLFormattedError } from 'graphql'
import type { Executed, RequestErrorResult } from './engine.ts'

/** Messages of graphql-js quote parts of the document, which may be long. */
const maxMessageCharacters = 500

/** Errors of graphql-js itself have no code. They mean that the request is invalid. */
export function formatError(error: GraphQLError): GraphQLFormattedError {
  const { extensions, message, ...rest } = error.toJSON()
  const shortMessage =
    message.length > maxMessageCharacters ? `${message.slice(0, maxMessageCharacters)}…` : message
  return { message: shortMessage, ...rest, extensions: { code: 'BAD_REQUEST', ...extensions } }
}

export function refused(errors: readonly GraphQLFormattedError[]): RequestErrorResult {
  return { outcome: 'request error', errors, text: JSON.stringify({ errors }) }
}

/** The reply of an executed operation, with the id of the event that it is the reply to. */
export function withEventId(text: string, event: number): string {
  return `${text.slice(0, -2)},"eventId":"${event}"}}`
}

/** `data`: JSON text. */
export function executed(data: string, errors: readonly GraphQLFormattedError[], cost: number): Executed {
  const errorsMember = errors.length === 0 ? '' : `"errors":${JSON.stringify(errors)},`
  return { text: `{${errorsMember}"data":${data},"extensions":{"cost":${cost}}}` }
}
