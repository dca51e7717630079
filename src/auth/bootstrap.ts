/** The first start: an administrator and an API key, so that somebody can come in. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { CreateShape, ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { system } from '../principal.ts'
import type { Records, StoredRecord } from '../records.ts'
import { findByEmail } from './accounts/users.ts'
import { generateKey } from './key.ts'
import { keyCreation } from './new-key.ts'
import { hashPassword, verifyPassword } from './password.ts'

export interface FirstAdministrator {
  readonly email: string
  /** Undefined where the settings gave it: what is known is not shown again. */
  readonly password: string | undefined
  readonly key: string | undefined
}

interface BootstrapSettings {
  readonly adminEmail: string
  readonly adminPassword: string | undefined
  readonly adminApiKey: string | undefined
}

const KIND = 'FirstStart'
const FINISHED = '{}'

/**
 * What the first start makes. Whoever finds it unfinished makes the same of it, at the same time or after the one
 * who wrote it has died, so nothing is there twice.
 */
interface Claim {
  readonly email: string
  readonly password: string
  readonly key: string
  /** What the settings gave. */
  readonly given: { readonly password: boolean; readonly key: boolean }
}

const anybody: ListShape = {
  kind: 'list',
  collection: 'users',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

async function hasUsers(run: Run): Promise<boolean> {
  const { text } = await run.list({ shape: anybody, args: [0, 1] }, system)
  return text !== null && text !== '[]'
}

type Values = Readonly<Record<string, JsonValue>>

/** A create by Portico itself. Returns the new item's id. */
export async function createBySystem(
  run: Run,
  collection: string,
  set: Values,
  computed: Values,
): Promise<number> {
  const names = [...Object.keys(set), ...Object.keys(computed)]
  const assignments = names.map((field, param) => ({ field, param }))
  const given = Object.keys(set).length
  const shape: CreateShape = {
    kind: 'create',
    collection,
    set: assignments.slice(0, given),
    computed: assignments.slice(given),
    select: [{ kind: 'field', key: 'id', field: 'id' }],
  }
  const answer = await run.write({ shape, args: [...Object.values(set), ...Object.values(computed)] }, system)
  return answer.id
}

/** A new account. CONFLICT when the address has one. */
export async function createUser(run: Run, values: Values, password: string): Promise<number> {
  return createBySystem(run, 'users', values, { password_hash: await hashPassword(password) })
}

/** A new key of a user. Returns the key, which is not stored. */
export async function createKey(run: Run, userId: number, values: Values, key?: string): Promise<string> {
  const { computed, revealed } = keyCreation(key)
  await createBySystem(run, 'api_keys', values, { user_id: userId, ...computed })
  return String(revealed.key)
}

export function generatePassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Undefined where it is there already. */
async function ignoringConflict<T>(made: Promise<T>): Promise<T | undefined> {
  try {
    return await made
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

/** The claim of a start that is not finished, a new one where nobody is there, or undefined. */
async function openClaim(
  run: Run,
  records: Records,
  settings: BootstrapSettings,
): Promise<StoredRecord | undefined> {
  const claims = await records.all(KIND)
  const begun = claims.find(({ payload }) => payload !== FINISHED)
  if (begun || (await hasUsers(run))) return begun
  const id = String(claims.length)
  await records.add({ kind: KIND, id, payload: JSON.stringify(newClaim(settings)), expiresAt: null })
  // Another process may have been faster: then it is that one's, and perhaps finished by now.
  const claim = await records.get(KIND, id)
  return claim?.payload === FINISHED ? undefined : claim
}

/** The administrator's id; undefined where the address is that of somebody else's account. */
async function makeAdministrator(run: Run, { email, password }: Claim): Promise<number | undefined> {
  const values = { name: 'Administrator', email, role: 'admin' }
  const made = await ignoringConflict(createUser(run, values, password))
  if (made !== undefined) return made
  const found = await findByEmail(run, email)
  if (found?.role !== 'admin' || found.password_hash === null) return undefined
  return (await verifyPassword(password, found.password_hash)) ? found.id : undefined
}

/**
 * Makes the administrator and a key. Undefined where there are users already, or another process has made them:
 * of many at once, and of those that go on with what a start that died has left, exactly one is told.
 */
export async function bootstrap(
  run: Run,
  /** Their secrets sealed: until both are made, the claim holds them. */
  records: Records,
  settings: BootstrapSettings,
): Promise<FirstAdministrator | undefined> {
  const open = await openClaim(run, records, settings)
  if (open === undefined) return undefined
  const claim = JSON.parse(open.payload) as Claim
  const { email, password, key, given } = claim
  const id = await makeAdministrator(run, claim)
  if (id !== undefined) {
    await ignoringConflict(createKey(run, id, { name: 'First key', scopes: ['*'] }, key))
  }
  const isTheOne = await records.swap(open, open.payload, FINISHED)
  if (!isTheOne || id === undefined) return undefined
  return {
    email,
    password: given.password ? undefined : password,
    key: given.key ? undefined : key,
  }
}
