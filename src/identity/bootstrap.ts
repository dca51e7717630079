/** The first start: creates an administrator and an API key. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '../base/errors.ts'
import { system } from '../base/principal.ts'
import type { Records, StoredRecord } from '../base/records.ts'
import type { Run } from '../engine/plan/run.ts'
import { createPlan, listShape, readFirst } from '../engine/plan/system-plans.ts'
import type { JsonValue } from '../model/fields/type.ts'
import { findByEmail } from './accounts/users.ts'
import type { FirstAdministrator } from './first-administrator.ts'
import { generateKey } from './keys/key.ts'
import { keyCreation } from './keys/new-key.ts'
import { hashPassword, verifyPassword } from './password.ts'

interface BootstrapSettings {
  readonly adminEmail: string
  readonly adminPassword: string | undefined
  readonly adminApiKey: string | undefined
}

const recordKind = 'FirstStart'
const finishedPayload = '{}'

/**
 * What the first start creates. Every process that finds an unfinished claim creates exactly the same, concurrently or after
 * the first process has died, so nothing is created twice. Not a lease: a process can pause for longer than any lease, and would
 * then print a password that is not the valid one.
 */
interface Claim {
  readonly email: string
  readonly password: string
  readonly key: string
  /** Whether the settings contain it. */
  readonly given: { readonly password: boolean; readonly key: boolean }
}

const anyUser = listShape('users', ['id'])

async function hasUsers(run: Run): Promise<boolean> {
  return (await readFirst(run, anyUser)) !== undefined
}

/** Hashes a password. */
type Hash = (password: string) => Promise<string>

type UserFields = Readonly<Record<string, JsonValue>>

/** Creates an item as the service. Returns its id. */
export async function createBySystem(
  run: Run,
  collection: string,
  set: UserFields,
  computed: UserFields,
): Promise<number> {
  return (await run.write(createPlan(collection, set, computed), system)).id
}

/** Creates an account. Throws CONFLICT if the address has one already. */
export async function createUser(
  run: Run,
  values: UserFields,
  password: string,
  hash: Hash = hashPassword,
): Promise<number> {
  return createBySystem(run, 'users', values, { password_hash: await hash(password) })
}

/** Creates an API key for a user. Returns the key; only its hash is stored. */
export async function createKey(run: Run, userId: number, values: UserFields, key?: string): Promise<string> {
  const { computed, revealed } = keyCreation(key)
  await createBySystem(run, 'api_keys', values, { user_id: userId, ...computed })
  return String(revealed.key)
}

/** A password of 20 characters, with 120 random bits. */
export function generatePassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Undefined if it exists already. */
async function ignoringConflict<T>(creation: Promise<T>): Promise<T | undefined> {
  try {
    return await creation
  } catch (error) {
    if (error instanceof ApiError && error.code === 'CONFLICT') return undefined
    throw error
  }
}

function newClaim({ adminEmail, adminPassword, adminApiKey }: BootstrapSettings): Claim {
  return {
    email: adminEmail,
    password: adminPassword ?? generatePassword(),
    key: adminApiKey ?? generateKey(),
    given: { password: adminPassword !== undefined, key: adminApiKey !== undefined },
  }
}

/** The claim of an unfinished start; a new claim if there are no users; otherwise undefined. */
async function openClaim(
  run: Run,
  records: Records,
  settings: BootstrapSettings,
): Promise<StoredRecord | undefined> {
  const claims = await records.all(recordKind)
  const unfinished = claims.find(({ payload }) => payload !== finishedPayload)
  if (unfinished || (await hasUsers(run))) return unfinished
  const id = String(claims.length)
  await records.add({ kind: recordKind, id, payload: JSON.stringify(newClaim(settings)), expiresAt: null })
  // Another process may have added its claim first, and may have finished by now.
  const claim = await records.get(recordKind, id)
  return claim?.payload === finishedPayload ? undefined : claim
}

/** The administrator's id; undefined if the address belongs to another account. */
async function createAdministrator(
  run: Run,
  { email, password }: Claim,
  hash: Hash,
): Promise<number | undefined> {
  const values = { name: 'Administrator', email, role: 'admin' }
  const createdId = await ignoringConflict(createUser(run, values, password, hash))
  if (createdId !== undefined) return createdId
  const existing = await findByEmail(run, email)
  if (existing?.role !== 'admin' || existing.password_hash === null) return undefined
  return (await verifyPassword(password, existing.password_hash)) ? existing.id : undefined
}

/**
 * Creates the administrator and a key. Undefined if there are users already, or if another process has created them: of
 * several processes, exactly one gets them, even when they finish what a dead process has started.
 */
export async function bootstrap(
  run: Run,
  /** Encrypted records: until both are created, the claim contains their secrets. */
  records: Records,
  settings: BootstrapSettings,
  hash: Hash = hashPassword,
): Promise<FirstAdministrator | undefined> {
  const record = await openClaim(run, records, settings)
  if (record === undefined) return undefined
  const claim = JSON.parse(record.payload) as Claim
  const { email, password, key, given } = claim
  const id = await createAdministrator(run, claim, hash)
  if (id !== undefined) {
    await ignoringConflict(createKey(run, id, { name: 'First key', scopes: ['*'] }, key))
  }
  const isFirst = await records.swap(record, record.payload, finishedPayload)
  if (!isFirst || id === undefined) return undefined
  return {
    email,
    password: given.password ? undefined : password,
    key: given.key ? undefined : key,
  }
}
