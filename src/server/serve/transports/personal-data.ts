/** The data of a person through the API: `GET /api/v1/users/{id}/personal_data`, `POST /api/v1/users/{id}/erase`. */

import { done, type ItemAction, type OpenPersonalData } from '../../../api/rest/actions/action.ts'
import { ApiError } from '../../../base/errors.ts'
import { type Principal, system } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import { requireRecentSignIn } from '../../../engine/plan/recent-sign-in.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { type NoticeParts, notifyOfDeletion } from '../../../identity/accounts/notifications.ts'
import { PersonalRows } from '../../../identity/accounts/self-service/data-export.ts'
import { deleteAccount, requireExportable } from '../../../identity/accounts/self-service/deletion.ts'
import { findUser } from '../../../identity/accounts/users.ts'
import type { Model } from '../../../model/model.ts'
import type { Logger } from '../../observability/log.ts'

export interface PersonalDataParts {
  readonly model: Model
  readonly run: Run
  readonly records: Pick<Records, 'get'>
  /** Omitted: users get no mail. */
  readonly notices?: NoticeParts | undefined
  /** Omitted: the request is only an explanation of itself. */
  readonly logger?: Logger | undefined
}

const caller = ({ userId, app }: Principal) => ({ by: userId, app_id: app?.id ?? null })

export function openPersonalData({ model, run, records, logger }: PersonalDataParts): OpenPersonalData {
  return (userId, principal, reason) => {
    const isOwn = principal.userId === userId
    const logged = { user_id: userId, ...caller(principal), ...(isOwn ? {} : { reason }) }
    logger?.info(logged, 'the data of a person is exported')
    return new PersonalRows({ model, run, userId }, async reader => {
      const person = await requireExportable(run, records, userId)
      // Others get what the person may read, not what they may read themselves.
      return isOwn ? reader : person
    })
  }
}

function missingReason(): ApiError {
  const message = 'Say why, for the log: `reason` has at least one character besides spaces.'
  return new ApiError('VALIDATION_FAILED', undefined, {
    details: [{ field: 'reason', code: 'too_short', message }],
  })
}

export function eraseAction({ model, run, notices, logger }: PersonalDataParts): ItemAction {
  return async ({ id, input }, principal) => {
    requireRecentSignIn(principal)
    const reason = String(input?.['reason'] ?? '').trim()
    if (reason === '') throw missingReason()
    const user = await findUser(run, id)
    if (user === undefined) throw new ApiError('NOT_FOUND')
    // Before the deletion, which deletes what is known of the address.
    const isTrusted = (await notices?.addresses.isTrusted(id, user.email)) === true
    const logged = { user_id: id, ...caller(principal), reason }
    // Before the commit, after which this process may end.
    logger?.info(logged, 'the deletion of an account is requested')
    const isDeleted = await deleteAccount({ model, run }, id, { ...system, userId: principal.userId })
    logger?.info(logged, isDeleted ? 'an account was deleted' : 'the deletion of an account has begun')
    if (notices && isTrusted) notifyOfDeletion(notices, user)
    return done({ result: { kind: 'nothing' } })
  }
}
