/** As whom a request is explained. */
import { ApiError, type FieldFault } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { Run } from '../plan/run.ts'
import { itemShape, listShape, readFirst, readItem, where } from '../plan/system-plans.ts'
import { anonymous, type Principal, type Scopes, user } from '../principal.ts'
import type { ExplainRequest } from './request.ts'

interface UserRow {
  readonly id: number
  readonly role: string
  readonly disabled?: boolean
}

interface KeyRow {
  readonly id: number
  readonly user_id: number
  readonly scopes: readonly string[] | null
  readonly expires_at: string | null
  readonly third_party: boolean | null
}

export interface Subject {
  readonly principal: Principal
  /** Why no credential of theirs is taken; undefined: one is. */
  readonly fault?: string
}

const keyById = itemShape('api_keys', ['id', 'user_id', 'scopes', 'expires_at', 'third_party'])

function invalid(field: string, message: string): ApiError {
  const details: readonly FieldFault[] = [{ field, code: 'not_found', message }]
  return new ApiError('VALIDATION_FAILED', message, { details })
}

/** Throws VALIDATION_FAILED where there is no such user or key. */
export async function subjectOf(
  { model, run, now = Date.now }: { readonly model: Model; readonly run: Run; readonly now?: () => number },
  { as, key, scopes }: ExplainRequest,
): Promise<Subject> {
  const found = key === undefined ? undefined : await readItem<KeyRow>(run, keyById, key)
  if (key !== undefined && found === undefined) throw invalid('api_key', `There is no API key ${key}.`)
  const who = found?.user_id ?? as
  const limit = scopes ?? found?.scopes ?? undefined
  if (who === null) {
    if (limit === undefined) return { principal: anonymous('explain') }
    throw invalid('scopes', 'Nobody signed in has no scopes: leave them out, or name a user.')
  }
  const row = await userRow(model, run, who)
  if (row === undefined) throw invalid('as', `There is no user ${JSON.stringify(who)}.`)
  const through = { appId: null, grant: null, thirdParty: found?.third_party === true }
  const principal = user(row.id, row.role, scopesOf(limit), undefined, undefined, through)
  if (row.disabled)
    return { principal, fault: `The account ${row.id} is disabled: no credential of it is taken.` }
  if (found?.expires_at && Date.parse(found.expires_at) <= now()) {
    return { principal, fault: `The API key ${found.id} has expired: ${found.expires_at}.` }
  }
  return { principal }
}

function scopesOf(listed: readonly string[] | undefined): Scopes {
  return listed === undefined || listed.includes('*') ? 'all' : new Set(listed)
}

function userRow(model: Model, run: Run, who: number | string) {
  const hasDisabled = model.collections.get('users')?.fields.has('disabled') === true
  const fields = ['id', 'role', ...(hasDisabled ? ['disabled'] : [])]
  if (typeof who === 'number') return readItem<UserRow>(run, itemShape('users', fields), who)
  // No address contains U+0000, and PostgreSQL refuses it in a text.
  if (who.includes('\0')) return undefined
  return readFirst<UserRow>(run, listShape('users', fields, where('email')), who.toLowerCase())
}
