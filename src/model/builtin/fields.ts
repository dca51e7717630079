/** The fields of the built-in collections. */
import { firstParty, role } from '../access.ts'
import { boolean } from '../fields/boolean.ts'
import { choice } from '../fields/choice.ts'
import { datetime } from '../fields/datetime.ts'
import { declared } from '../fields/declared.ts'
import { email } from '../fields/email.ts'
import { idType, integer } from '../fields/integer.ts'
import { jsonType } from '../fields/json.ts'
import { currentUser, now } from '../fields/marker.ts'
import { relation } from '../fields/relation.ts'
import { string } from '../fields/string.ts'
import { text } from '../fields/text.ts'
import { texts } from '../fields/texts.ts'
import { url } from '../fields/url.ts'
import { publicPictureUrl, redirectUriPattern, visibleLine } from '../json-schema/patterns.ts'

const readOnly = { readOnly: true } as const
const internal = { optional: true, internal: true } as const

/** The first field of every collection. */
export const idField = declared<number, typeof readOnly>({
  type: idType('integer'),
  options: readOnly,
  checks: {},
})

/** The last fields of every collection; `updated_at` only if the collection declares `updatedAt`. */
export const timeFields = {
  created_at: datetime({ readOnly: true, default: now }),
  updated_at: datetime({ readOnly: true, default: now }),
}

/** These rights are enough to take over any account, so third-party apps that an administrator has authorised do not have them. */
export const administrators = role('admin').and(firstParty)

export const userFields = {
  name: string({ max: 100, pattern: visibleLine }),
  email: email({ unique: true }),
  role: string({ default: 'user', max: 50, access: { write: administrators } }),
  disabled: boolean({
    default: false,
    access: { read: role('admin'), write: administrators },
    description:
      'Whether the account is suspended. All its credentials are refused until it is enabled again.',
  }),
  password_hash: string({ optional: true, internal: true }),
}

const keyScopes = {
  optional: true,
  immutable: true,
  description: 'The scopes of the key; `*` stands for everything that you may do.',
} as const

/** `scopes`: the scopes of the model. */
export function apiKeyFields(scopes: readonly string[]) {
  const items = { type: 'string', enum: [...scopes, '*'] }
  return {
    user_id: relation('users', {
      inverse: 'api_keys',
      onDelete: 'cascade',
      readOnly: true,
      default: currentUser,
      description: 'The user who owns the key.',
    }),
    name: string({ max: 100, pattern: visibleLine, description: 'A name for the key.' }),
    scopes: declared<readonly string[], typeof keyScopes>({
      type: jsonType({ type: 'array', items, uniqueItems: true, minItems: 1, maxItems: items.enum.length }),
      options: keyScopes,
      checks: {},
    }),
    expires_at: datetime({ optional: true, description: 'When the key expires; null: never.' }),
    prefix: string({
      readOnly: true,
      max: 20,
      description: 'The first characters of the key, to recognise it.',
    }),
    hash: string({ internal: true, unique: true }),
    // Whether it was created through a third-party app: see `AccessClass.thirdParty`.
    third_party: boolean(internal),
    // The OAuth grant with which it ends, and the app that has the grant: see `identity/keys/origin.ts`.
    grant: text(internal),
    app_id: relation('oauth_apps', { ...internal, as: 'app', onDelete: 'cascade' }),
    // The keys that it descends from, its creator last.
    ancestors: declared<readonly number[], typeof internal>({
      type: jsonType({ type: 'array', items: { type: 'integer' } }),
      options: internal,
      checks: {},
    }),
  } as const
}

const separator = {
  optional: true,
  description: 'The separator of scopes in token responses; null: the default of the service.',
} as const

const redirectUris = { maxItems: 50 }

const redirectUri = { type: 'string', maxLength: 2048, pattern: redirectUriPattern }

/** The fields of an OAuth app (RFC 6749, 2). */
export function oauthAppFields(scopes: readonly string[]) {
  const among = { type: 'string', enum: scopes }
  const atMost = { maxItems: scopes.length }
  return {
    user_id: relation('users', {
      inverse: 'oauth_apps',
      onDelete: 'cascade',
      readOnly: true,
      default: currentUser,
      description: 'The user who owns the app.',
    }),
    name: string({
      max: 100,
      pattern: visibleLine,
      description: 'The name that users see on the consent page.',
    }),
    type: choice(['confidential', 'public'], {
      immutable: true,
      default: 'confidential',
      description:
        '`confidential`: the app can keep a secret. `public`: it runs on devices of its users and cannot.',
    }),
    redirect_uris: texts(redirectUri, redirectUris, {
      description:
        'The allowed redirect URIs. They are compared exactly, except for the port of 127.0.0.1 and [::1].',
    }),
    scopes: texts(among, atMost, {
      optional: true,
      description: 'The scopes that the app may request; null: any.',
    }),
    default_scopes: texts(among, atMost, {
      optional: true,
      description: 'The scopes of requests that name none.',
    }),
    scope_separator: declared<',' | ' ', typeof separator>({
      type: jsonType({ type: 'string', enum: [',', ' '] }),
      options: separator,
      checks: {},
    }),
    access_token_format: choice(['opaque', 'jwt'], {
      optional: true,
      description: 'The format of its access tokens; null: the default of the service.',
    }),
    logo_uri: string({
      optional: true,
      max: 2048,
      pattern: publicPictureUrl,
      description: 'The logo of the app: an https URL with a public host name.',
    }),
    homepage_uri: url({ optional: true, description: 'The home page of the app.' }),
    policy_uri: url({ optional: true, description: 'The privacy policy of the app.' }),
    tos_uri: url({ optional: true, description: 'The terms of service of the app.' }),
    first_party: boolean({
      default: false,
      access: { write: administrators },
      description: 'Whether the app belongs to the service itself. Its users are not asked for consent.',
    }),
    requests_per_minute: integer({
      optional: true,
      min: 1,
      max: 1_000_000_000,
      access: { write: administrators },
      description:
        'How many requests the app may send in a minute for all of its users together; null: as many as the settings of the service say. Not for an app of the service itself.',
    }),
    client_id: string({
      unique: true,
      readOnly: true,
      max: 100,
      description: 'The client id of the app at the authorization server.',
    }),
  } as const
}

export const oauthAppSecretFields = {
  app_id: relation('oauth_apps', {
    as: 'app',
    inverse: 'secrets',
    onDelete: 'cascade',
    immutable: true,
    description: 'The app that owns the secret.',
  }),
  prefix: string({
    readOnly: true,
    max: 20,
    description: 'The first characters of the secret, to recognise it.',
  }),
  expires_at: datetime({
    optional: true,
    readOnly: true,
    description: 'When the secret expires. It is set when a newer secret is created; null until then.',
  }),
  hash: string({ internal: true, unique: true }),
} as const

export type UserFields = typeof userFields
export type OauthAppFields = ReturnType<typeof oauthAppFields>
export type OauthAppSecretFields = typeof oauthAppSecretFields
export type ApiKeyFields = ReturnType<typeof apiKeyFields>
