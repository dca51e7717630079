/** Sign-in in browsers: the authorization code grant with PKCE, as RFC 9700 and RFC 8252 require. */
import { ApiError } from '../api-error.ts'
import { originOf } from '../connection.ts'
import { openStorage, page } from './page.ts'
import { challengeOf, randomSecret } from './pkce.ts'
import { AuthorizationServer, type Metadata, oauthError } from './server.ts'
import { TokenStore } from './tokens.ts'

/** Options of `createSignIn`. */
export interface SignInOptions {
  /** The client id of an app of the type `public`. */
  readonly clientId: string
  /** `openid` for an ID token, `offline_access` to stay signed in for over an hour, and those for data, e.g. `write:task`. */
  readonly scopes: readonly string[]
  /** One of the app's `redirect_uris`: a page that calls `handleRedirect`. Default: the current page without its query. */
  readonly redirectUri?: string
  /** The issuer, i.e. the service's `BASE_URL`. Default: the page's origin. */
  readonly baseUrl?: string | URL
  /** `session`, the default: in the tab's `sessionStorage`, which a reload keeps. `memory`: until the page is left. */
  readonly storage?: 'session' | 'memory'
  /** Called after a sign-in, and when the user is no longer signed in. */
  readonly onChange?: (isSignedIn: boolean) => void
  readonly fetch?: typeof globalThis.fetch
  /** Opens the sign-in page. Default: `location.assign`. */
  readonly navigate?: (url: string) => void
}

/**
 * The sign-in of one app in a browser. Calls reject with an `ApiError`: the codes of OAuth in upper case, e.g.
 * `ACCESS_DENIED`, and `UNKNOWN_STATE`, `WRONG_ISSUER`, `WRONG_ID_TOKEN` for a response that does not belong to
 * this sign-in.
 */
export interface SignIn {
  readonly isSignedIn: boolean
  /** For `createClient({ token })`: returns the access token, refreshed if necessary; undefined if nobody is signed in. */
  readonly token: (refused?: string) => Promise<string | undefined>
  /** Leaves the page for the service's sign-in page. `handleRedirect` returns `returnTo`. */
  signIn(returnTo?: string): Promise<void>
  /**
   * Call this when the page loads: completes a sign-in whose authorization response is in the URL, and removes it from there.
   * Returns undefined if the URL contains none. Rejects with an `ApiError`, e.g. `ACCESS_DENIED`.
   */
  handleRedirect(url?: string): Promise<{ readonly returnTo: string | undefined } | undefined>
  /** Removes the tokens, and revokes them (RFC 7009). */
  signOut(): Promise<void>
}

/** A sign-in in progress, stored by its `state`. */
interface PendingSignIn {
  readonly verifier: string
  readonly nonce: string
  readonly redirectUri: string
  readonly returnTo?: string | undefined
}

/**
 * Signs users in at the service by the authorization code grant (RFC 6749, 4.1) with PKCE (RFC 7636), and refreshes their
 * tokens. Throws a `TypeError` if `baseUrl` is not a valid URL.
 */
export function createSignIn(options: SignInOptions): SignIn {
  const flow = new CodeFlow(options)
  return {
    get isSignedIn() {
      return flow.tokens.isSignedIn
    },
    token: refused => flow.token(refused),
    signIn: returnTo => flow.start(returnTo),
    handleRedirect: url => flow.finish(url),
    signOut: () => flow.tokens.end(),
  }
}

type RedirectResult = Awaited<ReturnType<SignIn['handleRedirect']>>

class CodeFlow {
  readonly tokens: TokenStore
  readonly #options: SignInOptions
  readonly #server: AuthorizationServer
  readonly #name: string
  /** Stored in the tab, because the response returns to it. */
  readonly #pending = openStorage('session')
  #finishing: Promise<RedirectResult> | undefined

  constructor(options: SignInOptions) {
    const { clientId, storage = 'session', onChange = () => undefined } = options
    const issuer = originOf(options.baseUrl)
    this.#options = options
    this.#name = `portico:${issuer}:${clientId}`
    this.#server = new AuthorizationServer(issuer, (...args) => (options.fetch ?? globalThis.fetch)(...args))
    this.tokens = new TokenStore({ server: this.#server, clientId, name: this.#name, storage, onChange })
  }

  async token(refused?: string): Promise<string | undefined> {
    await this.#finishing?.catch(() => undefined)
    return this.tokens.access(refused)
  }

  async start(returnTo?: string): Promise<void> {
    const { clientId, scopes, navigate = url => page.location?.assign(url) } = this.#options
    const [state, nonce, verifier] = [randomSecret(), randomSecret(), randomSecret()]
    const redirectUri = this.#redirectUri()
    const query = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: 'S256',
      ...(scopes.includes('openid') && { nonce }),
    }
    const { authorization_endpoint } = await this.#server.metadata()
    const pending: PendingSignIn = { verifier, nonce, redirectUri, returnTo }
    this.#pending.setItem(this.#key(state), JSON.stringify(pending))
    navigate(`${authorization_endpoint}?${new URLSearchParams(query)}`)
  }

  /** Some frameworks call this function twice: the second call waits for the first. */
  finish(url = page.location?.href ?? ''): Promise<RedirectResult> {
    const authorizationResponse = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
    const state = authorizationResponse.get('state')
    if (state === null || !(authorizationResponse.has('code') || authorizationResponse.has('error')))
      return this.#finishing ?? Promise.resolve(undefined)
    removeResponse(url)
    this.#finishing = this.#finish(authorizationResponse, state)
    return this.#finishing
  }

  async #finish(authorizationResponse: URLSearchParams, state: string): Promise<RedirectResult> {
    const text = this.#pending.getItem(this.#key(state))
    this.#pending.removeItem(this.#key(state))
    if (text === null) throw refusal('UNKNOWN_STATE', 'This tab did not start the sign-in: sign in again.')
    const { verifier, nonce, redirectUri, returnTo }: PendingSignIn = JSON.parse(text)
    checkIssuer(authorizationResponse, await this.#server.metadata())
    const code = authorizationResponse.get('code')
    if (code === null) throw oauthError(errorIn(authorizationResponse))
    const { clientId: client_id } = this.#options
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, client_id }
    const response = await this.#server.token({ ...form, code_verifier: verifier })
    if (this.#options.scopes.includes('openid'))
      checkIdToken(response.id_token, { iss: originOf(this.#options.baseUrl), aud: client_id, nonce })
    this.tokens.store(response)
    return { returnTo }
  }

  #redirectUri(): string {
    const { redirectUri } = this.#options
    const address = redirectUri ?? page.location?.href
    if (address === undefined) throw new TypeError('`redirectUri` is required outside a page.')
    return redirectUri ?? address.replace(/[?#].*$/s, '')
  }

  #key(state: string): string {
    return `${this.#name}:${state}`
  }
}

function refusal(code: string, message: string): ApiError {
  return new ApiError({ status: 0, code, message })
}

function errorIn(authorizationResponse: URLSearchParams) {
  const description = authorizationResponse.get('error_description')
  return {
    error: authorizationResponse.get('error'),
    ...(description !== null && { error_description: description }),
  }
}

/** RFC 9207: with the response of another server, the code would be sent to the wrong one. */
function checkIssuer(authorizationResponse: URLSearchParams, metadata: Metadata): void {
  const issuer = authorizationResponse.get('iss')
  const isMissing = issuer === null && !metadata.authorization_response_iss_parameter_supported
  if (!isMissing && issuer !== metadata.issuer)
    throw refusal('WRONG_ISSUER', `The response comes from ${issuer}, not from ${metadata.issuer}.`)
}

/** OpenID Connect Core, 3.1.3.7: the token comes from the token endpoint over TLS, so its signature need not be checked. */
function checkIdToken(idToken: string | undefined, expected: Readonly<Record<string, string>>): void {
  const claims = claimsOf(idToken)
  for (const [claim, value] of Object.entries(expected)) {
    if (![claims?.[claim]].flat().includes(value))
      throw refusal('WRONG_ID_TOKEN', `The \`${claim}\` of the ID token does not belong to this sign-in.`)
  }
}

/** The claims of a JWT (RFC 7519, 3); undefined if it cannot be parsed. */
function claimsOf(token = ''): Readonly<Record<string, unknown>> | null | undefined {
  const [, payload = ''] = token.split('.')
  try {
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}

/** Removes the code from the URL and the history. */
function removeResponse(url: string): void {
  if (page.location?.href !== url) return
  const cleanUrl = new URL(url)
  for (const name of ['code', 'state', 'iss', 'error', 'error_description'])
    cleanUrl.searchParams.delete(name)
  page.history?.replaceState(page.history.state, '', cleanUrl.href)
}
