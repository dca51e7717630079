/** By what a user can sign in: the last way stays. */
import type { AccountBase } from './accounts.ts'
import type { Passkeys } from './passkeys.ts'
import type { Provider } from './providers/provider.ts'
import { findUser } from './users.ts'

interface Parts {
  readonly base: AccountBase
  readonly passkeys: Passkeys
  readonly providers: ReadonlyMap<string, Provider>
}

/** Whether there is one besides `without`, the id of a passkey or an identity. Identities of removed providers are none. */
export async function hasOtherWay(
  { base, passkeys, providers }: Parts,
  userId: number,
  without: string | undefined,
): Promise<boolean> {
  const user = await findUser(base.run, userId)
  if (!user || user.password_hash !== null) return true
  const identities = (await base.identities.list(userId)).filter(({ provider }) => providers.has(provider))
  return [...identities, ...(await passkeys.list(userId))].some(({ id }) => id !== without)
}
