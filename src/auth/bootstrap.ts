/** The first start: an administrator and an API key, so that somebody can come in. */
import { randomBytes } from 'node:crypto'
import { ApiError } from '../errors.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { CreateShape, ListShape } from '../plan/plan.ts'
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

const oneUser: ListShape = {
  kind: 'list',
  collection: 'users',
  within: undefined,
  filter: undefined,
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 0, limit: 1, total: false },
  select: [{ kind: 'field', key: 'id', field: 'id' }],
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

async function hasUsers(run: Run): Promise<boolean> {
  const answer = await run.list({ shape: oneUser, args: [0, 1] }, system)
  return answer.text !== '[]'
}

/** Undefined when there are users already, or another process was faster. */
export async function bootstrap(
  run: Run,
  { adminEmail, adminPassword, adminApiKey }: BootstrapSettings,
): Promise<FirstAdministrator | undefined> {
  if (await hasUsers(run)) return undefined
  const password = adminPassword ?? generatePassword()
  try {
    const id = await createUser(run, { name: 'Administrator', email: adminEmail, role: 'admin' }, password)
    const key = await createKey(run, id, { name: 'First key', scopes: ['*'] }, adminApiKey)
    return {
      email: adminEmail,
      password: adminPassword === undefined ? password : undefined,
      key: adminApiKey === undefined ? key : undefined,
    }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'CONFLICT') return undefined
    throw error
  }
}
