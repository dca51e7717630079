/** The ways in which a user can sign in, of which the last cannot be removed. */
import type { StoredRecord } from '../../../records.ts'
import type { AccountBase } from '../accounts.ts'
import type { Provider } from '../providers/provider.ts'
import { findUser } from '../users.ts'
import type { Passkeys } from './passkeys.ts'

interface Parts {
  readonly base: AccountBase
  readonly passkeys: Passkeys
  readonly providers: ReadonlyMap<string, Provider>
}

/**
 * Whether the user can sign in without the passkey or identity `without`. Identities of providers that are not configured any
 * more do not count.
 */
async function hasOtherWay(
  { base, passkeys, providers }: Parts,
  userId: number,
  without: string | undefined,
): Promise<boolean> {
  const user = await findUser(base.run, userId)
  if (!user || user.password_hash !== null) return true
  const identities = (await base.identities.list(userId)).filter(({ provider }) => providers.has(provider))
  return [...identities, ...(await passkeys.list(userId))].some(({ id }) => id !== without)
}

/**
 * Removes a passkey or an identity unless it is the only way to sign in. If another request has removed the others in the
 * meantime, it is stored again. `remove` returns the record that it has removed.
 */
export async function removeWay(
  parts: Parts,
  userId: number,
  id: string,
  remove: () => Promise<StoredRecord | undefined>,
): Promise<'removed' | 'last' | 'missing'> {
  if (!(await hasOtherWay(parts, userId, id))) return 'last'
  const removed = await remove()
  if (removed === undefined) return 'missing'
  if (await hasOtherWay(parts, userId, undefined)) return 'removed'
  const { kind, payload, expiresAt, owner } = removed
  await parts.base.records.add({ kind, id, payload, expiresAt, owner: owner ?? undefined })
  return 'last'
}
