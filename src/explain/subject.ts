/** The principal of the explained request. */
import { ApiError, type FieldFault } from '../errors.ts'
import type { Model } from '../model/model.ts'
import type { Awaitable } from '../plan/answer.ts'
import type { ItemShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { itemShape, listShape, readItem, where } from '../plan/system-plans.ts'
import { allowedScopes, anonymous, type Principal, system, user } from '../principal.ts'
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
  /** Null if the asker may not read it. */
  readonly role: string | null
  /** Why their credentials are refused; undefined if they are not. */
  readonly fault?: string
}

function invalid(field: string, message: string): ApiError {
  const details: readonly FieldFault[] = [{ field, code: 'not_found', message }]
  return new ApiError('VALIDATION_FAILED', message, { details })
}

interface SubjectParts {
  readonly model: Model
  readonly run: Run
  readonly now: () => number
}

/**
 * Throws VALIDATION_FAILED if there is no such key, or no such user that the asker may read: an explanation must not find
 * users that the asker could not.
 */
export async function subjectOf(
  parts: SubjectParts,
  { as, key, scopes }: ExplainRequest,
  asker: Principal = system,
): Promise<Subject> {
  const { model, run, now } = parts
  // Administrators may see everybody's keys.
  const found = key === undefined ? undefined : await readItem<KeyRow>(run, keyById, key)
  if (key !== undefined && found === undefined) throw invalid('api_key', `There is no API key ${key}.`)
  const who = found?.user_id ?? as
  const limit = scopes ?? found?.scopes ?? undefined
  if (who === null) {
    if (limit === undefined) return { principal: anonymous('explain'), role: null }
    throw invalid('scopes', 'Nobody signed in has no scopes: leave them out, or name a user.')
  }
  const id = await userId(run, who, asker)
  const row = id === undefined ? undefined : await userRow(model, run, id)
  if (row === undefined) throw invalid('as', `There is no user ${JSON.stringify(who)}.`)
  // As in `auth/api-key.ts`: what a key creates ends with it.
  const through = found && { appId: null, grant: `key:${found.id}`, thirdParty: found.third_party === true }
  const expiresAt = found?.expires_at ? Date.parse(found.expires_at) : undefined
  const principal = user(row.id, row.role, allowedScopes(limit), undefined, expiresAt, through)
  const role = (await readAs<Pick<UserRow, 'role'>>(run, roleOf, row.id, asker))?.role ?? null
  return { principal, role, ...faultOf(row, found, now()) }
}

function faultOf({ id, disabled }: UserRow, key: KeyRow | undefined, now: number): Pick<Subject, 'fault'> {
  if (disabled) return { fault: `The account ${id} is disabled: no credential of it is taken.` }
  if (!key?.expires_at || Date.parse(key.expires_at) > now) return {}
  return { fault: `The API key ${key.id} has expired: ${key.expires_at}.` }
}

const keyById = itemShape('api_keys', ['id', 'user_id', 'scopes', 'expires_at', 'third_party'])
const idOf = itemShape('users', ['id'])
const roleOf = itemShape('users', ['role'])
const byEmail = listShape('users', ['id'], where('email'))

/** Undefined if the asker may not read it. */
async function readAs<T>(run: Run, shape: ItemShape, id: number, asker: Principal): Promise<T | undefined> {
  const answer = await unlessRefused(() => run.item({ shape, args: [id] }, asker))
  return answer?.text ? JSON.parse(answer.text) : undefined
}

async function userId(run: Run, who: number | string, asker: Principal): Promise<number | undefined> {
  if (typeof who === 'number') return (await readAs<{ readonly id: number }>(run, idOf, who, asker))?.id
  // PostgreSQL refuses U+0000 in a text.
  if (who.includes('\0')) return undefined
  const answer = await unlessRefused(() =>
    run.list({ shape: byEmail, args: [0, 1, who.toLowerCase()] }, asker),
  )
  const [found]: readonly { readonly id: number }[] = JSON.parse(answer?.text ?? '[]')
  return found?.id
}

async function unlessRefused<A>(read: () => Awaitable<A>): Promise<A | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

function userRow(model: Model, run: Run, id: number): Awaitable<UserRow | undefined> {
  const hasDisabled = model.collections.get('users')?.fields.has('disabled') === true
  return readItem<UserRow>(run, itemShape('users', ['id', 'role', ...(hasDisabled ? ['disabled'] : [])]), id)
}
