/** `GET /api/v1/users/{id}/personal_data`: the data of a person as NDJSON, for them and for administrators. */
import type { Call, Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import { isAnonymous, type Principal } from '../../base/principal.ts'
import { requireRecentSignIn } from '../../engine/plan/recent-sign-in.ts'
import { requireNdjson } from './accept.ts'
import { requireAdministrator } from './administrators.ts'
import { ndjson } from './export/formats.ts'
import type { ExportSource } from './export/sources.ts'
import { parameterFault, parseQuery, unknownParameter } from './query/query-string.ts'
import { makePresentation } from './reply/headers.ts'
import type { RouteOf } from './routes.ts'
import type { RestServices } from './services.ts'

export const maxReasonCharacters = 500

const presentation = makePresentation(true, [])

/** Throws unless the caller is the user, or an administrator, and no third-party app. */
function requireMayExport(principal: Principal, userId: number): void {
  const { access } = principal
  if (isAnonymous(access)) throw new ApiError('UNAUTHORIZED')
  if (access.thirdParty)
    throw new ApiError('FORBIDDEN', 'Third-party apps may not export the data of a person.')
  if (principal.userId === userId) return
  // An app with this scope can set any password, and so be any person.
  requireAdministrator(principal, { action: 'export the data of others', appScope: 'write:user' })
}

function reasonIn(query: string): string | undefined {
  let reason: string | undefined
  for (const { name, value } of parseQuery(query)) {
    if (name !== 'reason') throw unknownParameter(name, ['reason'])
    reason = value.trim()
  }
  if (reason === undefined || (reason !== '' && reason.length <= maxReasonCharacters)) return reason
  throw parameterFault(
    'reason',
    'invalid',
    `The parameter "reason" has 1 to ${maxReasonCharacters} characters.`,
  )
}

/** 200 with a stream of `{"collection":…,"item":…}`. */
export async function answerPersonalData(
  { personalData, exports }: RestServices,
  { id }: RouteOf<'personalData'>,
  call: Call,
  principal: Principal,
): Promise<Reply> {
  requireMayExport(principal, id)
  requireRecentSignIn(principal)
  requireNdjson(call.headers.accept)
  const reason = reasonIn(call.query)
  const isOwn = principal.userId === id
  if (!isOwn && reason === undefined)
    throw parameterFault('reason', 'required', 'Say why, for the log, in the parameter "reason".')
  if (personalData === undefined) throw new ApiError('NOT_FOUND')
  const data = personalData(id, principal, isOwn ? undefined : reason)
  const source: ExportSource = {
    isSized: true,
    next(caller, size) {
      requireMayExport(caller, id)
      return data.next(caller, size)
    },
  }
  return exports.answer(ndjson, {
    ...{ call, principal, source, columns: [], presentation },
    name: `personal_data_${id}`,
  })
}
