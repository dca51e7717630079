/** The deletion of an account by its owner. */
import type { Run } from '../../../plan/run.ts'
import { deleteShape, listShape, readFirst, where } from '../../../plan/system-plans.ts'
import { system } from '../../../principal.ts'
import type { Asker } from '../../mail/mailer.ts'
import type { AccountBase } from '../accounts.ts'
import type { UserRow } from '../users.ts'
import { type Consequence, deletionPlan } from './own-data.ts'

const removal = deleteShape('users')

/** The relations by which items refer to the account that do not go with it. */
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
 * Deletes the account with all that goes with it, in one commit: sessions, tokens, consents and keys end at once. A system
 * act: the model's rules say who deletes other people’s accounts. Throws CONFLICT where items still refer to it, or nobody
 * would be left to administer the service.
 */
export async function deleteAccount(
  { run, mail, background }: AccountBase,
  { id, email }: Pick<UserRow, 'id' | 'email'>,
  asker: Asker,
): Promise<void> {
  // In the event log, the user has done it.
  await run.write({ shape: removal, args: [id] }, { ...system, userId: id })
  background(() => mail.sendTemplate('accountDeleted', { to: email, asker }, { by: 'owner' }))
}
