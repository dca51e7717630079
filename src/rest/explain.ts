/** `POST /api/v1/explain`: why a request of somebody is allowed or refused. */
import type { Call, Reply } from '../call.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { requireAdministrator } from './administrators.ts'
import { readBody } from './body.ts'
import { parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import { json, type WriteServices } from './write.ts'

/** Throws as `requireAdministrator`. What may write accounts may set their passwords: an explanation says less than that. */
export function requireExplainer(principal: Principal): void {
  requireAdministrator(principal, { act: 'explain requests', appScope: 'write:user' })
}

/** Requests that an explanation draws besides its own: it makes the request, undoes it, and looks at each part of rules. */
const furtherCost = 9

const { unstored: headers } = makePresentation(true, [])

interface ExplainServices extends Pick<WriteServices, 'draw'> {
  readonly explain?: (body: unknown, asker: Principal) => Promise<object>
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
  const body = JSON.stringify(await explain(readBody(call, json), principal))
  return { status: 200, headers, body }
}
