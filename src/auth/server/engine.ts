/** The library, set up with our records, apps, pages and one set of signing keys. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'oidc-provider'
import type { Records } from '../../records.ts'
import { Adapter } from './adapter.ts'
import { shapeAnswers } from './answers.ts'
import type { Apps } from './apps.ts'
import { type Browsers, currentContext } from './browsers.ts'
import { clientMetadata, guardClients, rememberClients } from './clients.ts'
import { requireRedirectUri } from './codes.ts'
import { configurationOf, deviceCodeLifeSeconds, routes } from './configuration.ts'
import { type Consents, loadGrant } from './consents.ts'
import type { OnGrantRefusal } from './grant-refusals.ts'
import { TokenSigner } from './jwt.ts'
import { isTrusted, keysVersion, loadKeys, type SigningKey } from './keys.ts'
import { errors, Provider } from './library.ts'
import { replayRefreshes } from './replay.ts'
import { tokenForm } from './requests.ts'
import { coverScopes } from './scopes.ts'
import type { FindAccount, HasAccount, ProtocolPages } from './server.ts'
import type { OauthSettings } from './settings.ts'
import { sourcesOf } from './sources.ts'
import { writeTogether } from './together.ts'
import { allowJwts } from './tokens.ts'

export interface EngineParts {
  /** Where the service is reached, without a trailing slash. */
  readonly issuer: string
  readonly settings: OauthSettings
  readonly scopes: readonly string[]
  readonly records: Records
  readonly apps: Apps
  readonly hasAccount: HasAccount
  readonly findAccount: FindAccount
  readonly pages: ProtocolPages
  readonly consents: Consents
  readonly browsers: Browsers
  /** An error that no client may see. */
  readonly onFault: (error: unknown) => void
  /** A code or refresh token that was refused. */
  readonly onGrantRefusal: OnGrantRefusal
}

/** The provider with one set of signing keys. */
export interface Engine {
  readonly provider: Provider
  readonly callback: (req: IncomingMessage, res: ServerResponse) => Promise<void>
  readonly signer: TokenSigner
}

interface Current {
  readonly engine: Engine
  readonly version: number
  /** When the next of its keys ends, in milliseconds since 1970. */
  readonly until: number
}

/** The current one; made anew when the signing keys have changed, or one of them has ended. */
export class Engines {
  readonly #parts: EngineParts
  #current: Current | undefined
  #making: Promise<Engine> | undefined

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  async current(): Promise<Engine> {
    const version = keysVersion(this.#parts.records)
    if (this.#current?.version === version && Date.now() < this.#current.until) return this.#current.engine
    this.#making ??= this.#make(version).finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async #make(version: number): Promise<Engine> {
    const now = Date.now()
    const keys = (await loadKeys(this.#parts.records)).filter(key => isTrusted(key, now))
    const engine = makeEngine(this.#parts, keys)
    const until = Math.min(...keys.map(({ endsAt }) => endsAt ?? Number.POSITIVE_INFINITY))
    this.#current = { engine, version, until }
    return engine
  }
}

/** How the library stores. */
export function adapterOf({ records, apps, settings, browsers }: EngineParts) {
  return (kind: string) =>
    new Adapter(kind, {
      records,
      findClient: async id => {
        const app = await apps.find(id)
        return app && clientMetadata(app, settings.secretOverlap)
      },
      browser: () => browsers.current(),
      isExposed: () => currentContext()?.oidc.route === 'token',
      isSignOut: () => {
        const { route, params } = currentContext()?.oidc ?? {}
        return route === 'end_session_confirm' && params?.logout !== undefined
      },
      usedUp: () => new errors.InvalidGrant('it was used already'),
      unknownToken: () => new errors.InvalidToken('registration access token not found'),
    })
}

function makeEngine(parts: EngineParts, keys: readonly SigningKey[]): Engine {
  const { issuer, settings, scopes, records, hasAccount, findAccount, pages, consents, onFault } = parts
  const signer = new TokenSigner(keys)
  const provider: Provider = new Provider(
    issuer,
    configurationOf({
      settings,
      scopes,
      keys,
      adapter: adapterOf(parts),
      hasAccount,
      findAccount,
      loadGrant: ctx => loadGrant(provider, consents, ctx),
      sources: sourcesOf(pages),
      invalidTarget: () => new errors.InvalidTarget('this server issues tokens for its own API only'),
      secureCookies: issuer.startsWith('https:'),
    }),
  )
  provider.proxy = true
  guardClients(provider)
  coverScopes(provider, new Set(scopes))
  requireRedirectUri(provider)
  rememberClients(provider, parts.apps)
  const findClient = (id: string) => provider.Client.find(id)
  allowJwts(provider, { issuer, records, signer, findClient, format: settings.accessTokenFormat })
  const { refreshReplay } = settings
  if (refreshReplay > 0) {
    const formOf = (ctx: Context) => tokenForm(ctx.req)
    provider.use(replayRefreshes({ records, seconds: refreshReplay, formOf, onFault }))
  }
  shapeAnswers(provider, {
    separator: settings.scopeSeparator,
    issuer,
    records,
    deviceCodeLifeMs: deviceCodeLifeSeconds * 1000,
    onGrantRefusal: parts.onGrantRefusal,
  })
  writeTogether(provider, routes.token)
  provider.on('server_error', (_ctx: never, error: never) => onFault(error))
  provider.on('error', (error: never) => onFault(error))
  return { provider, callback: provider.callback(), signer }
}
