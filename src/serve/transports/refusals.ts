/**
 * Adds the reasons of refusals to the answers of `portico dev`. Otherwise the transport is returned unchanged, so that
 * requests pay nothing for it.
 */
import type { Reply } from '../../call.ts'
import { ApiError } from '../../errors.ts'
import type { Explainer } from '../../explain/explain.ts'
import { fieldKey } from '../../explain/graphql-reasons.ts'
import { shortText } from '../../explain/text.ts'
import type { Exchange } from '../../http.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { Principal } from '../../principal.ts'

type Transport = (exchange: Exchange, principal: Principal) => Awaitable<Reply>

interface RefusalParts {
  readonly explain: Explainer
  /** Whether the answers to a request contain reasons. */
  readonly explainsTo: (exchange: Exchange) => boolean
}

const explained = new Set([
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
      if (!(error instanceof ApiError) || !explained.has(error.code)) throw error
      const explanation = await explanationOf(parts, exchange, principal)
      error.explain = explanation && shortText(explanation.reasons)
      throw error
    }
  }
}

/** Undefined if there is none: a failed explanation must not replace the refusal. */
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

/** GraphQL refusals are errors in a reply, and not thrown. */
async function withGraphqlReasons(
  reply: Reply,
  parts: RefusalParts,
  exchange: Exchange,
  principal: Principal,
): Promise<Reply> {
  const { body, kept: _kept, ...rest } = reply
  if (exchange.path !== '/graphql' || typeof body !== 'string' || !body.startsWith('{"errors"')) return reply
  const answer: { readonly errors: readonly GraphqlError[] } = JSON.parse(body)
  const refused = answer.errors.filter(error => explained.has(codeOf(error)))
  if (refused.length === 0) return reply
  const { reasons = [] } = (await explanationOf(parts, exchange, principal)) ?? {}
  for (const error of refused) {
    const key = fieldKey(error.path)
    const ownReasons = reasons.filter(({ path }) => fieldKey(path) === key)
    if (ownReasons.length > 0 && error.extensions) error.extensions.explain = shortText(ownReasons)
  }
  return { ...rest, body: JSON.stringify(answer) }
}
