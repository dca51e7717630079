/** The authorization server: oidc-provider on our records, with our apps, scopes, pages and rules. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, Reply } from '../../base/call.ts'
import { openidScopes } from '../../model/builtin/builtin.ts'
import type { Collection, Model } from '../../model/model.ts'
import { disabledSignIn } from '../disabled-account.ts'
import { appUseId, type ClientPlace, lastUsesOf } from '../last-use.ts'
import { defaultScopesOf } from './clients/apps.ts'
import { appOf } from './clients/client-metadata.ts'
import { Consents } from './consent/consents.ts'
import type { GrantBoundParts } from './consent/grant-bounds.ts'
import { type ConnectionObserver, type InteractionRequest, Interactions } from './consent/interactions.ts'
import { CurrentProvider, type ProviderParts } from './provider/current-provider.ts'
import { type BrowserInfo, browserOf, type RequestState, withRequestState } from './provider/request-state.ts'
import type { Parameters, RequestBody } from './requests/form.ts'
import { type PrepareParts, prepareRequest, resourcesOf } from './requests/prepare-request.ts'
import type {
  AuthorizationServer,
  ConnectedApp,
  Interaction,
  NextPath,
  ScopeSentence,
  SessionInfo,
  SignIn,
} from './server.ts'
import { Sessions } from './sessions/sessions.ts'
import { Introspection } from './tokens/introspection.ts'
import { IntrospectionFastPath } from './tokens/introspection-fast-path.ts'

export interface ServerParts extends Omit<ProviderParts, 'scopes' | 'consents'> {
  readonly grantsInUse: GrantBoundParts['grantsInUse']
  readonly model: Pick<Model, 'scopes' | 'collections'>
  /** The name of the service, which no app may have. */
  readonly serviceName: string
  /** The country of a request (ISO 3166-1 alpha-2), if a trusted proxy reports it. */
  readonly countryOf: CountryOf
  readonly onConnected: ConnectionObserver
}

export type CountryOf = (req: IncomingMessage) => string | undefined

/**
 * Resolves when the authorization server has its signing keys. It implements RFC 6749 and OpenID Connect Core 1.0
 * on oidc-provider.
 */
export async function createAuthorizationServer(parts: ServerParts): Promise<Server> {
  const server = new Server(parts)
  await server.ready()
  return server
}

function oauthAppsOf({ collections }: Pick<Model, 'collections'>): Collection {
  const collection = collections.get('oauth_apps')
  if (!collection) throw new Error('The model has no OAuth apps.')
  return collection
}

/** The scopes that an app can ask for, each with its sentence. */
function scopeSentences(model: Pick<Model, 'scopes'>): ReadonlyMap<string, string> {
  return new Map([...openidScopes, ...model.scopes])
}

/** The authorization server. Each method is documented in its interface. */
export class Server implements AuthorizationServer {
  readonly issuer: string
  readonly #parts: Pick<ServerParts, 'records' | 'hasAccount' | 'serviceName' | 'countryOf' | 'onFault'>
  readonly #sentences: ReadonlyMap<string, string>
  readonly #consents: Consents
  readonly #sessions: Sessions
  readonly #interactions: Interactions
  readonly #provider: CurrentProvider
  readonly #introspection: IntrospectionFastPath
  readonly #prepareParts: Omit<PrepareParts, 'signer'>

  constructor(parts: ServerParts) {
    const { issuer, model, records, apps, hasAccount, settings, serviceName, countryOf, onFault } = parts
    const { lastUses } = parts
    this.issuer = issuer
    this.#parts = { records, hasAccount, serviceName, countryOf, onFault }
    this.#sentences = scopeSentences(model)
    this.#consents = new Consents(records, parts.grantsInUse, lastUses)
    this.#sessions = new Sessions(records, settings.sessionSeconds, lastUses)
    this.#interactions = new Interactions({
      consents: this.#consents,
      sentencesOf: scopes => this.#sentencesOf(scopes),
      onConnected: parts.onConnected,
    })
    this.#prepareParts = {
      issuer,
      oauthApps: oauthAppsOf(model),
      serviceName,
      rules: {
        resources: resourcesOf(issuer),
        defaultScopes: async clientId => defaultScopesOf(apps, records, clientId),
      },
    }
    const scopes = [...this.#sentences.keys()]
    this.#provider = new CurrentProvider({ ...parts, scopes, consents: this.#consents })
    const introspection = new Introspection({ issuer, records, hasAccount })
    const { secretOverlapSeconds } = settings
    this.#introspection = new IntrospectionFastPath({ apps, secretOverlapSeconds, introspection })
  }

  /** Resolves when everything that a request needs is loaded. */
  async ready(): Promise<void> {
    await this.#provider.get()
  }

  async handle(
    req: IncomingMessage,
    res: ServerResponse,
    body?: RequestBody,
    address = '',
  ): Promise<boolean> {
    const { callback, signer } = await this.#provider.get()
    const prepared = await prepareRequest(req, body, { ...this.#prepareParts, signer })
    const { form, refusal } = prepared
    const state: RequestState = { browser: this.#browserOf(req, address), form, refusal }
    await withRequestState(state, () => callback(prepared.req, res))
    return state.wasRefused === true
  }

  async introspect({ headers }: Pick<Call, 'headers'>, form: Parameters): Promise<Reply | undefined> {
    const { signer } = await this.#provider.get()
    return this.#introspection.answer(headers, form, signer)
  }

  async interaction(req: IncomingMessage, res: ServerResponse): Promise<Interaction> {
    const interaction = await this.#interactions.find(await this.#request(req, res))
    const { prompt, userId } = interaction
    // At the sign-in page, another account may sign in.
    if (prompt !== 'login' && userId !== undefined) await this.#requireEnabled(userId)
    return interaction
  }

  async finishLogin(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<NextPath> {
    await this.#requireEnabled(signIn.userId)
    await this.#sessions.endOldest(signIn.userId)
    return this.#interactions.finishLogin(await this.#request(req, res), signIn)
  }

  async keepAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    return this.#interactions.keepAccount(await this.#request(req, res))
  }

  async finishConsent(
    req: IncomingMessage,
    res: ServerResponse,
    scopes: readonly string[],
  ): Promise<NextPath> {
    return this.#interactions.finishConsent(await this.#request(req, res), scopes)
  }

  async deny(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    return this.#interactions.deny(await this.#request(req, res))
  }

  async switchAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath> {
    const request = await this.#request(req, res)
    const next = await this.#interactions.startAgain(request)
    await this.#sessions.signOut(request.provider, req, res)
    return next
  }

  async session(req: IncomingMessage, res: ServerResponse): Promise<SessionInfo | undefined> {
    const { provider } = await this.#provider.get()
    const session = await this.#sessions.current(provider, req, res)
    return session && (await this.#parts.hasAccount(session.userId)) ? session : undefined
  }

  async noteUse(session: SessionInfo, req: IncomingMessage, address: string): Promise<void> {
    const { countryOf, onFault } = this.#parts
    const place: ClientPlace = { address, country: countryOf(req) }
    await this.#sessions.noteUse(session, place, Date.now()).catch(onFault)
  }

  async signIn(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<SessionInfo> {
    await this.#requireEnabled(signIn.userId)
    const { provider } = await this.#provider.get()
    const state = { browser: this.#browserOf(req, signIn.address ?? '') }
    return withRequestState(state, () => this.#sessions.signIn(provider, req, res, signIn))
  }

  async signOut(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { provider } = await this.#provider.get()
    await this.#sessions.signOut(provider, req, res)
  }

  sessions(userId: number, currentId?: string): Promise<readonly SessionInfo[]> {
    return this.#sessions.all(userId, currentId)
  }

  revokeSession(userId: number, sessionId: string): Promise<boolean> {
    return this.#sessions.revoke(userId, sessionId)
  }

  async connectedApps(userId: number): Promise<readonly ConnectedApp[]> {
    const { provider } = await this.#provider.get()
    const consents = [...(await this.#consents.all(userId)), ...(await this.#consents.withoutConsent(userId))]
    const uses = await lastUsesOf(this.#parts.records, 'AppUse', userId)
    const apps = await Promise.all(
      consents.map(async ({ clientId, scopes, at }): Promise<ConnectedApp | undefined> => {
        const client = await provider.Client.find(clientId)
        const usedAt = uses.get(appUseId(userId, clientId))?.at
        return client && { app: appOf(client), scopes: this.#sentencesOf(scopes), allowedAt: at, usedAt }
      }),
    )
    const lastActiveAt = ({ allowedAt, usedAt = 0 }: ConnectedApp) => Math.max(allowedAt, usedAt)
    return apps.filter(app => app !== undefined).sort((one, other) => lastActiveAt(other) - lastActiveAt(one))
  }

  async connectedAppCount(userId: number): Promise<number> {
    const { provider } = await this.#provider.get()
    const ids = await this.#consents.clientIds(userId)
    const clients = await Promise.all([...ids].map(id => provider.Client.find(id)))
    return clients.filter(client => client !== undefined).length
  }

  countUsers(clientId: string, limit: number): Promise<number> {
    return this.#consents.countUsers(clientId, limit)
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

  /** Throws FORBIDDEN if the account is disabled. Call it only after the user has proven who they are. */
  async #requireEnabled(userId: number): Promise<void> {
    if (!(await this.#parts.hasAccount(userId))) throw disabledSignIn(this.#parts.serviceName)
  }

  #browserOf(req: IncomingMessage, address: string): BrowserInfo {
    return browserOf(req, address, this.#parts.countryOf(req))
  }

  async #request(req: IncomingMessage, res: ServerResponse): Promise<InteractionRequest> {
    const { provider } = await this.#provider.get()
    return { provider, req, res }
  }

  #sentencesOf(scopes: readonly string[]): readonly ScopeSentence[] {
    return scopes.map(scope => ({ scope, sentence: this.#sentences.get(scope) ?? scope }))
  }
}
