/** The sign-in methods of a user. The last one cannot be removed. */
import { ApiError } from '../../../base/errors.ts'
import { system } from '../../../base/principal.ts'
import type { RecordKey, StoredRecord } from '../../../base/records.ts'
import type { RecordChange } from '../../../engine/plan/transaction.ts'
import type { AccountBase } from '../accounts.ts'
import { identityKind, providerOfRecord } from '../identities.ts'
import type { Provider } from '../providers/provider.ts'
import { findUser } from '../users.ts'
import { passkeyKind } from './passkeys.ts'

export interface SignInMethodParts {
  readonly base: Pick<AccountBase, 'run' | 'records'>
  readonly providers: ReadonlyMap<string, Provider>
}

/**
 * A passkey or identity of the user other than `removed`. Identities of providers that are no longer configured do not
 * count.
 */
async function otherMethod(
  { base: { records }, providers }: SignInMethodParts,
  owner: string,
  removed: RecordKey,
): Promise<StoredRecord | undefined> {
  const [identities, passkeys] = await Promise.all([
    records.byOwner(identityKind, owner),
    records.byOwner(passkeyKind, owner),
  ])
  const usable = identities.filter(identity => providers.has(providerOfRecord(identity)))
  return [...usable, ...passkeys].find(({ kind, id }) => kind !== removed.kind || id !== removed.id)
}

/** A concurrent request has changed one of the records. No client sees this error. */
class ConcurrentChange extends ApiError {
  constructor() {
    super('CONFLICT')
  }
}

/** Makes the changes in one transaction. Returns false, and changes nothing, unless each of them can be made. */
async function changeAll({ base }: SignInMethodParts, changes: readonly RecordChange[]): Promise<boolean> {
  try {
    await base.run.transaction({
      principal: system,
      serial: {},
      *steps() {
        for (const change of changes) if (!(yield change)) throw new ConcurrentChange()
      },
    })
    return true
  } catch (error) {
    if (error instanceof ConcurrentChange) return false
    throw error
  }
}

/** The order in which records are locked. */
function isBefore(one: RecordKey, other: RecordKey): boolean {
  return one.kind === other.kind ? one.id < other.id : one.kind < other.kind
}

/** Removes a passkey or an identity of the user, unless it is the only sign-in method. */
export async function removeSignInMethod(
  parts: SignInMethodParts,
  userId: number,
  { kind, id }: RecordKey,
): Promise<'removed' | 'last' | 'missing'> {
  const { run, records } = parts.base
  const owner = String(userId)
  const key = { kind, id }
  for (;;) {
    const [record, user] = await Promise.all([records.get(kind, id), findUser(run, userId)])
    if (record?.owner !== owner || !user) return 'missing'
    const remove: RecordChange = { kind: 'delete', key }
    // A password cannot be removed.
    if (user.password_hash !== null) return (await changeAll(parts, [remove])) ? 'removed' : 'missing'
    const other = await otherMethod(parts, owner, key)
    if (!other) return 'last'
    // Changes nothing, but fails if the other method has been removed, and locks it until the commit.
    const keep: RecordChange = { kind: 'swap', key: other, before: other.payload, after: other.payload }
    // All transactions lock the records in the same order, so that no deadlock occurs.
    const changes = isBefore(key, other) ? [remove, keep] : [keep, remove]
    if (await changeAll(parts, changes)) return 'removed'
  }
}
