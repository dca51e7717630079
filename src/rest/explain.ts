/** `POST /api/v1/explain`: why a request of somebody is allowed or refused. */
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import { isAnonymous, type Principal } from '../principal.ts'
import { readBody } from './body.ts'
import { parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import { json } from './write.ts'

/**
 * Throws UNAUTHORIZED or FORBIDDEN for whoever is no administrator, and for an app or a credential that scopes limit: an
 * explanation says more than any scope names.
 */
export function requireAdministrator({ access, appId }: Principal, what = 'explain requests'): void {
  const { role, scopes } = access
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  if (role !== 'admin') throw new ApiError('FORBIDDEN', `Only administrators may ${what}.`)
  if (appId === null && (scopes === 'all' || scopes.has('*'))) return
  throw new ApiError('FORBIDDEN', 'This needs a credential that is no app’s, and that no scope limits.')
}

const { unstored: headers } = makePresentation(true, [])

/** 200 with the explanation; nothing of the request that it explains is stored. */
export async function answerExplain(
  explain: ((body: unknown, asker: Principal) => Promise<object>) | undefined,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  if (explain === undefined) throw new ApiError('NOT_FOUND')
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const body = JSON.stringify(await explain(readBody(call, json), principal))
  return { status: 200, headers, body }
}
