/** Creates oidc-provider with our records, apps and pages: a new one for each set of signing keys. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { basePathOf } from '../../../base/base-path.ts'
import type { Records } from '../../../base/records.ts'
import { appUseId, type LastUses } from '../../last-use.ts'
import { sessionCookieName } from '../../session-cookie.ts'
import type { Apps } from '../clients/apps.ts'
import { clientMetadata } from '../clients/client-metadata.ts'
import { type Consents, loadGrant } from '../consent/consents.ts'
import type { OnGrantRefusal } from '../responses/invalid-grant.ts'
import { shapeResponses } from '../responses/responses.ts'
import type { FindAccount, HasAccount, ProtocolPages } from '../server.ts'
import type { OauthSettings } from '../settings.ts'
import { TokenSigner } from '../tokens/jwt.ts'
import { type JwtParts, jwtRecordId } from '../tokens/jwt-format.ts'
import { replayRefreshes } from '../tokens/refresh-replay.ts'
import { isTrusted, keysVersion, loadKeys, type SigningKey } from '../tokens/signing-keys.ts'
import { Adapter } from './adapter.ts'
import { configurationOf, deviceCodeLifeSeconds, routes } from './configuration.ts'
import { deferWrites } from './deferred-writes.ts'
import { errors, Provider } from './load.ts'
import { pageSources } from './page-sources.ts'
import { applyPatches } from './patches.ts'
import { currentContext, currentState } from './request-state.ts'

export interface ProviderParts {
  /** The URL of the service, without a trailing slash. */
  readonly issuer: string
  readonly settings: OauthSettings
  readonly scopes: readonly string[]
  readonly records: Records
  readonly apps: Apps
  readonly hasAccount: HasAccount
  readonly findAccount: FindAccount
  readonly pages: ProtocolPages
  readonly consents: Consents
  readonly lastUses: LastUses
  /** Receives errors that no client may see. */
  readonly onFault: (error: unknown) => void
  /** Called when a code or refresh token is refused. */
  readonly onGrantRefusal: OnGrantRefusal
}

/** A provider and the signer for its set of signing keys. */
export interface KeyedProvider {
  readonly provider: Provider
  readonly callback: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly signer: TokenSigner
}

/** The provider for the current signing keys. It is replaced when they change, and when one of them is no longer trusted. */
export class CurrentProvider {
  readonly #parts: ProviderParts
  #current: { readonly keyed: KeyedProvider; readonly version: number; readonly untilMs: number } | undefined
  #creation: Promise<KeyedProvider> | undefined

  constructor(parts: ProviderParts) {
    this.#parts = parts
  }

  async get(): Promise<KeyedProvider> {
    const version = keysVersion(this.#parts.records)
    if (this.#current?.version === version && Date.now() < this.#current.untilMs) return this.#current.keyed
    this.#creation ??= this.#create(version).finally(() => {
      this.#creation = undefined
    })
    return this.#creation
  }

  async #create(version: number): Promise<KeyedProvider> {
    const now = Date.now()
    const keys = (await loadKeys(this.#parts.records)).filter(key => isTrusted(key, now))
    const keyed = createProvider(this.#parts, keys)
    const untilMs = Math.min(...keys.map(({ endsAt }) => endsAt ?? Number.POSITIVE_INFINITY))
    this.#current = { keyed, version, untilMs }
    return keyed
  }
}

/** Longer than any grant: the last use of an app is known for as long as its access lasts. */
const appUseRetentionMs = 400 * 24 * 60 * 60 * 1000

function consumedError(kind: string): Error {
  // RFC 9101, 7: the pushed request is used at the authorization endpoint.
  const ConsumedError = kind === 'PushedAuthorizationRequest' ? errors.InvalidRequestUri : errors.InvalidGrant
  return new ConsumedError('it was used already')
}

/** The errors of oidc-provider for a DPoP proof that is sent again, by its names of the endpoints. */
const replayErrors: Readonly<Record<string, (typeof errors)['InvalidGrant']>> = {
  userinfo: errors.InvalidToken,
  pushed_authorization_request: errors.InvalidRequest,
}

function replayedError(): Error {
  const { [currentContext()?.oidc.route ?? '']: ReplayError = errors.InvalidGrant } = replayErrors
  return new ReplayError('the DPoP proof was used already')
}

function adapterFactory(parts: ProviderParts, jwts: JwtParts) {
  const { records, apps, settings, scopes, lastUses, onFault } = parts
  const noteUse = (owner: string, clientId: string) => {
    const expiresAt = Date.now() + appUseRetentionMs
    const id = appUseId(owner, clientId)
    return lastUses.note({ kind: 'AppUse', id, owner, expiresAt }).catch(onFault)
  }
  const knownScopes = new Set(scopes)
  return (kind: string) =>
    new Adapter(kind, {
      records,
      scopes: knownScopes,
      findClient: async id => {
        const app = await apps.find(id)
        return app && clientMetadata(app, settings.secretOverlapSeconds)
      },
      jwtRecordId: token => jwtRecordId(token, jwts),
      browser: () => currentState()?.browser ?? { userAgent: '', address: '' },
      noteUse,
      isExposed: () => currentContext()?.oidc.route === 'token',
      isSignOut: () => {
        const { route, params } = currentContext()?.oidc ?? {}
        return route === 'end_session_confirm' && params?.logout !== undefined
      },
      consumedError,
      replayedError,
      unknownTokenError: () => new errors.InvalidToken('registration access token not found'),
    })
}

/**
 * Links and cookies use the host and scheme of the issuer, not those of the request: clients can forge them, and a proxy may
 * terminate TLS.
 */
function pinToIssuer({ request, context }: Provider, issuer: string): void {
  const { protocol: scheme, host } = new URL(issuer)
  const protocol = scheme.slice(0, -1)
  Object.defineProperty(context, 'mountPath', { value: basePathOf(issuer) })
  Object.defineProperties(request, { host: { get: () => host }, protocol: { get: () => protocol } })
}

function createProvider(parts: ProviderParts, keys: readonly SigningKey[]): KeyedProvider {
  const { issuer, settings, scopes, records, hasAccount, findAccount, pages, consents, onFault } = parts
  const signer = new TokenSigner(keys)
  const jwts = { issuer, signer }
  const provider: Provider = new Provider(
    issuer,
    configurationOf({
      settings,
      scopes,
      keys,
      adapter: adapterFactory(parts, jwts),
      hasAccount,
      findAccount,
      loadGrant: ctx => loadGrant(provider, consents, ctx),
      sources: pageSources(pages),
      invalidTarget: () => new errors.InvalidTarget('this server only issues tokens for its own API'),
      secureCookies: issuer.startsWith('https:'),
      basePath: basePathOf(issuer),
      sessionCookie: sessionCookieName(issuer),
    }),
  )
  pinToIssuer(provider, issuer)
  const { accessTokenFormat, refreshReplaySeconds: seconds } = settings
  applyPatches(provider, { ...jwts, scopes: new Set(scopes), accessTokenFormat })
  if (seconds > 0) provider.use(replayRefreshes({ records, seconds, onFault }))
  shapeResponses(provider, {
    separator: settings.scopeSeparator,
    issuer,
    records,
    deviceCodeLifeMs: deviceCodeLifeSeconds * 1000,
    onGrantRefusal: parts.onGrantRefusal,
  })
  deferWrites(provider, routes.token)
  provider.on('server_error', (_ctx: never, error: never) => onFault(error))
  provider.on('error', (error: never) => onFault(error))
  return { provider, callback: provider.callback(), signer }
}
