/** Creates the providers of the settings, with a function for each kind. */
import type { ClientAuth, ServerMetadata } from 'openid-client'
import { appleSecret } from './apple-secret.ts'
import { claimOf } from './claims.ts'
import { createGithubProvider } from './github.ts'
import { requireTenant } from './microsoft-tenant.ts'
import { createOpenidProvider, type OpenidOptions } from './openid.ts'
import type { Provider } from './provider.ts'
import type { SendRequest } from './provider-fetch.ts'

interface Named {
  readonly id: string
  readonly name: string
  readonly clientId: string
}

/** The settings of a provider: see `config/providers.ts`. */
export type ProviderSettings = Named &
  (
    | { readonly kind: 'google' | 'github'; readonly clientSecret: string }
    | { readonly kind: 'microsoft'; readonly clientSecret: string; readonly tenant: string }
    | {
        readonly kind: 'apple'
        readonly teamId: string
        readonly keyId: string
        readonly privateKey: string
      }
    | {
        readonly kind: 'oidc'
        readonly clientSecret?: string | undefined
        readonly issuer: string
        readonly scopes: readonly string[]
        readonly allowPrivate: boolean
      }
  )

type OfKind<K extends ProviderSettings['kind']> = Extract<ProviderSettings, { readonly kind: K }>

export interface ProviderParts {
  /** Returns a function that sends requests to public addresses, or to private ones too. */
  readonly send: (allowPrivate: boolean) => SendRequest
  readonly now: () => number
}

type Claims = Readonly<Record<string, unknown>>
type Library = typeof import('openid-client')

const isVerified = (claims: Claims) => claimOf(claims, 'email_verified') === true

function usual({ send, now }: ProviderParts, { kind, id, name, clientId }: ProviderSettings) {
  const scopes = ['openid', 'profile', 'email']
  return {
    kind,
    id,
    name,
    clientId,
    scopes,
    allowPrivate: false,
    send: send(false),
    now,
    isEmailVerified: isVerified,
  }
}

const bySecret =
  (secret: string) =>
  (library: Library): ClientAuth =>
    library.ClientSecretPost(secret)

/** In the body if the issuer supports that, otherwise in the header, which is the default (Discovery 1.0, 3). */
function bestAuthentication(
  library: Library,
  server: ServerMetadata,
  secret: string | undefined,
): ClientAuth {
  if (secret === undefined) return library.None()
  const known = server.token_endpoint_auth_methods_supported
  return known?.includes('client_secret_post')
    ? library.ClientSecretPost(secret)
    : library.ClientSecretBasic(secret)
}

function google(parts: ProviderParts, given: OfKind<'google' | 'github'>): OpenidOptions {
  return {
    ...usual(parts, given),
    issuer: 'https://accounts.google.com',
    authentication: bySecret(given.clientSecret),
    // Google has no `login`: people choose their account again, but may not have to prove it.
    promptAgain: 'select_account',
  }
}

/** Anybody can create a tenant and enter any address there: only the claim about the domain's owner verifies it. */
function microsoft(parts: ProviderParts, given: OfKind<'microsoft'>): OpenidOptions {
  const { tenant, clientSecret } = given
  return {
    ...usual(parts, given),
    issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
    authentication: bySecret(clientSecret),
    promptAgain: 'login',
    isEmailVerified: claims => claimOf(claims, 'xms_edov') === true,
    requireIssuer: claims => requireTenant(claims, tenant),
  }
}

function apple(parts: ProviderParts, given: OfKind<'apple'>): OpenidOptions {
  return {
    ...usual(parts, given),
    issuer: 'https://appleid.apple.com',
    scopes: ['openid', 'email', 'name'],
    authentication: () => async (_server, _client, body) => {
      body.set('client_id', given.clientId)
      body.set('client_secret', await appleSecret(given, parts.now()))
    },
    // Apple requires it for requests with the scopes `name` or `email`.
    parameters: { response_mode: 'form_post' },
    // Apple’s documentation: a string or a boolean.
    isEmailVerified: claims => isVerified(claims) || claimOf(claims, 'email_verified') === 'true',
  }
}

function openid(parts: ProviderParts, given: OfKind<'oidc'>): OpenidOptions {
  const { issuer, scopes, allowPrivate, clientSecret } = given
  return {
    ...usual(parts, given),
    ...{ issuer, allowPrivate, send: parts.send(allowPrivate) },
    scopes: [...new Set(['openid', ...scopes])],
    authentication: (library, server) => bestAuthentication(library, server, clientSecret),
    promptAgain: 'login',
  }
}

function createProvider(parts: ProviderParts, given: ProviderSettings): Provider {
  switch (given.kind) {
    case 'google':
      return createOpenidProvider(google(parts, given))
    case 'github':
      return createGithubProvider({ ...given, send: parts.send(false) })
    case 'microsoft':
      return createOpenidProvider(microsoft(parts, given))
    case 'apple':
      return createOpenidProvider(apple(parts, given))
    case 'oidc':
      return createOpenidProvider(openid(parts, given))
  }
}

/** By id, in the order of the settings. */
export function createProviders(
  settings: readonly ProviderSettings[],
  parts: ProviderParts,
): ReadonlyMap<string, Provider> {
  return new Map(settings.map(given => [given.id, createProvider(parts, given)]))
}
