/** `POST /api/v1/explain`: why a request of somebody is allowed or refused. */
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import type { Awaitable } from '../plan/answer.ts'
import { hasScope, isAnonymous, type Principal } from '../principal.ts'
import { readBody } from './body.ts'
import { parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import { json, type WriteServices } from './write.ts'

/** Throws UNAUTHORIZED, FORBIDDEN or INSUFFICIENT_SCOPE for whoever is no administrator with a credential of their own. */
export function requireAdministrator(principal: Principal): void {
  const { access } = principal
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  if (access.role !== 'admin') throw new ApiError('FORBIDDEN', 'Only administrators may explain requests.')
  requireOwnCredential(principal)
}

/** What may write accounts may set their passwords: an explanation says less than that. */
const appScope = 'write:user'

/**
 * Throws FORBIDDEN for a key that scopes limit, because an explanation says more than any scope names, and for third-party
 * apps. INSUFFICIENT_SCOPE for a first-party app that may not write accounts.
 */
function requireOwnCredential({ access: { scopes, thirdParty }, appId }: Principal): void {
  if (thirdParty) throw new ApiError('FORBIDDEN', 'Third-party apps may not explain requests.')
  if (hasScope(scopes, appId === null ? '*' : appScope)) return
  if (appId === null) throw new ApiError('FORBIDDEN', 'This needs a credential that no scope limits.')
  throw new ApiError('INSUFFICIENT_SCOPE', `This needs the scope ${appScope}.`, { scope: appScope })
}

/** Requests that an explanation draws besides its own: it makes the request, undoes it, and looks at each part of rules. */
const furtherCost = 9

const { unstored: headers } = makePresentation(true, [])

/** `draw`: what the request that is explained would draw; from the asker's budget. */
export type Explain = (
  body: unknown,
  asker: Principal,
  draw: (requests: number) => Awaitable<undefined>,
) => Promise<object>

interface ExplainServices extends Pick<WriteServices, 'draw'> {
  readonly explain?: Explain
}

/** 200 with the explanation; nothing of the request that it explains is stored. */
export async function answerExplain(
  { explain, draw }: ExplainServices,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  if (explain === undefined) throw new ApiError('NOT_FOUND')
  await draw?.(call, principal, furtherCost)
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const more = (requests: number) => draw?.(call, principal, requests)
  const body = JSON.stringify(await explain(readBody(call, json), principal, more))
  return { status: 200, headers, body }
}
