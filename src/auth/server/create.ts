/// <reference path="./oidc-provider.d.ts" />
/** The authorization server: oidc-provider on our records, with our apps, scopes, pages and rules. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import Provider, { type Context, errors, type InteractionDetails } from 'oidc-provider'
import { ApiError } from '../../errors.ts'
import { openidScopes } from '../../model/builtin.ts'
import type { Model } from '../../model/model.ts'
import type { Records } from '../../records.ts'
import { Adapter } from './adapter.ts'
import { shapeAnswers, wasRefused } from './answers.ts'
import type { Apps } from './apps.ts'
import { appOf, clientMetadata, guardClients } from './clients.ts'
import { configurationOf, interactionPath } from './configuration.ts'
import { Consents, loadGrant } from './consents.ts'
import { TokenSigner } from './jwt.ts'
import { keysVersion, loadKeys } from './keys.ts'
import { replayRefreshes } from './replay.ts'
import { type Incoming, prepareRequest, tokenForm } from './requests.ts'
import type {
  AuthorizationServer,
  ConnectedApp,
  FindAccount,
  Interaction,
  ProtocolPages,
  ScopeSentence,
  SessionInfo,
  SignIn,
} from './server.ts'
import { Sessions } from './sessions.ts'
import type { OauthSettings } from './settings.ts'
import { sourcesOf } from './sources.ts'
import { allowJwts } from './tokens.ts'

export interface ServerParts {
  /** Where the service is reached, without a trailing slash. */
  readonly issuer: string
  readonly settings: OauthSettings
  readonly model: Pick<Model, 'scopes'>
  readonly records: Records
  readonly apps: Apps
  readonly findAccount: FindAccount
  readonly pages: ProtocolPages
  /** An error that no client may see. */
  readonly onFault: (error: unknown) => void
}

/** The provider with one set of signing keys. */
interface Engine {
  readonly provider: Provider
  readonly callback: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly signer: TokenSigner
  readonly keysVersion: number
}

export async function createAuthorizationServer(parts: ServerParts): Promise<Server> {
  const server = new Server(parts)
  await server.engine()
  return server
}

/** The scopes that an app can ask for, each with its sentence. */
export function scopeSentences(model: Pick<Model, 'scopes'>): ReadonlyMap<string, string> {
  return new Map([...openidScopes, ...model.scopes])
}

export class Server implements AuthorizationServer {
  readonly issuer: string
  readonly #parts: ServerParts
  readonly #sentences: ReadonlyMap<string, string>
  readonly #consents: Consents
  readonly #sessions: Sessions
  readonly #browsers = new WeakMap<IncomingMessage, { userAgent: string; address: string }>()
  /** The browser that signs in outside of an authorization request. */
  readonly #signingIn = new AsyncLocalStorage<{ userAgent: string; address: string }>()
  #engine: Engine | undefined
  #making: Promise<Engine> | undefined

  constructor(parts: ServerParts) {
    this.issuer = parts.issuer
    this.#parts = parts
    this.#sentences = scopeSentences(parts.model)
    this.#consents = new Consents(parts.records)
    this.#sessions = new Sessions(parts.records, parts.settings.sessionLife)
  }

  /** The provider; made anew when the signing keys have changed. */
  async engine(): Promise<Engine> {
    const version = keysVersion(this.#parts.records)
    if (this.#engine?.keysVersion === version) return this.#engine
    this.#making ??= this.#make(version).finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async handle(req: IncomingMessage, res: ServerResponse, body?: Buffer, address = ''): Promise<boolean> {
    const engine = await this.#ready(req)
    const { apps, settings } = this.#parts
    const incoming: Incoming = {
      issuer: this.issuer,
      signer: engine.signer,
      defaultScopes: async clientId => (await apps.find(clientId))?.default_scopes ?? [],
      separator: settings.scopeSeparator,
    }
    this.#see(req, address)
    const prepared = await prepareRequest(req, body, incoming)
    if (prepared !== req) this.#see(prepared, address)
    await engine.callback(prepared, res)
    return wasRefused(prepared)
  }

  async interaction(req: IncomingMessage, res: ServerResponse): Promise<Interaction> {
    const { provider } = await this.#ready(req)
    const details = await this.#details(provider, req, res)
    const { params, prompt, session, uid } = details
    const client = await provider.Client.find(params.client_id)
    if (!client) throw new ApiError('NOT_FOUND', 'The app does not exist any more.')
    const userId = session?.accountId === undefined ? undefined : Number(session.accountId)
    const before = userId === undefined ? undefined : await this.#consents.find(userId, client.clientId)
    return {
      uid,
      prompt: prompt.name === 'login' ? 'login' : 'consent',
      app: appOf(client),
      destination: details.deviceCode === undefined ? destinationOf(params.redirect_uri) : undefined,
      scopes: this.#sentencesOf(scopesOf(details)),
      allowedBefore: new Set(before?.scopes),
      userId,
      loginHint: params.login_hint,
    }
  }

  async finishLogin(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<string> {
    const { provider } = await this.#ready(req)
    await this.#details(provider, req, res)
    const { userId, remember, methods } = signIn
    const login = { accountId: String(userId), remember, ...(methods && { amr: methods }) }
    return this.#finish(provider, req, res, { login }, false)
  }

  async finishConsent(req: IncomingMessage, res: ServerResponse, scopes: readonly string[]): Promise<string> {
    const { provider } = await this.#ready(req)
    const details = await this.#details(provider, req, res)
    const { params, session } = details
    if (session?.accountId === undefined) throw new ApiError('FORBIDDEN', 'Sign in first.')
    const asked = scopesOf(details)
    const allowed = asked.filter(scope => scopes.includes(scope))
    if (allowed.length === 0) return this.deny(req, res)
    // Without `openid` there is no signing in: who allows anything allows it too.
    if (asked.includes('openid') && !allowed.includes('openid')) allowed.push('openid')
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
    grant.addOIDCScope(allowed.join(' '))
    const rejected = asked.filter(scope => !allowed.includes(scope))
    if (rejected.length > 0) grant.rejectOIDCScope(rejected.join(' '))
    const grantId = await grant.save()
    await this.#consents.remember(Number(session.accountId), params.client_id, asked, allowed)
    return this.#finish(provider, req, res, { consent: { grantId } }, true)
  }

  async deny(req: IncomingMessage, res: ServerResponse): Promise<string> {
    const { provider } = await this.#ready(req)
    await this.#details(provider, req, res)
    const result = { error: 'access_denied', error_description: 'The user has not allowed it.' }
    return this.#finish(provider, req, res, result, false)
  }

  async session(req: IncomingMessage, res: ServerResponse): Promise<SessionInfo | undefined> {
    const { provider } = await this.#ready(req)
    return this.#sessions.current(provider, req, res)
  }

  async signIn(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<SessionInfo> {
    const { provider } = await this.#ready(req)
    const seen = this.#see(req, signIn.address ?? '')
    return this.#signingIn.run(seen, () => this.#sessions.signIn(provider, req, res, signIn))
  }

  async signOut(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { provider } = await this.#ready(req)
    await this.#sessions.signOut(provider, req, res)
  }

  sessions(userId: number, currentId?: string): Promise<readonly SessionInfo[]> {
    return this.#sessions.all(userId, currentId)
  }

  revokeSession(userId: number, sessionId: string): Promise<boolean> {
    return this.#sessions.revoke(userId, sessionId)
  }

  async connectedApps(userId: number): Promise<readonly ConnectedApp[]> {
    const { provider } = await this.engine()
    const consents = await this.#consents.all(userId)
    const apps = await Promise.all(
      consents.map(async ({ clientId, scopes, at }) => {
        const client = await provider.Client.find(clientId)
        return client && { app: appOf(client), scopes: this.#sentencesOf(scopes), allowedAt: at }
      }),
    )
    return apps.filter(app => app !== undefined)
  }

  revokeApp(userId: number, clientId: string): Promise<void> {
    return this.#consents.revoke(userId, clientId)
  }

  async revokeAll(userId: number, exceptSession?: string): Promise<void> {
    await this.#sessions.revokeAll(userId, exceptSession)
    await this.#consents.endAll(userId)
  }

  async #make(version: number): Promise<Engine> {
    const { records, settings, findAccount, pages, apps, issuer, onFault } = this.#parts
    const keys = await loadKeys(records)
    const signer = new TokenSigner(keys)
    const provider: Provider = new Provider(
      issuer,
      configurationOf({
        settings,
        scopes: [...this.#sentences.keys()],
        keys,
        adapter: kind =>
          new Adapter(kind, {
            records,
            findClient: async id => {
              const app = await apps.find(id)
              return app && clientMetadata(app, settings.secretOverlap)
            },
            browser: () => this.#browser(),
            isExposed: () => currentContext()?.oidc.route === 'token',
            usedUp: () => new errors.InvalidGrant('it was used already'),
          }),
        findAccount,
        loadGrant: ctx => loadGrant(provider, this.#consents, ctx),
        sources: sourcesOf(pages),
        invalidTarget: () => new errors.InvalidTarget('this server issues tokens for its own API only'),
        secureCookies: issuer.startsWith('https:'),
      }),
    )
    provider.proxy = true
    guardClients(provider)
    allowJwts(provider, { issuer, records, signer, format: settings.accessTokenFormat })
    const { refreshReplay } = settings
    if (refreshReplay > 0) {
      const formOf = (ctx: Context) => tokenForm(ctx.req)
      provider.use(replayRefreshes({ records, seconds: refreshReplay, formOf, onFault }))
    }
    shapeAnswers(provider, { separator: settings.scopeSeparator, issuer })
    provider.on('server_error', (_ctx: never, error: never) => onFault(error))
    provider.on('error', (error: never) => onFault(error))
    this.#engine = { provider, callback: provider.callback(), signer, keysVersion: version }
    return this.#engine
  }

  #browser(): { userAgent: string; address: string } {
    const ctx = currentContext()
    return (
      (ctx && this.#browsers.get(ctx.req)) ?? this.#signingIn.getStore() ?? { userAgent: '', address: '' }
    )
  }

  #see(req: IncomingMessage, address: string): { userAgent: string; address: string } {
    const seen = { userAgent: String(req.headers['user-agent'] ?? '').slice(0, 300), address }
    this.#browsers.set(req, seen)
    return seen
  }

  /** Cookies are secure where the issuer is, whoever ends TLS. */
  async #ready(req: IncomingMessage): Promise<Engine> {
    asIssuer(req, this.issuer)
    return this.engine()
  }

  async #details(provider: Provider, req: IncomingMessage, res: ServerResponse): Promise<InteractionDetails> {
    try {
      const details = await provider.interactionDetails(req, res)
      const path = (req.url ?? '').split('?', 1)[0]
      if (path === interactionPath + details.uid || !path?.startsWith(interactionPath)) return details
    } catch (cause) {
      if (!(cause instanceof Error) || cause.name !== 'SessionNotFound') throw cause
    }
    throw new ApiError(
      'NOT_FOUND',
      'This sign-in is over, or belongs to another browser. Start again at the app.',
    )
  }

  async #finish(
    provider: Provider,
    req: IncomingMessage,
    res: ServerResponse,
    result: Record<string, unknown>,
    merge: boolean,
  ): Promise<string> {
    const next = await provider.interactionResult(req, res, result, { mergeWithLastSubmission: merge })
    const { pathname, search } = new URL(next)
    return pathname + search
  }

  #sentencesOf(scopes: readonly string[]): readonly ScopeSentence[] {
    return scopes.map(scope => ({ scope, sentence: this.#sentences.get(scope) ?? scope }))
  }
}

function currentContext(): Context | undefined {
  return (Provider as unknown as { ctx: Context | undefined }).ctx
}

function scopesOf({ params }: InteractionDetails): readonly string[] {
  return (params.scope ?? '').split(' ').filter(scope => scope !== '')
}

/** Where a redirect URI leads, as a person can compare it. */
function destinationOf(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined
  const { origin, protocol } = new URL(uri)
  return origin === 'null' ? protocol : origin
}

/** The library makes links from these: they must not be what the client says. */
export function asIssuer(req: IncomingMessage, issuer: string): void {
  const { host, protocol } = new URL(issuer)
  req.headers.host = host
  req.headers['x-forwarded-proto'] = protocol.slice(0, -1)
  delete req.headers['x-forwarded-host']
  delete req.headers['x-forwarded-for']
}
