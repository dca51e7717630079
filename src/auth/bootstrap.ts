/** The first start: an administrator and an API key, so that somebody can come in. */
import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { CreateShape, ListShape, UpdateShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { system } from '../principal.ts'
import { keyCreation } from './new-key.ts'
import { hashPassword } from './password.ts'

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

const firstUsers: ListShape = {
  kind: 'list',
  collection: 'users',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 0, limit: 1, total: false },
  select: ['id', 'email', 'role', 'created_at', 'password_hash'].map(field => {
    return { kind: 'field', key: field, field }
  }),
}

interface FirstUser {
  readonly id: number
  readonly email: string
  readonly role: string
  readonly created_at: string
  readonly password_hash: string | null
}

const passwordOf: UpdateShape = {
  kind: 'update',
  mode: 'merge',
  collection: 'users',
  id: 0,
  set: [{ field: 'password_hash', param: 1 }],
  ifMatch: undefined,
  select: [],
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

/** The first two, which is enough to know whether there is only one. */
async function readUsers(run: Run): Promise<readonly FirstUser[]> {
  const { text } = await run.list({ shape: firstUsers, args: [0, 2] }, system)
  return JSON.parse(text ?? '[]')
}

/** Undefined where the given key is there already. */
async function ignoringConflict<T>(made: Promise<T>): Promise<T | undefined> {
  try {
    return await made
  } catch (error) {
    if (error instanceof ApiError && error.code === 'CONFLICT') return undefined
    throw error
  }
}

/** How long another process may take over its first start, in milliseconds. */
const PATIENCE = 20_000

/** The administrator whom a start that died has left without a password, which is given last. */
async function findUnfinished(run: Run, email: string, wait: Wait): Promise<number | undefined> {
  for (;;) {
    const [first, ...others] = await readUsers(run)
    if (first === undefined || others.length > 0 || first.password_hash !== null) return undefined
    if (first.role !== 'admin' || first.email !== email) return undefined
    if (Date.now() - Date.parse(first.created_at) >= PATIENCE) return first.id
    await wait(100)
  }
}

async function makeAdministrator(run: Run, email: string): Promise<number | undefined> {
  const values = { name: 'Administrator', email, role: 'admin' }
  return ignoringConflict(createBySystem(run, 'users', values, {}))
}

type Wait = (milliseconds: number) => Promise<void>

/**
 * Makes the administrator and a key, in steps of which the password is the last: what a start did not
 * finish, the next one does. Undefined when there are users already, or another process is at it.
 */
export async function bootstrap(
  run: Run,
  { adminEmail, adminPassword, adminApiKey }: BootstrapSettings,
  wait: Wait = setTimeout,
): Promise<FirstAdministrator | undefined> {
  const made = (await readUsers(run)).length === 0 ? await makeAdministrator(run, adminEmail) : undefined
  const id = made ?? (await findUnfinished(run, adminEmail, wait))
  if (id === undefined) return undefined
  const password = adminPassword ?? generatePassword()
  const key = createKey(run, id, { name: 'First key', scopes: ['*'] }, adminApiKey)
  const shown = await (adminApiKey === undefined ? key : ignoringConflict(key))
  await run.write({ shape: passwordOf, args: [id, await hashPassword(password)] }, system)
  return {
    email: adminEmail,
    password: adminPassword === undefined ? password : undefined,
    key: adminApiKey === undefined ? shown : undefined,
  }
}
