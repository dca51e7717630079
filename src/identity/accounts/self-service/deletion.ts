/** The deletion of an account by its owner, or for them. */

import { ApiError } from '../../../base/errors.ts'
import { type Principal, system } from '../../../base/principal.ts'
import { deletionRecord, type Records } from '../../../base/records.ts'
import { CascadeTooLarge } from '../../../engine/plan/cascade-too-large.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { deleteShape, listShape, readFirst, updateShape } from '../../../engine/plan/system-plans.ts'
import type { Model } from '../../../model/model.ts'
import type { Requester } from '../../mail/mailer.ts'
import { pauseWebhooksOfUser } from '../../webhooks/grants.ts'
import type { AccountBase } from '../accounts.ts'
import type { UserRow } from '../users.ts'
import { blockingReferences, type Consequence } from './own-data.ts'

const deleteUser = deleteShape('users')
const setDisabled = updateShape('users', ['disabled'])

export interface DeletionContext {
  readonly run: Run
  readonly model: Model
}

/** The relations whose items refer to the account, or to what is deleted with it, and prevent its deletion. */
export async function blockersOf(
  { run, model }: DeletionContext,
  userId: number,
): Promise<readonly Consequence[]> {
  const blockers = await Promise.all(
    blockingReferences(model).map(async ({ filter, ...reference }) => {
      const found = await readFirst(run, listShape(reference.collection, ['id'], filter), userId)
      return found === undefined ? [] : [reference]
    }),
  )
  return blockers.flat()
}

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

async function beginDeletion(context: DeletionContext, id: number, by: Principal): Promise<void> {
  const { run } = context
  const [blocker] = await blockersOf(context, id)
  // What is deleted in slices must not stop halfway.
  if (blocker !== undefined) {
    const message = `Items of ${blocker.collection} still refer to the account, or to what is deleted with it, by ${blocker.field}.`
    throw new ApiError('CONFLICT', message)
  }
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
