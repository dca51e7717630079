/** The deletion of an account by its owner. */

import { system } from '../../../base/principal.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { deleteShape, listShape, readFirst, where } from '../../../engine/plan/system-plans.ts'
import type { Requester } from '../../mail/mailer.ts'
import type { AccountBase } from '../accounts.ts'
import type { UserRow } from '../users.ts'
import { type Consequence, deletionPlan } from './own-data.ts'

const deleteUser = deleteShape('users')

/** The relations whose items refer to the account and prevent its deletion. */
export async function blockersOf(
  { run, model }: Pick<AccountBase, 'run' | 'model'>,
  userId: number,
): Promise<readonly Consequence[]> {
  const blockers = await Promise.all(
    deletionPlan(model).blocking.map(async relation =>
      (await isUsed(run, relation, userId)) ? [relation] : [],
    ),
  )
  return blockers.flat()
}

async function isUsed(run: Run, { collection, field }: Consequence, userId: number): Promise<boolean> {
  return (await readFirst(run, listShape(collection, ['id'], where(field)), userId)) !== undefined
}

/**
 * Deletes the account and everything stored for it in one commit: sessions, tokens, consents and keys end at once. The system is
 * the principal, because the model's rules for deletion are about other users. Throws CONFLICT if items still refer to the account,
 * or if it is the last administrator's.
 */
export async function deleteAccount(
  { run, mail, background }: AccountBase,
  { id, email }: Pick<UserRow, 'id' | 'email'>,
  requester: Requester,
): Promise<void> {
  // The event log names the user as the actor.
  await run.write({ shape: deleteUser, args: [id] }, { ...system, userId: id })
  background(() => mail.sendTemplate('accountDeleted', { to: email, requester }, { by: 'owner' }))
}
