/** The deletion of an account by its owner, or for them. */

import { ApiError } from '../../../base/errors.ts'
import { type Principal, system } from '../../../base/principal.ts'
import { deletionRecord, type Records } from '../../../base/records.ts'
import { CascadeTooLarge } from '../../../engine/plan/cascade-too-large.ts'
import { blockingItems, isDeletedWith } from '../../../engine/plan/dependents.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { deleteShape, listShape, updateShape, where } from '../../../engine/plan/system-plans.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { type ReferringField, referencesTo } from '../../../model/references.ts'
import type { Requester } from '../../mail/mailer.ts'
import { sessionPrincipal } from '../../session-principal.ts'
import { pauseWebhooksOfUser } from '../../webhooks/grants.ts'
import type { AccountBase } from '../accounts.ts'
import { findUser, type UserRow } from '../users.ts'
import type { Consequence } from './own-data.ts'

const deleteUser = deleteShape('users')
const setDisabled = updateShape('users', ['disabled'])

export interface DeletionContext {
  readonly run: Run
  readonly model: Model
}

/** How many items that would be deleted with the account are examined for a page, and before a deletion in slices. */
const [maxItemsOfPage, maxItemsOfDeletion] = [1000, 10_000]
/** How many references to the account are cleared for trial, by each relation. */
const maxTrials = 1000
const trialsPerTransaction = 100

/** The relations whose items refer to the account, or to what is deleted with it, and prevent its deletion. */
export function blockingRelations(
  { run, model }: DeletionContext,
  id: number,
  maxItems: number = maxItemsOfPage,
): Promise<readonly Consequence[]> {
  return blockingItems(run, model, { collection: 'users', id }, maxItems)
}

/** Undoes a trial. */
class TrialOver extends ApiError {
  constructor() {
    super('CONFLICT')
  }
}

/** Clears a relation of items, and undoes it. Returns the id of the item for which that is refused, with the error. */
async function tryClearing(
  run: Run,
  { collection, field }: ReferringField,
  ids: readonly number[],
  by: Principal,
): Promise<{ readonly id: number; readonly error: ApiError } | undefined> {
  const shape = updateShape(collection.name, [field.name])
  let id = 0
  try {
    await run.transaction({
      principal: by,
      serial: undefined,
      *steps() {
        for (id of ids) yield { shape, args: [id, null] }
        throw new TrialOver()
      },
    })
  } catch (error) {
    if (error instanceof TrialOver) return undefined
    if (error instanceof ApiError && error.status < 500 && error.code !== 'NOT_FOUND') return { id, error }
    throw error
  }
  return undefined
}

/** Throws CONFLICT if a rule refuses to clear a reference to the account, which the deletion would do. Changes nothing. */
async function requireClearable({ run, model }: DeletionContext, id: number, by: Principal): Promise<void> {
  const root = { collection: 'users', id }
  for (const reference of referencesTo({ name: 'users' }, model)) {
    const { collection, field, onDelete } = reference
    if (onDelete !== 'clear' || !hasRules(collection)) continue
    const list = listShape(collection.name, ['id'], where(field.name))
    const { text } = await run.list({ shape: list, args: [0, maxTrials, id] }, system)
    const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
    const ids = items.map(item => item.id)
    for (let start = 0; start < ids.length; start += trialsPerTransaction) {
      const refused = await tryClearing(run, reference, ids.slice(start, start + trialsPerTransaction), by)
      if (refused === undefined) continue
      const item = { collection: collection.name, id: refused.id }
      // Its reference is not cleared.
      if (await isDeletedWith(run, model, item, root)) continue
      const message = `Items of ${collection.name} may not lose what they refer to by ${field.name}.`
      throw new ApiError('CONFLICT', message, { cause: refused.error })
    }
  }
}

const hasRules = ({ prepare, limits, check }: Collection) =>
  prepare !== undefined || check !== undefined || limits.length > 0

/**
 * Deletes the account and everything stored for it in one commit: sessions, tokens, consents and keys end at once. If that is
 * more than one transaction may delete, the commit disables the account and stores a record by which `AccountDeletions` deletes
 * everything in slices. Returns whether it is deleted. `by`: the system or the service, since the model's rules for deletion are
 * about other users; the event log names its user as the actor. Throws CONFLICT if items that must stay refer to the account, or
 * if it is the last administrator's.
 */
export async function deleteAccount(context: DeletionContext, id: number, by: Principal): Promise<boolean> {
  try {
    await context.run.write({ shape: deleteUser, args: [id] }, by)
    return true
  } catch (error) {
    if (!(error instanceof CascadeTooLarge)) throw error
  }
  await beginDeletion(context, id, by)
  return false
}

/** Throws CONFLICT if the account is being deleted. */
export async function requireNoDeletion(records: Pick<Records, 'get'>, userId: number): Promise<void> {
  if (await records.get(deletionRecord, String(userId)))
    throw new ApiError('CONFLICT', 'This account is being deleted.')
}

/** The person, with their present rights. Throws if the account is being deleted: what is gone must not be missing from a copy. */
export async function requireExportable(
  run: Run,
  records: Pick<Records, 'get'>,
  userId: number,
): Promise<Principal> {
  await requireNoDeletion(records, userId)
  const user = await findUser(run, userId)
  if (user === undefined) throw new ApiError('NOT_FOUND', 'The account was deleted meanwhile.')
  return sessionPrincipal(user)
}

async function beginDeletion(context: DeletionContext, id: number, by: Principal): Promise<void> {
  const { run } = context
  const [blocker] = await blockingRelations(context, id, maxItemsOfDeletion)
  // What is deleted in slices must not stop halfway.
  if (blocker !== undefined) {
    const message = `Items of ${blocker.collection} still refer to the account, or to what is deleted with it, by ${blocker.field}.`
    throw new ApiError('CONFLICT', message)
  }
  await requireClearable(context, id, { ...system, userId: by.userId })
  const key = { kind: deletionRecord, id: String(id), owner: String(id) }
  const payload = JSON.stringify({ by: by.userId })
  await run.transaction({
    principal: { ...system, userId: by.userId },
    serial: undefined,
    *steps() {
      yield { shape: setDisabled, args: [id, true] }
      yield { kind: 'put', record: { ...key, payload, expiresAt: null } }
    },
  })
  // If pausing fails, the next delivery finds that the account is disabled.
  await pauseWebhooksOfUser(run, id).catch(() => undefined)
}

/** The deletion by the owner, who is notified. */
export async function deleteOwnAccount(
  base: AccountBase,
  { id, email }: Pick<UserRow, 'id' | 'email'>,
  requester: Requester,
): Promise<void> {
  await deleteAccount(base, id, { ...system, userId: id })
  const { mail, background } = base
  background(() => mail.sendTemplate('accountDeleted', { to: email, requester }, { by: 'owner' }))
}
