/**
 * Refusals with their reasons: in the log at `debug`, and in the answers of `portico dev`. Where neither is asked for, the
 * transport stays as it is, and no request pays for it.
 */
import type { Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import type { Explainer } from '../explain/explain.ts'
import { shortText } from '../explain/text.ts'
import type { Exchange } from '../http.ts'
import type { Logger } from '../observability/log.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { Principal } from '../principal.ts'

type Transport = (exchange: Exchange, principal: Principal) => Awaitable<Reply>

interface RefusalParts {
  readonly explain: Explainer
  readonly logger: Logger
  /** Whether clients are told: never but in development. */
  readonly tells: boolean
}

const refused = new Set(['UNAUTHORIZED', 'FORBIDDEN', 'INSUFFICIENT_SCOPE', 'NOT_FOUND', 'VALIDATION_FAILED'])

export function withReasons(transport: Transport, parts: RefusalParts): Transport {
  if (!parts.tells && !parts.logger.isLevelEnabled('debug')) return transport
  return async (exchange, principal) => {
    try {
      return await shown(await transport(exchange, principal), parts, exchange, principal)
    } catch (error) {
      if (!(error instanceof ApiError) || !refused.has(error.code)) throw error
      note(parts.logger, error, exchange)
      if (parts.tells) error.explain = await reasonOf(parts, exchange, principal)
      throw error
    }
  }
}

/** No values of fields: the log may be read by more people than the items. */
function note(logger: Logger, { code, scope, refused: by, details }: ApiError, exchange: Exchange): void {
  const fields = by?.fields ?? details?.map(({ field }) => field)
  const { requestId: request_id, userId: user_id } = exchange
  const { collection, operation } = by ?? {}
  logger.debug({ request_id, user_id, code, collection, operation, scope, fields }, 'refused')
}

/** Undefined where it cannot be told: the refusal itself matters more. */
async function reasonOf({ explain }: RefusalParts, exchange: Exchange, principal: Principal) {
  try {
    return shortText(await explain.call(exchange, principal))
  } catch {
    return undefined
  }
}

interface GraphqlError {
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly code?: string; explain?: string }
}

/** The same for the errors of a GraphQL reply, which does not fail as a whole. */
async function shown(
  reply: Reply,
  parts: RefusalParts,
  exchange: Exchange,
  principal: Principal,
): Promise<Reply> {
  const { body, kept: _kept, ...rest } = reply
  if (exchange.path !== '/graphql' || typeof body !== 'string' || !body.startsWith('{"errors"')) return reply
  const answer: { readonly errors: readonly GraphqlError[] } = JSON.parse(body)
  const [first] = answer.errors.filter(({ extensions }) => refused.has(extensions?.code ?? ''))
  if (first?.extensions === undefined) return reply
  const { requestId: request_id, userId: user_id } = exchange
  parts.logger.debug({ request_id, user_id, code: first.extensions.code, path: first.path }, 'refused')
  if (!parts.tells) return reply
  const explain = await reasonOf(parts, exchange, principal)
  if (explain !== undefined) first.extensions.explain = explain
  return { ...rest, body: JSON.stringify(answer) }
}
