/** `POST /api/v1/explain`: why a user's request is allowed or refused. */

import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import { requireJson } from './accept.ts'
import { requireAdministrator } from './administrators.ts'
import { readBody } from './body.ts'
import { parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import { json, type WriteServices } from './write.ts'

/** Throws as `requireAdministrator`. For apps, `write:user` is enough: it allows more than an explanation reveals. */
export function requireExplainer(principal: Principal): void {
  requireAdministrator(principal, { action: 'explain requests', appScope: 'write:user' })
}

/** Further requests that an explanation draws: it runs the request, rolls it back, and evaluates each part of its rules. */
const furtherCost = 9

const { unstored: headers } = makePresentation(true, [])

/** `viewer`: the administrator. `draw`: draws what the explained request would draw, from the administrator's budget. */
export type Explain = (
  body: unknown,
  viewer: Principal,
  draw: (requests: number) => Awaitable<undefined>,
) => Promise<object>

interface ExplainServices extends Pick<WriteServices, 'draw'> {
  readonly explain: Explain | undefined
}

/** 200 with the explanation. The explained request has no effect. */
export async function answerExplain(
  { explain, draw }: ExplainServices,
  _route: unknown,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  requireExplainer(principal)
  requireJson(call.headers.accept)
  if (explain === undefined) throw new ApiError('NOT_FOUND')
  await draw?.(call, principal, furtherCost)
  for (const { name } of parseQuery(call.query)) throw unknownParameter(name)
  const drawFurther = (requests: number) => draw?.(call, principal, requests)
  const body = JSON.stringify(await explain(readBody(call, json), principal, drawFurther))
  return { status: 200, headers, body }
}
