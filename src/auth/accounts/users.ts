/** The rows of `users`, as Portico itself reads and writes them. */
import type { JsonValue } from '../../model/fields/type.ts'
import type { Filter, ListShape, UpdateShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { system } from '../../principal.ts'

export interface UserRow {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly role: string
  readonly password_hash: string | null
}

function listBy(field: 'id' | 'email'): ListShape {
  const filter: Filter = { kind: 'compare', field, operator: 'eq', param: 2 }
  return {
    kind: 'list',
    collection: 'users',
    within: undefined,
    filter,
    search: undefined,
    sort: [],
    window: { kind: 'page', offset: 0, limit: 1, total: 'none' },
    select: ['id', 'name', 'email', 'role', 'password_hash'].map(name => ({
      kind: 'field',
      key: name,
      field: name,
    })),
  }
}

const byId = listBy('id')
const byEmail = listBy('email')

const newHash: UpdateShape = {
  kind: 'update',
  mode: 'merge',
  collection: 'users',
  id: 0,
  set: [{ field: 'password_hash', param: 1 }],
  ifMatch: undefined,
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

async function first(run: Run, shape: ListShape, value: JsonValue): Promise<UserRow | undefined> {
  const answer = await run.list({ shape, args: [0, 1, value] }, system)
  return JSON.parse(answer.text ?? '[]')[0]
}

export function findUser(run: Run, id: number): Promise<UserRow | undefined> {
  return first(run, byId, id)
}

/** `email` as it was typed. */
export async function findByEmail(run: Run, email: string): Promise<UserRow | undefined> {
  // No address has one, and PostgreSQL refuses a text with it.
  return email.includes('\0') ? undefined : first(run, byEmail, email.trim().toLowerCase())
}

/** Whether the password is still the one that was read: to compare one takes long, above all in a queue. */
export async function hasStill(
  run: Run,
  { id, password_hash }: Pick<UserRow, 'id' | 'password_hash'>,
): Promise<boolean> {
  return (await findUser(run, id))?.password_hash === password_hash
}

const newEmail: UpdateShape = { ...newHash, set: [{ field: 'email', param: 1 }] }

/** CONFLICT where another account has it. */
export async function storeEmail(run: Run, id: number, email: string): Promise<void> {
  await run.write({ shape: newEmail, args: [id, email] }, system)
}

export async function storePasswordHash(run: Run, id: number, hashed: string): Promise<void> {
  await run.write({ shape: newHash, args: [id, hashed] }, system)
}
