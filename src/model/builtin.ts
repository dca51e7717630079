/** The collections and fields that every model has by itself. */
import { owner, role, signedIn } from './access.ts'
import {
  type CollectionDeclaration,
  type CollectionOptions,
  collection,
  type FieldDeclarations,
} from './declaration.ts'
import { datetime } from './fields/datetime.ts'
import { declared } from './fields/declared.ts'
import { email } from './fields/email.ts'
import { integerType } from './fields/integer.ts'
import { jsonType } from './fields/json.ts'
import { currentUser, now } from './fields/marker.ts'
import { relation } from './fields/relation.ts'
import { string } from './fields/string.ts'

const readOnly = { readOnly: true } as const

/** The first field of every collection. */
export const idField = declared<number, typeof readOnly>({
  type: integerType('integer', 1, Number.MAX_SAFE_INTEGER, 'ID'),
  options: readOnly,
  checks: {},
})

/** The last fields: when the item was made and, where the collection asks for it, last changed. */
export const timeFields = {
  created_at: datetime({ readOnly: true, default: now }),
  updated_at: datetime({ readOnly: true, default: now }),
}

export const userFields = {
  name: string({ max: 100 }),
  email: email({ unique: true }),
  role: string({ default: 'user', max: 50, access: { write: role('admin') } }),
  password_hash: string({ optional: true, internal: true }),
}

const userAccess = {
  read: signedIn,
  create: role('admin'),
  update: owner('id').or(role('admin')),
  delete: role('admin'),
}

/** The accounts, with what a declaration adds to them. */
export function usersWith(added: CollectionDeclaration | undefined): CollectionDeclaration {
  const { fields, access, ...rest } = added?.options ?? { fields: {} }
  const options: CollectionOptions = {
    description: 'The people who have an account.',
    ...rest,
    fields: { ...userFields, ...fields, ...userFields } as FieldDeclarations,
    access: { ...userAccess, ...access },
  }
  return { kind: 'collection', extends: 'users', options }
}

const keyScopes = {
  optional: true,
  immutable: true,
  description: 'What the key may be used for; `*` is everything that you may do.',
} as const

/** The fields of an API key; a key's scopes are among the model's. */
function apiKeyFields(scopes: readonly string[]) {
  const items = { type: 'string', enum: [...scopes, '*'] }
  return {
    user_id: relation('users', {
      inverse: 'api_keys',
      onDelete: 'cascade',
      readOnly: true,
      default: currentUser,
      description: 'Whose key it is.',
    }),
    name: string({ max: 100, description: 'What the key is for, in your own words.' }),
    scopes: declared<readonly string[], typeof keyScopes>({
      type: jsonType({ type: 'array', items, uniqueItems: true, minItems: 1, maxItems: items.enum.length }),
      options: keyScopes,
      checks: {},
    }),
    expires_at: datetime({ optional: true, description: 'When the key stops working; null is never.' }),
    prefix: string({ readOnly: true, max: 20, description: 'How the key begins, to recognise it by.' }),
    hash: string({ internal: true, unique: true }),
  } as const
}

/** The API keys, each of its owner's own. */
export function apiKeys(scopes: readonly string[]): CollectionDeclaration {
  const own = owner('user_id')
  return collection({
    description: 'Keys that let a program act for the user who made them.',
    fields: apiKeyFields(scopes),
    access: { read: own, create: signedIn, update: own, delete: own },
  })
}

export type UserFields = typeof userFields
export type ApiKeyFields = ReturnType<typeof apiKeyFields>
