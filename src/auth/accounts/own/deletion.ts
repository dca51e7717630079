/** The deletion of an account by its owner. */
import type { Run } from '../../../plan/run.ts'
import { deleteShape, listShape, readFirst, where } from '../../../plan/system-plans.ts'
import { system } from '../../../principal.ts'
import type { Asker } from '../../mail/mailer.ts'
import type { AccountBase } from '../accounts.ts'
import type { UserRow } from '../users.ts'
import { type Consequence, deletionPlan } from './own-data.ts'

const removal = deleteShape('users')

/** The relations with items that refer to the account and keep it from being deleted. */
export async function blockersOf(
  { run, model }: Pick<AccountBase, 'run' | 'model'>,
  userId: number,
): Promise<readonly Consequence[]> {
  const found = await Promise.all(
    deletionPlan(model).blocking.map(async one => ((await isUsed(run, one, userId)) ? [one] : [])),
  )
  return found.flat()
}

async function isUsed(run: Run, { collection, field }: Consequence, userId: number): Promise<boolean> {
  return (await readFirst(run, listShape(collection, ['id'], where(field)), userId)) !== undefined
}

/**
 * Deletes the account and everything stored for it in one commit: sessions, tokens, consents and keys end at once. The service
 * itself deletes it: the model's rules govern who may delete other users. Throws CONFLICT if items still refer to the account,
 * or if nobody would be left to administer the service.
 */
export async function deleteAccount(
  { run, mail, background }: AccountBase,
  { id, email }: Pick<UserRow, 'id' | 'email'>,
  asker: Asker,
): Promise<void> {
  // The event log names the user as the actor.
  await run.write({ shape: removal, args: [id] }, { ...system, userId: id })
  background(() => mail.sendTemplate('accountDeleted', { to: email, asker }, { by: 'owner' }))
}
