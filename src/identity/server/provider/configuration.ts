/** oidc-provider's configuration. Its documentation describes each option under the same name. */
import type { Context, Grant } from 'oidc-provider'
import type { Awaitable } from '../../../base/awaitable.ts'
import { dpopAlgorithms } from '../../dpop-challenge.ts'
import { ownMetadata } from '../clients/client-metadata.ts'
import { claimsOfScopes } from '../consent/claims.ts'
import { narrowClaims } from '../consent/claims-parameter.ts'
import { impliedConsent } from '../consent/first-party.ts'
import { requireKnownScopes, requireScope } from '../consent/scopes.ts'
import type { FindAccount, HasAccount } from '../server.ts'
import type { OauthSettings } from '../settings.ts'
import { omittedRedirectUri } from '../tokens/authorization-codes.ts'
import type { SigningKey } from '../tokens/signing-keys.ts'
import { promptPolicy } from './interaction-policy.ts'
import { errors } from './load.ts'

type Options = Record<string, unknown>

/** An error as the client or the user gets it. */
export interface ErrorBody {
  readonly error: string
  readonly error_description?: string
}

/** Functions that oidc-provider calls to render pages. Each sets the body of the response. */
export interface Sources {
  readonly error: (ctx: Context, out: ErrorBody, thrown: unknown) => Awaitable<void>
  /** `out`, `fault`: why the page is shown again. */
  readonly deviceCode: (ctx: Context, out: ErrorBody | undefined, fault: unknown) => Awaitable<void>
  readonly deviceConfirm: (ctx: Context, userCode: string) => Awaitable<void>
  readonly deviceDone: (ctx: Context) => Awaitable<void>
  readonly signOut: (ctx: Context) => Awaitable<void>
  readonly signedOut: (ctx: Context) => Awaitable<void>
}

export interface ConfigurationParts {
  readonly settings: OauthSettings
  readonly scopes: readonly string[]
  readonly keys: readonly SigningKey[]
  readonly adapter: (kind: string) => object
  readonly hasAccount: HasAccount
  readonly findAccount: FindAccount
  /** The grant of a request: see `loadGrant`. */
  readonly loadGrant: (ctx: Context) => Promise<Grant | undefined>
  readonly sources: Sources
  readonly invalidTarget: () => Error
  readonly secureCookies: boolean
  /** See `base-path.ts`. */
  readonly basePath: string
  /** See `sessionCookieName`. */
  readonly sessionCookie: string
}

export const routes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  pushed_authorization_request: '/oauth/par',
  device_authorization: '/oauth/device',
  code_verification: '/oauth/device/verify',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  userinfo: '/oauth/userinfo',
  jwks: '/oauth/jwks',
  registration: '/oauth/register',
  end_session: '/oauth/logout',
} as const

export const interactionPath = '/oauth/interaction/'

export const deviceCodeLifeSeconds = 600

/** A grant expires after this at the latest, however often it is refreshed. */
const maxGrantSeconds = 365 * 24 * 60 * 60

/** RFC 7662, 4: anyone may register an app here, so an app can inspect only its own tokens. */
function isOwn(_ctx: Context, client: { clientId: string }, token: { clientId: string }): boolean {
  return token.clientId === client.clientId
}

/** Tokens of deleted and disabled users are inactive. */
function isOwnAndLive({ hasAccount }: ConfigurationParts) {
  return (ctx: Context, client: { clientId: string }, token: { clientId: string; accountId?: string }) =>
    isOwn(ctx, client, token) && (token.accountId === undefined || hasAccount(Number(token.accountId)))
}

function features(parts: ConfigurationParts): Options {
  const { settings, sources, invalidTarget } = parts
  const { registrationToken } = settings
  return {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    claimsParameter: { enabled: true, assertClaimsParameter: narrowClaims },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (ctx: Context, _form: string, out: ErrorBody | undefined, fault: unknown) =>
        sources.deviceCode(ctx, out, fault),
      userCodeConfirmSource: (
        ctx: Context,
        _form: string,
        _client: unknown,
        _device: unknown,
        userCode: string,
      ) => sources.deviceConfirm(ctx, userCode),
      successSource: sources.deviceDone,
      // The pages show nothing about the device, so nothing is stored.
      deviceInfo: () => ({}),
    },
    introspection: { enabled: true, allowedPolicy: isOwnAndLive(parts) },
    revocation: { enabled: true, allowedPolicy: isOwn },
    dPoP: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: sources.signOut,
      postLogoutSuccessSource: sources.signedOut,
    },
    registration: {
      enabled: registrationToken !== undefined,
      ...(registrationToken === undefined ? undefined : { initialAccessToken: registrationToken }),
      issueRegistrationAccessToken: true,
    },
    registrationManagement: { enabled: registrationToken !== undefined, rotateRegistrationAccessToken: true },
    // `parameters.ts` removes our own resources from requests, so this one belongs to another server.
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      getResourceServerInfo: () => {
        throw invalidTarget()
      },
    },
  }
}

function ttl(settings: OauthSettings): Options {
  return {
    AccessToken: settings.accessTokenSeconds,
    ClientCredentials: settings.accessTokenSeconds,
    AuthorizationCode: settings.codeSeconds,
    IdToken: settings.idTokenSeconds,
    RefreshToken: settings.refreshTokenSeconds,
    Session: settings.sessionSeconds,
    Grant: Math.max(maxGrantSeconds, settings.refreshTokenSeconds),
    DeviceCode: deviceCodeLifeSeconds,
    Interaction: 3600,
  }
}

/** How an app authenticates with its secret: see `decisions/app-secrets.md`. */
const secretMethods = ['client_secret_basic', 'client_secret_post']

/** Metadata that oidc-provider does not give. */
const discovery = {
  // Initiating User Registration 1.0, 4.
  prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  // RFC 8414, 2: without it, clients assume `client_secret_basic` alone.
  revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
  introspection_endpoint_auth_methods_supported: secretMethods,
}

/** Only asymmetric algorithms: client secrets are stored as hashes, which cannot sign or encrypt. */
const signing = ['RS256', 'ES256']
const enabledJWA = {
  idTokenSigningAlgValues: signing,
  userinfoSigningAlgValues: signing,
  introspectionSigningAlgValues: signing,
  authorizationSigningAlgValues: signing,
  requestObjectSigningAlgValues: signing,
  clientAuthSigningAlgValues: signing,
  dPoPSigningAlgValues: [...dpopAlgorithms],
}

/** Most requests need only to know that the account exists, so claims are read on demand. */
function accountFinder({ hasAccount, findAccount }: ConfigurationParts) {
  return async (_ctx: Context, id: string) => {
    if (!(await hasAccount(Number(id)))) return undefined
    const claims = async () => {
      const account = await findAccount(Number(id))
      return { sub: id, name: account?.name, email: account?.email, email_verified: account?.emailVerified }
    }
    return { accountId: id, claims }
  }
}

/** RFC 6749, 3.1.1. oidc-provider would accept `code code`: it removes duplicates from the list. */
function requireResponseType(ctx: Context): void {
  const { response_type: type = 'code' } = ctx.oidc.body ?? ctx.query
  if (type !== 'code') throw new errors.UnsupportedResponseType()
}

function checkRequest(ctx: Context, knownScopes: ReadonlySet<string>): void {
  if (ctx.oidc.params.response_type !== undefined) requireResponseType(ctx)
  requireKnownScopes(ctx, knownScopes)
  requireScope(ctx.oidc.params.scope)
}

/** The configuration of oidc-provider: endpoints, lifetimes, and the hooks that replace its defaults. */
export function configurationOf(parts: ConfigurationParts): Options {
  const { settings, scopes, keys, adapter, loadGrant, sources, secureCookies, basePath, sessionCookie } =
    parts
  const knownScopes = new Set(scopes)
  const cookie = { httpOnly: true, sameSite: 'lax', secure: secureCookies, path: basePath || '/' }
  return {
    adapter,
    jwks: { keys: keys.map(({ jwk }) => jwk) },
    scopes: [...scopes],
    claims: claimsOfScopes,
    // ID tokens contain name and e-mail too, because many clients do not read userinfo.
    conformIdTokenClaims: false,
    // A hook for our own checks: it runs after oidc-provider's.
    extraParams: {
      claims: (ctx: Context) => checkRequest(ctx, knownScopes),
      [omittedRedirectUri]: null,
      [impliedConsent]: null,
    },
    routes,
    ttl: ttl(settings),
    features: features(parts),
    discovery,
    responseTypes: ['code'],
    clientAuthMethods: [...secretMethods, 'none'],
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    extraClientMetadata: { properties: ownMetadata },
    enabledJWA,
    clientBasedCORS: () => true,
    cookies: {
      names: {
        session: sessionCookie,
        interaction: 'portico_interaction',
        resume: 'portico_resume',
      },
      long: cookie,
      short: cookie,
    },
    interactions: {
      policy: promptPolicy(),
      url: (_ctx: Context, { uid }: { uid: string }) => basePath + interactionPath + uid,
    },
    findAccount: accountFinder(parts),
    loadExistingGrant: loadGrant,
    pkce: {
      required: (_ctx: Context, client: { clientAuthMethod: string }) => client.clientAuthMethod === 'none',
    },
    // A grant outlives the browser session in which it was made.
    expiresWithSession: () => false,
    issueRefreshToken: (
      _ctx: Context,
      client: { grantTypeAllowed(type: string): boolean },
      source: { scopes: Set<string> },
    ) => client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access'),
    rotateRefreshToken: true,
    allowOmittingSingleRegisteredRedirectUri: true,
    renderError: sources.error,
    // No metadata of a client may make this server send requests.
    fetch: () => Promise.reject(new Error('The authorization server makes no requests.')),
  }
}
