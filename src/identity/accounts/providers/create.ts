/** Creates the providers of the settings, with a function for each kind. */
import type { ClientAuth, ServerMetadata } from 'openid-client'
import { appleSecret } from './apple-secret.ts'
import { claimOf, type ProviderClaims } from './claims.ts'
import { createGithubProvider } from './github.ts'
import { requireTenant } from './microsoft-tenant.ts'
import { createOpenidProvider, type OpenidLibrary, type OpenidOptions } from './openid.ts'
import type { Provider } from './provider.ts'
import type { SendRequest } from './provider-fetch.ts'

interface CommonSettings {
  readonly id: string
  readonly name: string
  readonly clientId: string
}

/** The settings of a provider: see `server/config/providers.ts`. */
export type ProviderSettings = CommonSettings &
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

export interface SignInProviderParts {
  /** Returns a function that sends requests to public addresses, or to private ones too. */
  readonly send: (allowPrivate: boolean) => SendRequest
  readonly now: () => number
}

const isEmailVerified = (claims: ProviderClaims) => claimOf(claims, 'email_verified') === true

function commonOptions({ send, now }: SignInProviderParts, { kind, id, name, clientId }: ProviderSettings) {
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
    isEmailVerified,
  }
}

const secretInBody =
  (secret: string) =>
  (library: OpenidLibrary): ClientAuth =>
    library.ClientSecretPost(secret)

/** The secret in the body if the issuer supports that, otherwise in the header, which is the default (Discovery 1.0, 3). */
function supportedAuthentication(
  library: OpenidLibrary,
  server: ServerMetadata,
  secret: string | undefined,
): ClientAuth {
  if (secret === undefined) return library.None()
  const methods = server.token_endpoint_auth_methods_supported
  return methods?.includes('client_secret_post')
    ? library.ClientSecretPost(secret)
    : library.ClientSecretBasic(secret)
}

function google(parts: SignInProviderParts, settings: OfKind<'google' | 'github'>): OpenidOptions {
  return {
    ...commonOptions(parts, settings),
    issuer: 'https://accounts.google.com',
    authentication: secretInBody(settings.clientSecret),
    // Google does not support `login`: people choose their account again, but may not have to authenticate.
    promptAgain: 'select_account',
  }
}

/** Anybody can create a tenant and enter any address in it: only the claim that its owner controls the domain verifies one. */
function microsoft(parts: SignInProviderParts, settings: OfKind<'microsoft'>): OpenidOptions {
  const { tenant, clientSecret } = settings
  return {
    ...commonOptions(parts, settings),
    issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
    authentication: secretInBody(clientSecret),
    promptAgain: 'login',
    isEmailVerified: claims => claimOf(claims, 'xms_edov') === true,
    requireIssuer: claims => requireTenant(claims, tenant),
  }
}

function apple(parts: SignInProviderParts, settings: OfKind<'apple'>): OpenidOptions {
  return {
    ...commonOptions(parts, settings),
    issuer: 'https://appleid.apple.com',
    scopes: ['openid', 'email', 'name'],
    authentication: () => async (_server, _client, body) => {
      body.set('client_id', settings.clientId)
      body.set('client_secret', await appleSecret(settings, parts.now()))
    },
    // Apple requires it for requests with the scopes `name` or `email`.
    parameters: { response_mode: 'form_post' },
    // Apple’s documentation: a string or a boolean.
    isEmailVerified: claims => isEmailVerified(claims) || claimOf(claims, 'email_verified') === 'true',
  }
}

function openid(parts: SignInProviderParts, settings: OfKind<'oidc'>): OpenidOptions {
  const { issuer, scopes, allowPrivate, clientSecret } = settings
  return {
    ...commonOptions(parts, settings),
    ...{ issuer, allowPrivate, send: parts.send(allowPrivate) },
    scopes: [...new Set(['openid', ...scopes])],
    authentication: (library, server) => supportedAuthentication(library, server, clientSecret),
    promptAgain: 'login',
  }
}

function createProvider(parts: SignInProviderParts, settings: ProviderSettings): Provider {
  switch (settings.kind) {
    case 'google':
      return createOpenidProvider(google(parts, settings))
    case 'github':
      return createGithubProvider({ ...settings, send: parts.send(false) })
    case 'microsoft':
      return createOpenidProvider(microsoft(parts, settings))
    case 'apple':
      return createOpenidProvider(apple(parts, settings))
    case 'oidc':
      return createOpenidProvider(openid(parts, settings))
  }
}

/** By id, in the order of the settings. */
export function createProviders(
  settings: readonly ProviderSettings[],
  parts: SignInProviderParts,
): ReadonlyMap<string, Provider> {
  return new Map(settings.map(provider => [provider.id, createProvider(parts, provider)]))
}
