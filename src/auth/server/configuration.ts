/** How oidc-provider is set up. Its documentation calls each of these options by the same name. */
import type { Context, Grant } from 'oidc-provider'
import type { Awaitable } from '../../plan/answer.ts'
import { dpopAlgorithms } from '../dpop-challenge.ts'
import { claimsOfScopes, narrowClaims } from './claims.ts'
import { ownMetadata } from './clients.ts'
import { withoutRedirectUri } from './codes.ts'
import type { SigningKey } from './keys.ts'
import { errors } from './library.ts'
import { promptPolicy } from './prompts.ts'
import { requireKnown, requireSome } from './scopes.ts'
import type { FindAccount, HasAccount } from './server.ts'
import type { OauthSettings } from './settings.ts'

type Options = Record<string, unknown>

/** What the library asks us to show, each sets the body of the response. */
export interface Sources {
  readonly error: (ctx: Context, out: { error: string; error_description?: string }) => Awaitable<void>
  readonly deviceCode: (ctx: Context, out: unknown, fault: unknown) => Awaitable<void>
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
  /** A grant for what the user has allowed the client before, where that is enough. */
  readonly loadGrant: (ctx: Context) => Promise<Grant | undefined>
  readonly sources: Sources
  readonly invalidTarget: () => Error
  readonly secureCookies: boolean
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

/** A user's grant ends at the latest after this, however often it was refreshed. */
const YEAR = 365 * 24 * 60 * 60

/** RFC 7662, 4: anybody may register an app here, so an app is told of its own tokens only. */
function isOwn(_ctx: Context, client: { clientId: string }, token: { clientId: string }): boolean {
  return token.clientId === client.clientId
}

/** Nor of what was allowed by a user who is gone. */
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
      userCodeInputSource: (ctx: Context, _form: string, out: unknown, fault: unknown) =>
        sources.deviceCode(ctx, out, fault),
      userCodeConfirmSource: (
        ctx: Context,
        _form: string,
        _client: unknown,
        _device: unknown,
        userCode: string,
      ) => sources.deviceConfirm(ctx, userCode),
      successSource: sources.deviceDone,
      // Nothing of the device is shown, so nothing of it is kept.
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
    // Our own resource is taken off every request, so what comes here is somebody else's.
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
    AccessToken: settings.accessTokenLife,
    ClientCredentials: settings.accessTokenLife,
    AuthorizationCode: settings.codeLife,
    IdToken: settings.idTokenLife,
    RefreshToken: settings.refreshTokenLife,
    Session: settings.sessionLife,
    Grant: Math.max(YEAR, settings.refreshTokenLife),
    DeviceCode: deviceCodeLifeSeconds,
    Interaction: 3600,
  }
}

/** What asymmetric keys can do is enough: nothing is signed or encrypted with a client's secret. */
const signing = ['RS256', 'ES256']

/** Most requests need to know no more than that the account is there. */
function account({ hasAccount, findAccount }: ConfigurationParts) {
  return async (_ctx: Context, id: string) => {
    if (!(await hasAccount(Number(id)))) return undefined
    const claims = async () => {
      const found = await findAccount(Number(id))
      return { sub: id, name: found?.name, email: found?.email, email_verified: found?.emailVerified }
    }
    return { accountId: id, claims }
  }
}

/** RFC 6749, 3.1.1: a list of response types, which the library rids of what is there twice. */
function requireResponseType(ctx: Context): void {
  const { response_type: type = 'code' } = ctx.oidc.body ?? ctx.query
  if (type !== 'code') throw new errors.UnsupportedResponseType()
}

function checkRequest(ctx: Context, known: ReadonlySet<string>): void {
  if (ctx.oidc.params.response_type !== undefined) requireResponseType(ctx)
  requireKnown(ctx, known)
  requireSome(ctx.oidc.params.scope)
}

export function configurationOf(parts: ConfigurationParts): Options {
  const { settings, scopes, keys, adapter, loadGrant, sources, secureCookies } = parts
  const host = secureCookies ? '__Host-' : ''
  const known = new Set(scopes)
  const cookie = { httpOnly: true, sameSite: 'lax', secure: secureCookies }
  return {
    adapter,
    jwks: { keys: keys.map(({ jwk }) => jwk) },
    scopes: [...scopes],
    claims: claimsOfScopes,
    // ID tokens carry name and address too: many clients look nowhere else.
    conformIdTokenClaims: false,
    // Parameters may be looked at here once all that the library knows of them has been.
    extraParams: { claims: (ctx: Context) => checkRequest(ctx, known), [withoutRedirectUri]: null },
    routes,
    ttl: ttl(settings),
    features: features(parts),
    // Initiating User Registration 1.0, 4.
    discovery: { prompt_values_supported: ['none', 'login', 'consent', 'select_account'] },
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    extraClientMetadata: { properties: ownMetadata },
    enabledJWA: {
      idTokenSigningAlgValues: signing,
      userinfoSigningAlgValues: signing,
      introspectionSigningAlgValues: signing,
      authorizationSigningAlgValues: signing,
      requestObjectSigningAlgValues: signing,
      clientAuthSigningAlgValues: signing,
      dPoPSigningAlgValues: [...dpopAlgorithms],
    },
    clientBasedCORS: () => true,
    cookies: {
      names: {
        session: `${host}portico_session`,
        interaction: 'portico_interaction',
        resume: 'portico_resume',
      },
      long: cookie,
      short: cookie,
    },
    interactions: {
      policy: promptPolicy(),
      url: (_ctx: Context, { uid }: { uid: string }) => interactionPath + uid,
    },
    findAccount: account(parts),
    loadExistingGrant: loadGrant,
    pkce: {
      required: (_ctx: Context, client: { clientAuthMethod: string }) => client.clientAuthMethod === 'none',
    },
    // What a user has allowed an app outlives their stay in this browser.
    expiresWithSession: () => false,
    issueRefreshToken: (
      _ctx: Context,
      client: { grantTypeAllowed(type: string): boolean },
      source: { scopes: Set<string> },
    ) => client.grantTypeAllowed('refresh_token') && source.scopes.has('offline_access'),
    rotateRefreshToken: true,
    allowOmittingSingleRegisteredRedirectUri: true,
    renderError: sources.error,
    // Nothing that a client says makes this server call another.
    fetch: () => Promise.reject(new Error('The authorization server makes no requests.')),
  }
}
