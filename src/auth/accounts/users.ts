/** Items of `users` as Portico's own code reads and writes them. */
import type { Run } from '../../plan/run.ts'
import {
  itemShape,
  listShape,
  readFirst,
  readItem,
  readItemStep,
  updateShape,
  where,
} from '../../plan/system-plans.ts'
import type { ProgramSteps } from '../../plan/transaction.ts'
import { system } from '../../principal.ts'
import type { NewRecord } from '../../records.ts'

export interface UserRow {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly role: string
  /** Whether its credentials are refused: see `disabled-account.ts`. */
  readonly disabled: boolean
  readonly password_hash: string | null
}

const fields = ['id', 'name', 'email', 'role', 'disabled', 'password_hash']
const byId = itemShape('users', fields)
const byEmail = listShape('users', fields, where('email'))

const newHash = updateShape('users', ['password_hash'])
const newEmail = updateShape('users', ['email'])

export async function findUser(run: Run, id: number): Promise<UserRow | undefined> {
  return readItem(run, byId, id)
}

/** `email` as it was typed. */
export async function findByEmail(run: Run, email: string): Promise<UserRow | undefined> {
  // No address contains U+0000, and PostgreSQL refuses it in a text.
  return email.includes('\0') ? undefined : readFirst(run, byEmail, email.trim().toLowerCase())
}

/**
 * Whether the password is still the one that was read. It may have changed while it was compared, which takes long. Read in a
 * transaction: the caches know the commits of other nodes only from before the request.
 */
export function hasStill(
  run: Run,
  { id, password_hash }: Pick<UserRow, 'id' | 'password_hash'>,
): Promise<boolean> {
  return run.transaction({
    principal: system,
    serial: undefined,
    snapshot: true,
    *steps() {
      return (yield* readItemStep<UserRow>(byId, id))?.password_hash === password_hash
    },
  })
}

/**
 * Stores an e-mail address and, in the same transaction, its record. Returns false if the account has got another password
 * or address since `user` was read. Throws CONFLICT where another account has the address.
 */
export function storeEmail(run: Run, user: UserRow, email: string, record: NewRecord): Promise<boolean> {
  return run.transaction({
    principal: system,
    serial: ['users'],
    *steps() {
      const now = yield* readItemStep<UserRow>(byId, user.id)
      if (now?.password_hash !== user.password_hash || now.email !== user.email) return false
      yield { shape: newEmail, args: [user.id, email] }
      yield { kind: 'put', record }
      return true
    },
  })
}

export async function storePasswordHash(run: Run, id: number, hashed: string): Promise<void> {
  await run.write({ shape: newHash, args: [id, hashed] }, system)
}

/**
 * Stores a password hash if the account is still as expected, together with further steps. Returns whether it did. A
 * password that is set concurrently, also by another node, is stored entirely before this transaction or after it.
 */
export function replacePasswordHash(
  run: Run,
  id: number,
  hashed: string,
  isExpected: (user: UserRow) => boolean,
  { collections = [], steps }: FurtherSteps = {},
): Promise<boolean> {
  return run.transaction({
    principal: system,
    serial: ['users', ...collections],
    *steps() {
      const user = yield* readItemStep<UserRow>(byId, id)
      if (user === undefined || !isExpected(user)) return false
      yield { shape: newHash, args: [id, hashed] }
      if (steps) yield* steps()
      return true
    },
  })
}

/** `collections`: whose items the steps read or write. */
interface FurtherSteps {
  readonly collections?: readonly string[]
  readonly steps?: () => ProgramSteps<void>
}
