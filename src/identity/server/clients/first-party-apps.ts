/** A first-party app gets codes without consent, so only administrators may change its redirect URIs and scopes. */
import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../base/errors.ts'
import { isAdministrator, type Principal } from '../../../base/principal.ts'
import type { Plan, UpdateShape, WriteShape } from '../../../engine/plan/plan.ts'
import { type WriteSteps, writeStep } from '../../../engine/plan/run.ts'
import { itemShape, readItemStep } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'

const protectedFields = ['redirect_uris', 'scopes'] as const
const protectedById = itemShape('oauth_apps', ['first_party', ...protectedFields])

type Protected = Readonly<Record<(typeof protectedFields)[number], JsonValue>>

interface StoredApp extends Protected {
  readonly first_party: boolean
}

/** What an update sets the protected fields to. A PUT that omits one sets it to null. */
function newProtectedValues({ shape, args }: Plan<UpdateShape>): Partial<Protected> {
  const entries = protectedFields.flatMap(name => {
    const assignment = shape.set.find(({ field }) => field === name)
    if (!assignment && shape.mode === 'merge') return []
    return [[name, assignment ? (args[assignment.param] ?? null) : null] as const]
  })
  return Object.fromEntries(entries)
}

function requireUntouched(app: Protected, newValues: Partial<Protected>): void {
  const changed = protectedFields.find(
    name => name in newValues && !isDeepStrictEqual(newValues[name], app[name]),
  )
  if (changed === undefined) return
  const message = `Only an administrator can change the \`${changed}\` of a first-party app, and not through a third-party app.`
  throw new ApiError('FORBIDDEN', message)
}

function isUpdate(plan: Plan<WriteShape>): plan is Plan<UpdateShape> {
  return plan.shape.kind === 'update'
}

/**
 * For writes of `oauth_apps`: throws FORBIDDEN if a principal that is no administrator changes a protected field of a
 * first-party app. It reads the app within the transaction, also after the write: an administrator who marks the app at the
 * same moment may have seen other redirect URIs.
 */
export function keepingFirstParty(
  plan: Plan<WriteShape>,
  { access }: Principal,
  steps: WriteSteps | undefined,
): WriteSteps | undefined {
  if (!isUpdate(plan) || isAdministrator(access)) return steps
  const newValues = newProtectedValues(plan)
  if (Object.keys(newValues).length === 0) return steps
  const id = Number(plan.args[plan.shape.id])
  return function* (last) {
    const before = yield* readItemStep<StoredApp>(protectedById, id)
    const answer = yield* (steps ?? writeStep)(last)
    const after = yield* readItemStep<StoredApp>(protectedById, id)
    if (before && after?.first_party) requireUntouched(before, newValues)
    return answer
  }
}
