/** The built-in collections and fields. */
import { nobody, owner, related, role, signedIn } from '../access.ts'
import { collection, index } from '../declaration.ts'
import type { CollectionDeclaration, CollectionOptions } from '../declared-model.ts'
import type { FieldDeclarations } from '../fields/declared.ts'
import { administrators, apiKeyFields, oauthAppFields, oauthAppSecretFields, userFields } from './fields.ts'

export { idField, timeFields, userFields } from './fields.ts'

const userAccess = {
  read: signedIn,
  create: role('admin'),
  update: owner('id').or(role('admin')),
  delete: role('admin'),
}

/** `users`, extended by the model's declaration. `narrowed`: built-in fields with the options that narrow them. */
export function usersWith(
  added: CollectionDeclaration | undefined,
  narrowed: FieldDeclarations,
): CollectionDeclaration {
  const { fields, access, ...rest } = added?.options ?? { fields: {} }
  const options: CollectionOptions = {
    description: 'The people who have an account.',
    ...rest,
    fields: { ...userFields, ...fields, ...userFields, ...narrowed } as FieldDeclarations,
    access: { ...userAccess, ...access },
  }
  return { kind: 'collection', extends: 'users', options }
}

/** Users see and change only their own API keys. Administrators see and delete all. */
export function apiKeys(scopes: readonly string[]): CollectionDeclaration {
  const own = owner('user_id')
  return collection({
    description: 'Keys that let a program act for the user who created them.',
    fields: apiKeyFields(scopes),
    indexes: [index('grant')],
    access: { read: own.or(administrators), create: signedIn, update: own, delete: own.or(administrators) },
  })
}

/** The scopes of OpenID Connect (Core 1.0, 5.4 and 11), which tokens may have in addition to the model's. */
export const openidScopes: ReadonlyMap<string, string> = new Map([
  ['openid', 'Know who you are'],
  ['profile', 'See your name'],
  ['email', 'See your e-mail address'],
  ['offline_access', 'Keep this access while you are away'],
])

const ownApps = owner('user_id')

/**
 * Users see and change only their own OAuth apps. Administrators see all, and may set `first_party`: `appRule` refuses
 * other changes.
 */
export function oauthApps(scopes: readonly string[]): CollectionDeclaration {
  const ownOrAdministrator = ownApps.or(administrators)
  return collection({
    description: 'Apps that ask users for access by OAuth 2.0.',
    fields: oauthAppFields([...openidScopes.keys(), ...scopes]),
    access: { read: ownOrAdministrator, create: signedIn, update: ownOrAdministrator, delete: ownApps },
  })
}

/** All secrets of an app, including the first. When one is created, the others expire after a while. */
export function oauthAppSecrets(): CollectionDeclaration {
  const ownsApp = related('app', ownApps)
  return collection({
    description:
      'The secrets of confidential apps. Creating one makes the earlier ones expire after a while; deleting one revokes it at once.',
    fields: oauthAppSecretFields,
    access: { read: ownsApp, create: ownsApp, update: nobody, delete: ownsApp },
  })
}
