/** Items of `users` as Portico's own code reads and writes them. */

import { system } from '../../base/principal.ts'
import type { NewRecord } from '../../base/records.ts'
import type { Run } from '../../engine/plan/run.ts'
import {
  itemShape,
  listShape,
  readFirst,
  readItem,
  readItemStep,
  readStored,
  updateShape,
  where,
} from '../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../engine/plan/transaction.ts'
import { canonicalEmail } from '../../model/fields/email.ts'

export interface UserRow {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly role: string
  /** Whether its credentials are refused: see `disabled-account.ts`. */
  readonly disabled: boolean
  readonly password_hash: string | null
}

/** The fields on which the credentials of a user depend. */
export type CredentialOwner = Pick<UserRow, 'role' | 'disabled'>

/** Reads a `CredentialOwner`. */
export const credentialOwnerById = itemShape('users', ['role', 'disabled'])

const fields = ['id', 'name', 'email', 'role', 'disabled', 'password_hash']
const byId = itemShape('users', fields)
const byEmail = listShape('users', fields, where('email'))

const updateHash = updateShape('users', ['password_hash'])
const updateEmail = updateShape('users', ['email'])

/** The user with an id, with the rights of the service. */
export async function findUser(run: Run, id: number): Promise<UserRow | undefined> {
  return readItem(run, byId, id)
}

/** `email` as it was typed. */
export async function findByEmail(run: Run, email: string): Promise<UserRow | undefined> {
  // No address contains U+0000, and PostgreSQL refuses it in a text.
  return email.includes('\0') ? undefined : readFirst(run, byEmail, canonicalEmail(email.trim()))
}

/**
 * Whether the account still has the password that was read: verifying one takes long enough for another request to replace it.
 */
export function hasSamePassword(
  run: Run,
  { id, password_hash }: Pick<UserRow, 'id' | 'password_hash'>,
): Promise<boolean> {
  return readStored(run, function* () {
    return (yield* readItemStep<UserRow>(byId, id))?.password_hash === password_hash
  })
}

/**
 * Stores an e-mail address and, in the same transaction, its record. Returns false if the password or the address of the
 * account has changed since `user` was read. Throws CONFLICT if another account has the address.
 */
export function storeEmail(run: Run, user: UserRow, email: string, record: NewRecord): Promise<boolean> {
  return run.transaction({
    principal: system,
    serial: { writes: ['users'] },
    *steps() {
      const current = yield* readItemStep<UserRow>(byId, user.id)
      if (current?.password_hash !== user.password_hash || current.email !== user.email) return false
      yield { shape: updateEmail, args: [user.id, email] }
      yield { kind: 'put', record }
      return true
    },
  })
}

/**
 * Stores a password hash if the account is still as expected. Returns whether it did. The transaction is serialized with
 * others that set a password, also on other nodes.
 */
export function replacePasswordHash(
  run: Run,
  id: number,
  passwordHash: string,
  isExpected: (user: UserRow) => boolean,
): Promise<boolean> {
  return run.transaction({
    principal: system,
    serial: { writes: ['users'] },
    steps: () => passwordHashSteps(id, passwordHash, isExpected),
  })
}

/** The steps of `replacePasswordHash`, and further ones if it stored the hash. */
export function* passwordHashSteps(
  id: number,
  passwordHash: string,
  isExpected: (user: UserRow) => boolean,
  furtherSteps?: () => ProgramSteps<void>,
): ProgramSteps<boolean> {
  const user = yield* readItemStep<UserRow>(byId, id)
  if (user === undefined || !isExpected(user)) return false
  yield planAs(system, { shape: updateHash, args: [id, passwordHash] })
  if (furtherSteps) yield* furtherSteps()
  return true
}
