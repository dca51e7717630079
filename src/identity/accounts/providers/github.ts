/** GitHub: OAuth 2.0 without OpenID Connect. Its API identifies the user. */

import type { Configuration } from 'openid-client'
import { isObject } from '../../../base/json.ts'
import { claimOf, emailFrom, nameFrom } from './claims.ts'
import { faultOf } from './library-faults.ts'
import type { OpenidLibrary } from './openid.ts'
import {
  type FlowSecrets,
  type Profile,
  type Provider,
  ProviderFault,
  type StartFlowOptions,
} from './provider.ts'
import { maxResponseBytes, providerFetch, requestTimeoutMs, type SendRequest } from './provider-fetch.ts'

export interface GithubOptions {
  readonly id: string
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
  readonly send: SendRequest
}

/** `issuer`: the `iss` of its authorization responses (RFC 9207), if it sends one. */
const server = {
  issuer: 'https://github.com/login/oauth',
  authorization_endpoint: 'https://github.com/login/oauth/authorize',
  token_endpoint: 'https://github.com/login/oauth/access_token',
}
const issuer = 'https://github.com'
const api = 'https://api.github.com'
const scope = 'read:user user:email'

const formType = /^application\/x-www-form-urlencoded\b/i

/** GitHub sends some responses as a form; the library expects JSON. */
function jsonFetch(send: SendRequest): ReturnType<typeof providerFetch> {
  const fetch = providerFetch(send)
  return async (url, options) => {
    const response = await fetch(url, options)
    if (!formType.test(response.headers.get('content-type') ?? '')) return response
    const values = Object.fromEntries(new URLSearchParams(await response.text()))
    return Response.json(values, { status: response.status })
  }
}

class Github implements Provider {
  readonly kind = 'github'
  readonly id: string
  readonly name: string
  readonly #options: GithubOptions
  #configuration: Configuration | undefined

  constructor(options: GithubOptions) {
    this.id = options.id
    this.name = options.name
    this.#options = options
  }

  async start({ redirectUri: redirect_uri, secrets: { state, verifier } }: StartFlowOptions): Promise<URL> {
    const library = await import('openid-client')
    return library.buildAuthorizationUrl(this.#clientConfiguration(library), {
      ...{ redirect_uri, state, scope },
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
  }

  async finish(callback: URL, { state, verifier }: FlowSecrets): Promise<Profile> {
    try {
      const library = await import('openid-client')
      const { access_token } = await library.authorizationCodeGrant(
        this.#clientConfiguration(library),
        callback,
        {
          expectedState: state,
          pkceCodeVerifier: verifier,
        },
      )
      return await this.#profile(access_token)
    } catch (error) {
      throw faultOf(error)
    }
  }

  #clientConfiguration(library: OpenidLibrary): Configuration {
    if (this.#configuration) return this.#configuration
    const { clientId, clientSecret, send } = this.#options
    const authentication = library.ClientSecretPost(clientSecret)
    const configuration = new library.Configuration(server, clientId, undefined, authentication)
    configuration[library.customFetch] = jsonFetch(send)
    this.#configuration = configuration
    return configuration
  }

  async #profile(accessToken: string): Promise<Profile> {
    const user = await this.#get('/user', accessToken)
    const id = isObject(user) ? claimOf(user, 'id') : undefined
    if (!isObject(user) || !Number.isSafeInteger(id) || Number(id) < 1)
      throw new ProviderFault('invalid', 'GitHub’s response contains no user id.')
    const email = primaryEmail(await this.#get('/user/emails', accessToken))
    return {
      issuer,
      // Not the login: after its owner has given it up, another person can get it.
      subject: String(id),
      name: nameFrom(claimOf(user, 'name')) ?? nameFrom(claimOf(user, 'login')),
      email,
      emailVerified: email !== undefined,
    }
  }

  /** Requests a resource of the API. Undefined if the app may not read it. */
  async #get(path: string, accessToken: string): Promise<unknown> {
    const { status, body } = await this.#options.send({
      url: `${api}${path}`,
      headers: {
        Accept: 'application/vnd.github+json',
        Authorization: `Bearer ${accessToken}`,
        'User-Agent': 'Portico',
        'X-GitHub-Api-Version': '2022-11-28',
      },
      timeoutMs: requestTimeoutMs,
      maxBodyBytes: maxResponseBytes,
    })
    if (status >= 500)
      throw new ProviderFault('unavailable', `GitHub answered ${path} with the status ${status}.`)
    if (status !== 200) return undefined
    try {
      return JSON.parse(body.toString())
    } catch (cause) {
      throw new ProviderFault('invalid', `GitHub did not answer ${path} with JSON.`, { cause })
    }
  }
}

/** The primary address, if GitHub has verified it. */
function primaryEmail(emails: unknown): string | undefined {
  const primary = Array.isArray(emails)
    ? emails.find(entry => isObject(entry) && claimOf(entry, 'primary') === true)
    : undefined
  return primary !== undefined && claimOf(primary, 'verified') === true
    ? emailFrom(claimOf(primary, 'email'))
    : undefined
}

/** GitHub as a provider. Its secret is sent in the body of the token request. */
export function createGithubProvider(options: GithubOptions): Provider {
  return new Github(options)
}
