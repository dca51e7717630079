/** The authorization server and the account pages, loaded with the first request to keep starts short. */

import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Call, Reply, Takeover } from '../../../base/call.ts'
import { ApiError } from '../../../base/errors.ts'
import { acceptsPage } from '../../../base/media-ranges.ts'
import { anonymous, type Principal } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import type { RateCounters } from '../../../engine/cluster/cluster.ts'
import { budgetAddress, type RateLimits } from '../../../engine/cluster/rate-limits.ts'
import type { Run } from '../../../engine/plan/run.ts'
import { notifyOfApp } from '../../../identity/accounts/credential-notices.ts'
import { isAccountPath, isBrowserPath, isJsonCall } from '../../../identity/accounts/paths.ts'
import type { SendRequest } from '../../../identity/accounts/providers/provider-fetch.ts'
import type { Authenticate } from '../../../identity/authenticate.ts'
import type { BackgroundWork } from '../../../identity/background.ts'
import type { CredentialSource } from '../../../identity/credentials.ts'
import { dpopAlgorithms } from '../../../identity/dpop-challenge.ts'
import { grantsInUse } from '../../../identity/grant-ends.ts'
import type { LastUses } from '../../../identity/last-use.ts'
import type { Mailer } from '../../../identity/mail/mailer.ts'
import type { Apps } from '../../../identity/server/clients/apps.ts'
import { parseBody } from '../../../identity/server/requests/form.ts'
import { redirectPostToGet } from '../../../identity/server/requests/post-to-get.ts'
import type { AuthorizationServer } from '../../../identity/server/server.ts'
import type { Model } from '../../../model/model.ts'
import type { Settings } from '../../config/config.ts'
import { countryReader } from '../../http/client-country.ts'
import type { Exchange } from '../../http/http.ts'
import type { Log } from '../../observability/log.ts'
import type { Attempts } from '../credentials/token-rate-limit.ts'
import { drawRequest } from '../request-budget.ts'
import { accountPages, frameOf, type OwnWrites } from './account-pages.ts'

export interface LazyOauthParts {
  readonly model: Model
  readonly run: Run
  readonly own: OwnWrites
  readonly records: Records
  readonly apps: Apps
  readonly authenticate: Authenticate
  readonly lastUses: LastUses
  readonly limits: RateLimits
  readonly counters: RateCounters
  /** The budgets of the endpoints that apps call. */
  readonly attempts: Attempts
  readonly settings: Settings
  /** The address of the service, without a trailing slash. */
  readonly issuer: () => string
  /** Logs why token requests are refused. */
  readonly logger: Pick<Log['logger'], 'info'>
  readonly mail: Mailer
  /** Sends requests to sign-in providers. For tests. */
  readonly sendToProviders?: SendRequest | undefined
  /** Background work, such as sending mail. */
  readonly work: BackgroundWork
  readonly onFault: (error: unknown) => void
}

export interface LazyOauth {
  /** Whether a path belongs to the authorization server or the account pages. */
  owns(path: string): boolean
  /** Whether apps call the path, so that errors have OAuth's form. */
  isForApps(path: string): boolean
  answer(exchange: Exchange): Awaitable<Reply | Takeover>
  /** Whether a path is owned, and a browser made the request, to which errors are pages. */
  isForBrowsers(call: Call): boolean
  /** Resolves when all pending mail is sent. */
  idle(): Promise<void>
}

/** Larger than any form of these endpoints. */
const maxFormBytes = 65_536

const resourceMetadata = '/.well-known/oauth-protected-resource'

/** REST and GraphQL are resources of their own (RFC 9728, 3.1: the resource's path follows the well-known one). */
const resources: ReadonlyMap<string, string> = new Map([
  [resourceMetadata, ''],
  [`${resourceMetadata}/api/v1`, '/api/v1'],
  [`${resourceMetadata}/graphql`, '/graphql'],
])

/** Endpoints that apps call. Each can be used to guess secrets. */
const appEndpoints: ReadonlySet<string> = new Set([
  '/oauth/token',
  '/oauth/par',
  '/oauth/device',
  '/oauth/revoke',
  '/oauth/introspect',
  '/oauth/register',
])

const read = ['GET', 'HEAD']

const methods: ReadonlyMap<string, readonly string[]> = new Map([
  ['/oauth/authorize', [...read, 'POST']],
  ['/oauth/token', ['POST']],
  ['/oauth/par', ['POST']],
  ['/oauth/device', [...read, 'POST']],
  ['/oauth/device/verify', [...read, 'POST']],
  ['/oauth/revoke', ['POST']],
  ['/oauth/introspect', ['POST']],
  ['/oauth/userinfo', [...read, 'POST']],
  ['/oauth/jwks', read],
  ['/oauth/register', ['POST']],
  ['/oauth/logout', [...read, 'POST']],
  ['/oauth/logout/confirm', ['POST']],
  ['/oauth/logout/success', read],
  ['/.well-known/openid-configuration', read],
  ['/.well-known/oauth-authorization-server', read],
])

/** Endpoints to which browsers may post long requests, and the advice for one that is too long. */
const longRequestAdvice: ReadonlyMap<string, string> = new Map([
  ['/oauth/authorize', 'push it to /oauth/par (RFC 9126)'],
  ['/oauth/logout', 'omit `id_token_hint`, and send `client_id`'],
])

/** The paths at which an authorization request continues after its interaction. */
const resumptionPath = /^\/oauth\/(?:authorize|device\/verify)\/[A-Za-z0-9_-]{1,100}$/

/** The client configuration endpoint (RFC 7592, 2). */
const registrationPath = /^\/oauth\/register\/[A-Za-z0-9_-]{1,100}$/

/** Includes HEAD where GET is accepted (RFC 9110, 9.3.2). */
function methodsOf(path: string): readonly string[] | undefined {
  if (registrationPath.test(path)) return [...read, 'PUT', 'DELETE']
  return methods.get(path) ?? (resumptionPath.test(path) || resources.has(path) ? read : undefined)
}

function isAppRequest({ path, method }: Exchange): boolean {
  if (appEndpoints.has(path)) return method === 'POST'
  return (method === 'PUT' || method === 'DELETE') && registrationPath.test(path)
}

/** The principal whose budget a request draws from that cannot guess a secret: that of a valid token, otherwise the address. */
function budgetOwner({ path, address, headers }: Exchange, authenticate: Authenticate): Awaitable<Principal> {
  const clientAddress = budgetAddress(address)
  const identify = async (source: CredentialSource) => authenticate(source, clientAddress)
  const { authorization } = headers
  if (path !== '/oauth/userinfo' || !authorization || !/^bearer /i.test(authorization))
    return anonymous(clientAddress)
  // oidc-provider reports what is wrong with the token.
  return identify({ headers: { authorization }, query: '' }).catch(() => anonymous(clientAddress))
}

/** Whether a GET of the path shows a browser an error page: the path has no page, so somebody has mistyped an address. */
function isWrongAddress(path: string): boolean {
  return (
    path.startsWith('/oauth/') && !registrationPath.test(path) && (appEndpoints.has(path) || !methodsOf(path))
  )
}

/** Whether the answer to a call for which `owns` is true is a page. */
function isPage({ path, method, headers }: Call): boolean {
  if (isAccountPath(path)) return !isJsonCall({ method, path, headers })
  const isPagePath = isBrowserPath(path) || (method !== 'POST' && isWrongAddress(path))
  return isPagePath && acceptsPage(headers.accept)
}

export function createLazyOauth(parts: LazyOauthParts): LazyOauth {
  const { limits, attempts, settings, model, issuer } = parts
  let loading: Promise<AuthorizationServer> | undefined
  const load = () => {
    loading ??= loadServer(parts).catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
  const pages = accountPages({ ...parts, server: load })
  const resourceMetadataReply = (path: string): Reply => ({
    status: 200,
    headers: ['Content-Type', 'application/json', 'Cache-Control', 'public, max-age=3600'],
    body: JSON.stringify({
      resource: issuer() + (resources.get(path) ?? ''),
      authorization_servers: [issuer()],
      scopes_supported: [...model.scopes.keys()],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: dpopAlgorithms,
      resource_documentation: `${issuer()}/docs`,
    }),
  })
  const readForm = async (exchange: Exchange) => {
    try {
      await exchange.readBody(Math.min(maxFormBytes, settings.bodyLimit))
    } catch (error) {
      if (isAppRequest(exchange)) await attempts.refuse(exchange)
      throw error
    }
  }
  const handle = async (exchange: Exchange): Promise<Reply | Takeover> => {
    const server = await load()
    await readForm(exchange)
    const { req, res, method, path, address } = exchange
    const body = method === 'POST' || method === 'PUT' ? parseBody(exchange) : undefined
    const advice = method === 'POST' ? longRequestAdvice.get(path) : undefined
    if (body && advice !== undefined) return redirectPostToGet(exchange, body, advice)
    const handleByServer = () => server.handle(req, res, body, address)
    if (isAppRequest(exchange)) {
      const form = body?.form
      const fastPath = path === '/oauth/introspect' && form && (() => server.introspect(exchange, form))
      return attempts.answer(exchange, form, handleByServer, fastPath || undefined)
    }
    return {
      async takeOver() {
        await handleByServer()
      },
    }
  }
  const answerPage = async (exchange: Exchange): Promise<Reply> => {
    await readForm(exchange)
    return pages.answer(exchange)
  }
  const isEnabled = (path: string) =>
    !path.startsWith('/oauth/register') || settings['oauth.registrationToken'] !== undefined
  const requireMethod = ({ path, method }: Exchange, allowed: readonly string[]) => {
    if (allowed.includes(method)) return
    throw new ApiError('METHOD_NOT_ALLOWED', `${path} accepts ${allowed.join(' and ')}.`, {
      headers: { Allow: allowed.join(', ') },
    })
  }
  return {
    owns: path => isAccountPath(path) || path.startsWith('/oauth/') || path.startsWith('/.well-known/'),
    isForApps: path => isEnabled(path) && (appEndpoints.has(path) || registrationPath.test(path)),
    idle: pages.idle,
    isForBrowsers: isPage,
    answer(exchange) {
      const { path } = exchange
      if (isAppRequest(exchange) && isEnabled(path)) return handle(exchange)
      const budgetDrawn = then(budgetOwner(exchange, parts.authenticate), owner =>
        drawRequest(limits, owner, exchange),
      )
      return then(budgetDrawn, (): Awaitable<Reply | Takeover> => {
        if (isAccountPath(path)) return answerPage(exchange)
        const allowed = methodsOf(path)
        if (!allowed || !isEnabled(path)) throw new ApiError('NOT_FOUND')
        requireMethod(exchange, allowed)
        return resources.has(path) ? resourceMetadataReply(path) : handle(exchange)
      })
    },
  }
}

async function loadServer(parts: LazyOauthParts): Promise<AuthorizationServer> {
  const { createAuthorizationServer } = await import('../../../identity/server/create.ts')
  const { createProtocolPages } = await import('../../../web/pages/oauth/protocol.ts')
  const { createAccountCheck, claimsReader } = await import('../../../identity/accounts/accounts.ts')
  const { model, run, records, apps, lastUses, settings, issuer, logger, onFault } = parts
  const { counters, mail, work } = parts
  const noticeParts = { run, records, counters, mail, issuer, background: work.background }
  return createAuthorizationServer({
    issuer: issuer(),
    settings: oauthSettingsOf(settings),
    model,
    records,
    apps,
    lastUses,
    hasAccount: createAccountCheck(run),
    findAccount: claimsReader(run, records),
    grantsInUse: userId => grantsInUse(run, userId),
    pages: createProtocolPages(frameOf(settings), languages => mail.pageLanguage(languages)),
    serviceName: settings['theme.name'],
    countryOf: countryReader(settings),
    onConnected: (userId, app) => notifyOfApp(noticeParts, userId, app),
    onFault,
    onGrantRefusal: ({ clientId: client_id, reason }) =>
      logger.info({ client_id, reason }, 'a token request was refused'),
  })
}

function oauthSettingsOf(settings: Settings) {
  const lifetimes = settings['oauth.lifetimes']
  return {
    accessTokenFormat: settings['oauth.accessTokenFormat'],
    scopeSeparator: settings['oauth.scopeSeparator'],
    accessTokenSeconds: lifetimes.accessToken / 1000,
    refreshTokenSeconds: lifetimes.refreshToken / 1000,
    idTokenSeconds: lifetimes.idToken / 1000,
    sessionSeconds: lifetimes.session / 1000,
    codeSeconds: 60,
    refreshReplaySeconds: settings['oauth.refreshReplay'] / 1000,
    secretOverlapSeconds: settings.secretOverlap / 1000,
    registrationToken: settings['oauth.registrationToken'],
  }
}
