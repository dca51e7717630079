/** Reads and ends subresources: the sessions and grants of an account. */
import type { Call, Reply } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import type { KeyedAttempt } from '../../../engine/idempotency/idempotency.ts'
import { makePresentation } from '../reply/headers.ts'
import type { PreparedAction, SubresourceHandler, SubresourceHandlers } from './action.ts'
import { admitSubresource } from './admission.ts'
import { type ActionServices, answerProgram, refuseParameters, requireSettable } from './answer.ts'
import type { SubresourceRoute } from './routes.ts'

const { unstored: headers } = makePresentation(true, [])

function handlerOf(handlers: SubresourceHandlers, { collection, subresource }: SubresourceRoute) {
  const handler = handlers.get(collection.name)?.get(subresource.name)
  if (handler === undefined) throw new ApiError('NOT_FOUND')
  return handler
}

async function admittedHandler(
  services: ActionServices,
  route: SubresourceRoute,
  call: Call,
  principal: Principal,
): Promise<SubresourceHandler> {
  const { model, subresources } = services
  admitSubresource(model, route, principal, call.method === 'DELETE' ? 'delete' : 'read')
  refuseParameters(call.query)
  const handler = handlerOf(subresources, route)
  await requireSettable(services, route, route.subresource.settableField, principal)
  return handler
}

/** GET: 200 with the entries, newest first. */
export async function answerSubresource(
  services: ActionServices,
  route: SubresourceRoute,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  const handler = await admittedHandler(services, route, call, principal)
  const { data, total } = await handler.list(route.id)
  return { status: 200, headers, body: JSON.stringify({ data, meta: { total } }) }
}

/** DELETE: 204. Throws NOT_FOUND if there is no such entry. */
export async function endSubresource(
  services: ActionServices,
  route: SubresourceRoute,
  call: Call,
  principal: Principal,
  attempt: KeyedAttempt | undefined,
): Promise<Reply> {
  const handler = await admittedHandler(services, route, call, principal)
  const changes = await handler.end(route.id, route.key)
  if (changes === undefined) throw new ApiError('NOT_FOUND')
  const program: PreparedAction = {
    serial: undefined,
    *steps() {
      for (const change of changes) yield change
      return { result: { kind: 'nothing' } }
    },
  }
  return answerProgram(services, program, principal, attempt)
}
