/**
 * Adds the reasons of refusals to the responses of `portico dev`. Other services use the transport unchanged, at no cost.
 */

import type { Explainer } from '../../../api/explain/explain.ts'
import { fieldKey } from '../../../api/explain/graphql-reasons.ts'
import { shortText } from '../../../api/explain/text.ts'
import type { Awaitable } from '../../../base/awaitable.ts'
import type { Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { Exchange } from '../../http/http.ts'

/** Answers the requests of REST or GraphQL. Errors are thrown, except those that GraphQL reports in its reply. */
export type Transport = (exchange: Exchange, principal: Principal) => Awaitable<Reply>

interface RefusalParts {
  readonly explain: Explainer
  /** Whether the response to a request contains reasons. */
  readonly explainsTo: (exchange: Exchange) => boolean
}

const explainedCodes = new Set([
  'UNAUTHORIZED',
  'FORBIDDEN',
  'INSUFFICIENT_SCOPE',
  'NOT_FOUND',
  'VALIDATION_FAILED',
])

/** Adds `error.explain` and, for GraphQL, `extensions.explain`. */
export function withReasons(transport: Transport, parts: RefusalParts | undefined): Transport {
  if (parts === undefined) return transport
  return async (exchange, principal) => {
    if (!parts.explainsTo(exchange)) return transport(exchange, principal)
    try {
      return await withGraphqlReasons(await transport(exchange, principal), parts, exchange, principal)
    } catch (error) {
      if (!(error instanceof ApiError) || !explainedCodes.has(error.code)) throw error
      const explanation = await explanationOf(parts, exchange, principal)
      error.explain = explanation && shortText(explanation.reasons)
      throw error
    }
  }
}

/** Undefined if the explanation fails: the failure must not replace the refusal. */
async function explanationOf({ explain }: RefusalParts, exchange: Exchange, principal: Principal) {
  try {
    return await explain.call(exchange, principal)
  } catch {
    return undefined
  }
}

interface GraphqlError {
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string; explain?: string }
}

function codeOf({ extensions }: GraphqlError): string {
  return extensions?.code ?? ''
}

/** Adds the reasons to GraphQL errors, which are part of a reply and not thrown. */
async function withGraphqlReasons(
  reply: Reply,
  parts: RefusalParts,
  exchange: Exchange,
  principal: Principal,
): Promise<Reply> {
  const { body, cachedHead: _cachedHead, ...rest } = reply
  if (exchange.path !== '/graphql' || typeof body !== 'string' || !body.startsWith('{"errors"')) return reply
  const answer: { readonly errors: readonly GraphqlError[] } = JSON.parse(body)
  const refusals = answer.errors.filter(error => explainedCodes.has(codeOf(error)))
  if (refusals.length === 0) return reply
  const { reasons = [] } = (await explanationOf(parts, exchange, principal)) ?? {}
  for (const error of refusals) {
    const key = fieldKey(error.path)
    const ownReasons = reasons.filter(({ path }) => fieldKey(path) === key)
    if (ownReasons.length > 0 && error.extensions) error.extensions.explain = shortText(ownReasons)
  }
  return { ...rest, body: JSON.stringify(answer) }
}
