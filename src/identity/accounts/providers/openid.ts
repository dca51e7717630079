/** OpenID Connect issuers. openid-client does discovery, the code flow with PKCE, and every check of the ID token. */
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client'
import { claimOf, emailFrom, nameFrom, type ProviderClaims, subjectFrom } from './claims.ts'
import { faultOf } from './library-faults.ts'
import {
  type FlowSecrets,
  type Profile,
  type Provider,
  ProviderFault,
  type StartFlowOptions,
} from './provider.ts'
import { providerFetch, type SendRequest } from './provider-fetch.ts'

export type OpenidLibrary = typeof import('openid-client')

/** The differences between issuers. */
export interface OpenidOptions {
  readonly kind: Provider['kind']
  readonly id: string
  readonly name: string
  /** The address for discovery, without `/.well-known/…`. */
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly allowPrivate: boolean
  /** How the client authenticates at the token endpoint. */
  readonly authentication: (library: OpenidLibrary, server: ServerMetadata) => ClientAuth
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>>
  /** The parameter `prompt` for a user who has to authenticate again; undefined if the issuer does not support it. */
  readonly promptAgain?: 'login' | 'select_account'
  /** Whether the claims verify that `email` is this person's. */
  readonly isEmailVerified: (claims: ProviderClaims) => boolean
  /** Throws a `ProviderFault` if users of the ID token's issuer may not sign in here. */
  readonly requireIssuer?: (idToken: ProviderClaims) => void
  readonly send: SendRequest
  readonly now: () => number
}

/** How long an issuer's metadata is cached. */
const metadataLifetimeMs = 60 * 60 * 1000

interface DiscoveredIssuer {
  readonly configuration: Configuration
  readonly discoveredAt: number
}

/** The tolerated difference between the clocks, as for the other times in ID tokens. */
const clockToleranceSeconds = 30

/**
 * Throws a `ProviderFault` if the `auth_time` of the ID token, which is optional (OpenID Connect Core, 2), is earlier than the
 * request. The parameter `prompt` alone proves nothing: a browser that carries the request to the issuer can remove it.
 */
function requireAuthentication(idToken: ProviderClaims, since: number | undefined): void {
  const authTime = claimOf(idToken, 'auth_time')
  if (since === undefined || typeof authTime !== 'number' || authTime >= since - clockToleranceSeconds) return
  throw new ProviderFault('invalid', 'The user did not authenticate again: auth_time is before the request.')
}

class OpenidClient implements Provider {
  readonly kind: Provider['kind']
  readonly id: string
  readonly name: string
  readonly #options: OpenidOptions
  #discovered: DiscoveredIssuer | undefined
  #discovering: Promise<DiscoveredIssuer> | undefined

  constructor(options: OpenidOptions) {
    this.kind = options.kind
    this.id = options.id
    this.name = options.name
    this.#options = options
  }

  async start({ redirectUri: redirect_uri, secrets }: StartFlowOptions): Promise<URL> {
    const { state, nonce, verifier, reauthenticatedSince } = secrets
    const { promptAgain } = this.#options
    try {
      const library = await import('openid-client')
      const configuration = await this.#configuration(library)
      const url = library.buildAuthorizationUrl(configuration, {
        ...{ redirect_uri, state, nonce, scope: this.#options.scopes.join(' ') },
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...this.#options.parameters,
        ...(reauthenticatedSince !== undefined && promptAgain && { prompt: promptAgain }),
      })
      this.#requireProtocol(url)
      return url
    } catch (error) {
      throw faultOf(error)
    }
  }

  async finish(callback: URL, secrets: FlowSecrets): Promise<Profile> {
    try {
      return await this.#profile(await import('openid-client'), callback, secrets)
    } catch (error) {
      throw faultOf(error)
    }
  }

  async #profile(library: OpenidLibrary, callback: URL, secrets: FlowSecrets): Promise<Profile> {
    const { state, nonce, verifier, reauthenticatedSince } = secrets
    const configuration = await this.#configuration(library)
    const tokens = await library.authorizationCodeGrant(configuration, callback, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const idToken = tokens.claims() as ProviderClaims | undefined
    const issuer = idToken && claimOf(idToken, 'iss')
    const subject = idToken && subjectFrom(claimOf(idToken, 'sub'))
    if (idToken === undefined || typeof issuer !== 'string' || subject === undefined)
      throw new ProviderFault('invalid', 'The ID token has no valid issuer or subject.')
    this.#options.requireIssuer?.(idToken)
    if (this.#options.promptAgain === 'login') requireAuthentication(idToken, reauthenticatedSince)
    const claims = await this.#claims(library, configuration, tokens.access_token, idToken, subject)
    const email = emailFrom(claimOf(claims, 'email'))
    return {
      issuer,
      subject,
      name: nameFrom(claimOf(idToken, 'name') ?? claimOf(claims, 'name')),
      email,
      emailVerified: email !== undefined && this.#options.isEmailVerified(claims),
    }
  }

  /** The claims of the ID token, or those of the UserInfo endpoint if only these contain the address (OpenID Connect Core, 5.4). */
  async #claims(
    library: OpenidLibrary,
    configuration: Configuration,
    accessToken: string,
    idToken: ProviderClaims,
    subject: string,
  ): Promise<ProviderClaims> {
    const { userinfo_endpoint } = configuration.serverMetadata()
    if (claimOf(idToken, 'email') !== undefined || userinfo_endpoint === undefined) return idToken
    // The library checks that `sub` is the same (5.3.2).
    return (await library.fetchUserInfo(configuration, accessToken, subject)) as ProviderClaims
  }

  async #configuration(library: OpenidLibrary): Promise<Configuration> {
    const { now } = this.#options
    const cached = this.#discovered
    if (cached && now() - cached.discoveredAt < metadataLifetimeMs) return cached.configuration
    this.#discovering ??= this.#discover(library).finally(() => {
      this.#discovering = undefined
    })
    this.#discovered = await this.#discovering
    return this.#discovered.configuration
  }

  async #discover(library: OpenidLibrary): Promise<DiscoveredIssuer> {
    const { issuer, clientId, allowPrivate, authentication, send, now } = this.#options
    // The library awaits the result.
    const authenticate: ClientAuth = async (server, client, body, headers) => {
      await authentication(library, server)(server, client, body, headers)
    }
    const configuration = await library.discovery(new URL(issuer), clientId, undefined, authenticate, {
      execute: [
        ...(allowPrivate ? [library.allowInsecureRequests] : []),
        // Checks the signature of the ID token too; the library relies on TLS otherwise.
        library.enableNonRepudiationChecks,
      ],
      [library.customFetch]: providerFetch(send),
    })
    return { configuration, discoveredAt: now() }
  }

  #requireProtocol({ protocol }: URL): void {
    if (protocol === 'https:' || (protocol === 'http:' && this.#options.allowPrivate)) return
    throw new ProviderFault('invalid', 'The authorization endpoint is not an https URL.')
  }
}

/** A provider that implements OpenID Connect Core 1.0 and Discovery 1.0. */
export function createOpenidProvider(options: OpenidOptions): Provider {
  return new OpenidClient(options)
}
