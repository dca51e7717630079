/** GitHub: OAuth 2.0 without OpenID Connect. Its API says who has signed in. */
import type { Configuration } from 'openid-client'
import { claimOf, emailFrom, nameFrom } from './claims.ts'
import { faultOf } from './library-faults.ts'
import { type Profile, type Provider, ProviderFault, type Secrets, type StartOptions } from './provider.ts'
import { maxAnswerBytes, providerFetch, requestTimeoutMs, type SendRequest } from './provider-fetch.ts'

type Claims = Readonly<Record<string, unknown>>

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

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const formType = /^application\/x-www-form-urlencoded\b/i

/** GitHub sends some responses as a form; the library expects JSON. */
function jsonFetch(send: SendRequest): ReturnType<typeof providerFetch> {
  const fetched = providerFetch(send)
  return async (url, options) => {
    const answer = await fetched(url, options)
    if (!formType.test(answer.headers.get('content-type') ?? '')) return answer
    const values = Object.fromEntries(new URLSearchParams(await answer.text()))
    return Response.json(values, { status: answer.status })
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

  async start({ redirectUri: redirect_uri, secrets: { state, verifier } }: StartOptions): Promise<URL> {
    const library = await import('openid-client')
    return library.buildAuthorizationUrl(this.#client(library), {
      ...{ redirect_uri, state, scope },
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
  }

  async finish(callback: URL, { state, verifier }: Secrets): Promise<Profile> {
    try {
      const library = await import('openid-client')
      const { access_token } = await library.authorizationCodeGrant(this.#client(library), callback, {
        expectedState: state,
        pkceCodeVerifier: verifier,
      })
      return await this.#profile(access_token)
    } catch (error) {
      throw faultOf(error)
    }
  }

  #client(library: typeof import('openid-client')): Configuration {
    if (this.#configuration) return this.#configuration
    const { clientId, clientSecret, send } = this.#options
    const authentication = library.ClientSecretPost(clientSecret)
    const made = new library.Configuration(server, clientId, undefined, authentication)
    made[library.customFetch] = jsonFetch(send)
    this.#configuration = made
    return made
  }

  async #profile(accessToken: string): Promise<Profile> {
    const user = await this.#ask('/user', accessToken)
    const id = isObject(user) ? claimOf(user, 'id') : undefined
    if (!isObject(user) || !Number.isSafeInteger(id) || Number(id) < 1)
      throw new ProviderFault('invalid', 'GitHub’s user has no id.')
    const email = primaryOf(await this.#ask('/user/emails', accessToken))
    return {
      issuer,
      // Not the login: after its owner has given it up, another person can get it.
      subject: String(id),
      name: nameFrom(claimOf(user, 'name')) ?? nameFrom(claimOf(user, 'login')),
      email,
      emailVerified: email !== undefined,
    }
  }

  /** Undefined if the app may not read it. */
  async #ask(path: string, accessToken: string): Promise<unknown> {
    const { status, body } = await this.#options.send({
      url: `${api}${path}`,
      headers: {
        Accept: 'application/vnd.github+json',
        Authorization: `Bearer ${accessToken}`,
        'User-Agent': 'Portico',
        'X-GitHub-Api-Version': '2022-11-28',
      },
      timeoutMs: requestTimeoutMs,
      maxBodyBytes: maxAnswerBytes,
    })
    if (status >= 500) throw new ProviderFault('unavailable', `${path} of GitHub answered ${status}.`)
    if (status !== 200) return undefined
    try {
      return JSON.parse(body.toString())
    } catch (cause) {
      throw new ProviderFault('invalid', `${path} of GitHub did not answer in JSON.`, { cause })
    }
  }
}

/** The primary address, if GitHub has verified it. */
function primaryOf(emails: unknown): string | undefined {
  const primary = Array.isArray(emails)
    ? emails.find(one => isObject(one) && claimOf(one, 'primary') === true)
    : undefined
  return primary !== undefined && claimOf(primary, 'verified') === true
    ? emailFrom(claimOf(primary, 'email'))
    : undefined
}

export function createGithubProvider(options: GithubOptions): Provider {
  return new Github(options)
}
