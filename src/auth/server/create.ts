/** The authorization server: oidc-provider on our records, with our apps, scopes, pages and rules. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../../call.ts'
import { openidScopes } from '../../model/builtin.ts'
import type { Collection, Model } from '../../model/model.ts'
import { wasRefused } from './answers.ts'
import { defaultScopesOf } from './apps.ts'
import { Browsers } from './browsers.ts'
import { appOf } from './clients.ts'
import { routes } from './configuration.ts'
import { Consents } from './consents.ts'
import type { RequestRules } from './dialect.ts'
import { adapterOf, type Engine, type EngineParts, Engines } from './engine.ts'
import { type Asked, Interactions } from './interactions.ts'
import { Introspection } from './introspection.ts'
import { type Asking, Quick, type QuickEndpoint } from './quick.ts'
import { QuickGrants } from './quick-grants.ts'
import { type Incoming, prepareRequest, resourcesOf } from './requests.ts'
import type {
  AuthorizationServer,
  ConnectedApp,
  Interaction,
  NextPath,
  ScopeSentence,
  SessionInfo,
  SignIn,
} from './server.ts'
import { Sessions } from './sessions.ts'

export interface ServerParts extends Omit<EngineParts, 'scopes' | 'consents' | 'browsers'> {
  readonly model: Pick<Model, 'scopes' | 'collections'>
  /** What the service is called, and no app may be. */
  readonly serviceName: string
}

export async function createAuthorizationServer(parts: ServerParts): Promise<Server> {
  const server = new Server(parts)
  await server.ready()
  return server
}

/** The scopes that an app can ask for, each with its sentence. */
function scopeSentences(model: Pick<Model, 'scopes'>): ReadonlyMap<string, string> {
  return new Map([...openidScopes, ...model.scopes])
}

export class Server implements AuthorizationServer {
  readonly issuer: string
  readonly #serviceName: string
  readonly #sentences: ReadonlyMap<string, string>
  readonly #oauthApps: Collection
  readonly #consents: Consents
  readonly #sessions: Sessions
  readonly #browsers = new Browsers()
  readonly #interactions: Interactions
  readonly #engines: Engines
  readonly #quick: Quick
  readonly #rules: RequestRules

  constructor(parts: ServerParts) {
    const { issuer, model, records, apps, hasAccount, settings } = parts
    const { secretOverlap } = settings
    this.issuer = issuer
    this.#serviceName = parts.serviceName
    const oauthApps = model.collections.get('oauth_apps')
    if (!oauthApps) throw new Error('The model has no OAuth apps.')
    this.#oauthApps = oauthApps
    this.#sentences = scopeSentences(model)
    this.#consents = new Consents(records)
    this.#sessions = new Sessions(records, settings.sessionLife)
    this.#interactions = new Interactions({
      consents: this.#consents,
      sentencesOf: scopes => this.#sentencesOf(scopes),
    })
    this.#rules = {
      resources: resourcesOf(issuer),
      defaultScopes: async clientId => defaultScopesOf(apps, records, clientId),
    }
    const engineParts = {
      ...parts,
      scopes: [...this.#sentences.keys()],
      consents: this.#consents,
      browsers: this.#browsers,
    }
    this.#engines = new Engines(engineParts)
    const endpoints = new Map<string, QuickEndpoint>([
      [routes.token, new QuickGrants({ ...parts, adapter: adapterOf(engineParts) })],
      [routes.introspection, new Introspection({ issuer, records, hasAccount })],
    ])
    this.#quick = new Quick({ apps, secretOverlap, endpoints })
  }

  /** When everything that a request needs is loaded. */
  async ready(): Promise<void> {
    await this.#engines.current()
  }

  async handle(req: IncomingMessage, res: ServerResponse, body?: Buffer, address = ''): Promise<boolean> {
    const engine = await this.#engineFor(req)
    const incoming: Incoming = {
      issuer: this.issuer,
      signer: engine.signer,
      rules: this.#rules,
      oauthApps: this.#oauthApps,
      serviceName: this.#serviceName,
    }
    const prepared = await prepareRequest(req, body, incoming)
    this.#browsers.see(prepared, address)
    await engine.callback(prepared, res)
    return wasRefused(prepared)
  }

  async quick(path: string, asking: Asking): Promise<Reply | undefined> {
    if (!this.#quick.has(path)) return undefined
    const { signer } = await this.#engines.current()
    return this.#quick.answer(path, asking, signer)
  }

  async interaction(req: IncomingMessage, res: ServerResponse): Promise<Interaction> {
    return this.#interactions.find(await this.#asked(req, res))
  }

  async finishLogin(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<NextPath> {
    return this.#interactions.finishLogin(await this.#asked(req, res), signIn)
  }

  async keepAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    return this.#interactions.keepAccount(await this.#asked(req, res))
  }

  async finishConsent(
    req: IncomingMessage,
    res: ServerResponse,
    scopes: readonly string[],
  ): Promise<NextPath> {
    return this.#interactions.finishConsent(await this.#asked(req, res), scopes)
  }

  async deny(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    return this.#interactions.deny(await this.#asked(req, res))
  }

  async switchAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    const asked = await this.#asked(req, res)
    const next = await this.#interactions.startAgain(asked)
    await this.#sessions.signOut(asked.provider, req, res)
    return next
  }

  async session(req: IncomingMessage, res: ServerResponse): Promise<SessionInfo | undefined> {
    const { provider } = await this.#engineFor(req)
    return this.#sessions.current(provider, req, res)
  }

  async signIn(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<SessionInfo> {
    const { provider } = await this.#engineFor(req)
    const seen = this.#browsers.see(req, signIn.address ?? '')
    return this.#browsers.during(seen, () => this.#sessions.signIn(provider, req, res, signIn))
  }

  async signOut(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { provider } = await this.#engineFor(req)
    await this.#sessions.signOut(provider, req, res)
  }

  sessions(userId: number, currentId?: string): Promise<readonly SessionInfo[]> {
    return this.#sessions.all(userId, currentId)
  }

  revokeSession(userId: number, sessionId: string): Promise<boolean> {
    return this.#sessions.revoke(userId, sessionId)
  }

  async connectedApps(userId: number): Promise<readonly ConnectedApp[]> {
    const { provider } = await this.#engines.current()
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

  async revokeOthers(userId: number, session: string): Promise<void> {
    await this.#sessions.revokeAll(userId, session)
    await this.#consents.endOthers(userId, session)
  }

  /** Cookies are secure where the issuer is, whoever ends TLS. */
  async #engineFor(req: IncomingMessage): Promise<Engine> {
    asIssuer(req, this.issuer)
    return this.#engines.current()
  }

  async #asked(req: IncomingMessage, res: ServerResponse): Promise<Asked> {
    const { provider } = await this.#engineFor(req)
    return { provider, req, res }
  }

  #sentencesOf(scopes: readonly string[]): readonly ScopeSentence[] {
    return scopes.map(scope => ({ scope, sentence: this.#sentences.get(scope) ?? scope }))
  }
}

/** The library makes links from these: they must not be what the client says. */
function asIssuer(req: IncomingMessage, issuer: string): void {
  const [scheme, host] = issuer.split('://')
  const { headers } = req
  headers.host = host
  headers['x-forwarded-proto'] = scheme
  if (headers['x-forwarded-host'] !== undefined) delete headers['x-forwarded-host']
  if (headers['x-forwarded-for'] !== undefined) delete headers['x-forwarded-for']
}
