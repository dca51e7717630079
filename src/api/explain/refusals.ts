/** Why a request is refused, from the error that refuses it. */
import type { ApiError } from '../../base/errors.ts'
import type { Principal, Scopes } from '../../base/principal.ts'
import { isWrite } from '../../engine/plan/plan.ts'
import { itemOf, type ReasonParts } from './evaluation.ts'
import type { Reason } from './explanation.ts'
import type { Attempt } from './rehearsal.ts'
import { absenceReason, fieldReasons, ruleReason } from './rule-reasons.ts'

export function scopeList(scopes: Scopes): 'all' | readonly string[] {
  return scopes === 'all' ? 'all' : [...scopes].sort()
}

/** `root`: the key of the failing root field of a GraphQL operation. */
export async function refusalReasons(
  parts: ReasonParts,
  error: ApiError,
  root?: string | number,
): Promise<readonly Reason[]> {
  const attempt = attemptOf(parts, error, root)
  const reasons = await reasonsOf(parts, error, attempt, root)
  if (attempt?.isFromCode !== true || attempt.error !== error) return reasons
  return reasons.map(reason => ({
    ...reason,
    message: `In the code of ${parts.operations.at(-1)}: ${reason.message}`,
  }))
}

function attemptOf({ attempts }: ReasonParts, error: ApiError, root?: string | number): Attempt | undefined {
  const failed = attempts.find(attempt => attempt.error === error)
  if (failed !== undefined) return failed
  const rootAttempt = root === undefined ? undefined : attempts.findLast(attempt => hasRoot(attempt, root))
  return rootAttempt ?? attempts.findLast(attempt => !attempt.isFromCode) ?? attempts.at(-1)
}

function hasRoot({ plan: { shape } }: Attempt, root: string | number): boolean {
  return shape.kind === 'composite' && shape.roots.some(({ key }) => key === root)
}

async function reasonsOf(
  parts: ReasonParts,
  error: ApiError,
  attempt: Attempt | undefined,
  root: string | number | undefined,
): Promise<readonly Reason[]> {
  const { refused, scope } = error
  if (scope !== undefined) return [{ ...scopeReason(parts.principal, scope), ...refused }]
  if (refused?.fields) return fieldReasons(parts, refused, attempt)
  if (refused)
    return [await ruleReason(parts, refused, ruleAttempt(parts, attempt, refused.collection), false)]
  switch (error.code) {
    case 'VALIDATION_FAILED':
      return validationReasons(parts, error, attempt)
    case 'NOT_FOUND':
      return [await notFound(parts, error, attempt, root)]
    case 'INTERNAL_ERROR':
      return [codeReason(parts, error)]
    case 'CONFLICT':
      return [{ kind: 'limit', message: error.message }]
    case 'UNAUTHORIZED':
      return [{ kind: 'credential', message: error.message }]
    default:
      return [{ kind: 'request', message: error.message }]
  }
}

function scopeReason({ access }: Principal, scope: string): Reason {
  const grantedScopes = scopeList(access.scopes)
  const scopeText = grantedScopes === 'all' ? 'all' : grantedScopes.join(', ') || 'none'
  const message = `The credential needs the scope ${scope}; it has ${scopeText}.`
  return { kind: 'scope', message, scope, scopes: grantedScopes === 'all' ? ['*'] : grantedScopes }
}

/** The attempt that a refusal is about: if no plan has thrown it, the last one that names an item of the collection. */
function ruleAttempt({ attempts }: ReasonParts, attempt: Attempt | undefined, collection: string) {
  if (attempt && (isWrite(attempt.plan) || itemOf(attempt.plan)?.collection === collection)) return attempt
  return (
    attempts.findLast(({ plan, isFromCode }) => !isFromCode && itemOf(plan)?.collection === collection) ??
    attempt
  )
}

function notFound(
  parts: ReasonParts,
  error: ApiError,
  attempt: Attempt | undefined,
  root: string | number | undefined,
): Reason | Promise<Reason> {
  const emptyRead =
    root === undefined
      ? parts.attempts.findLast(candidate => candidate.error === error || candidate.isEmpty)
      : undefined
  const missingItem = (emptyRead ?? attempt) && itemOf((emptyRead ?? attempt)?.plan as Attempt['plan'], root)
  if (missingItem !== undefined) return absenceReason(parts, missingItem)
  const message = root === undefined ? 'There is no such path.' : error.message
  return { kind: 'missing', message }
}

/** Only the operator sees the error; others find it in the log. */
function codeReason({ operations, viewer }: ReasonParts, error: ApiError): Reason {
  const code = operations.length === 0 ? 'The service' : `The code of ${operations.at(-1)}`
  if (viewer !== undefined) return { kind: 'code', message: `${code} has failed: the log has the error.` }
  const messages: string[] = []
  for (let cause = error.cause; cause instanceof Error && messages.length < maxCauses; cause = cause.cause) {
    messages.push(cause.message)
  }
  return { kind: 'code', message: `${code} has failed: ${messages.join(' ') || error.message}` }
}

const maxCauses = 5
/** Each detail may need a read. */
const maxDetails = 20

function validationReasons(
  parts: ReasonParts,
  error: ApiError,
  attempt: Attempt | undefined,
): Promise<readonly Reason[]> {
  const details = error.details ?? [{ field: '', code: 'invalid', message: error.message }]
  const plan = attempt && isWrite(attempt.plan) ? attempt.plan : undefined
  return Promise.all(
    details.slice(0, maxDetails).map(async ({ field, code, message }) => {
      const shape = plan?.shape.kind === 'delete' ? undefined : plan?.shape
      const reference = parts.model.collections.get(shape?.collection ?? '')?.fields.get(field)?.reference
      const param = shape?.set.find(assignment => assignment.field === field)?.param
      const id = param === undefined ? undefined : plan?.args[param]
      if (code === 'not_found' && reference && typeof id === 'number') {
        return { ...(await absenceReason(parts, { collection: reference.target, id })), fields: [field] }
      }
      return { kind: 'validation' as const, message, ...(field !== '' && { fields: [field] }) }
    }),
  )
}
