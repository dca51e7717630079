/** Requests for the routes of the model. Their code does not run: unlike an action's, it may have effects that last. */
import type { Call } from '../../base/call.ts'
import { type ApiError, toApiError } from '../../base/errors.ts'
import type { Route } from '../../model/model.ts'
import type { RoutesAtPath } from '../routes/paths.ts'
import { admittedRoute } from '../routes/routes.ts'
import type { ReasonParts } from './evaluation.ts'
import type { Reason } from './explanation.ts'
import { refusalReasons } from './refusals.ts'
import { callerRuleReason } from './rule-reasons.ts'

interface RouteOutcome {
  /** The status is null if the code decides it. */
  readonly outcome: { readonly status: number | null; readonly error: ApiError | undefined }
  readonly reasons: readonly Reason[]
  readonly notes: readonly string[]
  /** From whose limit the request draws; undefined: it is refused, and draws from those of its caller. */
  readonly route: Route | undefined
}

export async function routeOutcome(
  parts: ReasonParts,
  found: RoutesAtPath,
  call: Call,
): Promise<RouteOutcome> {
  try {
    const route = admittedRoute(parts, found, call, parts.principal)
    const { name, access } = route
    const reason = await callerRuleReason(parts, `The route ${name}`, access, true)
    const note = `The code of routes.${name} did not run: it decides the answer. If it refuses the signature of the request, the limits of the caller count.`
    return { outcome: { status: null, error: undefined }, reasons: [reason], notes: [note], route }
  } catch (cause) {
    const error = toApiError(cause)
    const refusing = found.routes.find(({ name }) => name === error.refused?.operation)
    const reasons = refusing
      ? [await callerRuleReason(parts, `The route ${refusing.name}`, refusing.access, false)]
      : await refusalReasons(parts, error)
    return { outcome: { status: error.status, error }, reasons, notes: [], route: undefined }
  }
}
