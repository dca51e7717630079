/** The authorization server: its metadata (RFC 8414), and its token and revocation endpoints. */
import { readBody, unexpected, unreachable } from '../answer.ts'
import { ApiError } from '../api-error.ts'
import { unredirected } from '../connection.ts'
import { pause } from '../retry.ts'

export interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly revocation_endpoint?: string
  /** RFC 9207. */
  readonly authorization_response_iss_parameter_supported?: boolean
}

export interface TokenResponse {
  readonly access_token: string
  readonly refresh_token?: string
  readonly expires_in?: number
  readonly id_token?: string
}

/** Attempts to refresh, in quick succession: with `oauth.refreshReplay`, the service answers them as one. */
const refreshAttempts = 3
const refreshPauseMs = 300
/** Bounded, because no other tab can refresh while one waits for a response. */
const timeoutMs = 10_000

export class AuthorizationServer {
  readonly #issuer: string
  readonly #fetch: typeof fetch
  #metadata: Promise<Metadata> | undefined

  constructor(issuer: string, send: typeof fetch) {
    this.#issuer = issuer
    this.#fetch = send
  }

  /** Fetches the metadata once. */
  metadata(): Promise<Metadata> {
    this.#metadata ??= this.#discover().catch(error => {
      this.#metadata = undefined
      throw error
    })
    return this.#metadata
  }

  async token(parameters: Readonly<Record<string, string>>): Promise<TokenResponse> {
    const { token_endpoint } = await this.metadata()
    const response = (await this.#send(token_endpoint, parameters)) as TokenResponse | null | undefined
    if (typeof response?.access_token === 'string') return response
    throw new ApiError({
      status: 200,
      code: 'UNEXPECTED_ANSWER',
      message: 'The token response has no access token.',
    })
  }

  /** Retries soon if no complete response came: a refresh token works once, and a later attempt would count as reuse. */
  async refresh(clientId: string, refreshToken: string): Promise<TokenResponse> {
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId }
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.token(form)
      } catch (error) {
        const isTemporary = error instanceof ApiError && (error.status === 0 || error.status >= 500)
        if (!isTemporary || attempt === refreshAttempts) throw error
        await pause(refreshPauseMs)
      }
    }
  }

  /** RFC 7009. */
  async revoke(clientId: string, token: string): Promise<void> {
    const { revocation_endpoint } = await this.metadata()
    if (revocation_endpoint) await this.#send(revocation_endpoint, { token, client_id: clientId })
  }

  async #discover(): Promise<Metadata> {
    const { origin, pathname } = new URL(this.#issuer)
    const path = pathname === '/' ? '' : pathname
    const metadata = (await this.#send(`${origin}/.well-known/oauth-authorization-server${path}`)) as Metadata
    if (metadata?.issuer !== this.#issuer)
      throw wrongIssuer(
        `The service’s issuer is ${metadata?.issuer}: use that as \`baseUrl\` instead of ${this.#issuer}.`,
      )
    const { authorization_endpoint, token_endpoint, revocation_endpoint = token_endpoint } = metadata
    for (const endpoint of [authorization_endpoint, token_endpoint, revocation_endpoint])
      if (!URL.canParse(endpoint) || new URL(endpoint).origin !== origin)
        throw wrongIssuer(`The service names the endpoint ${endpoint}, which is not at ${origin}.`)
    return metadata
  }

  async #send(url: string, form?: Readonly<Record<string, string>>): Promise<unknown> {
    const post = form && { method: 'POST', body: new URLSearchParams(form) }
    const headers = { accept: 'application/json' }
    let response: Response
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const init: RequestInit = { headers, credentials: 'omit', redirect: 'manual', signal }
      // No other server may receive the code or the tokens.
      response = unredirected(await this.#fetch(url, { ...post, ...init }))
    } catch (error) {
      if (error instanceof ApiError) throw error
      throw unreachable(this.#issuer, error)
    }
    const { text, body } = await readBody(response)
    if (!response.ok) throw oauthError(body as OauthErrorBody | undefined, response.status)
    // The response to a revocation has no body.
    if (text !== '' && body === undefined) throw unexpected(response)
    return body
  }
}

function wrongIssuer(message: string): ApiError {
  return new ApiError({ status: 0, code: 'WRONG_ISSUER', message })
}

interface OauthErrorBody {
  readonly error?: unknown
  readonly error_description?: string
}

/** RFC 6749, 4.1.2.1 and 5.2: `invalid_grant` is the code `INVALID_GRANT`. */
export function oauthError(body: OauthErrorBody | undefined, status = 0): ApiError {
  const { error, error_description } = body ?? {}
  const code = typeof error === 'string' ? error.toUpperCase() : `HTTP_${status}`
  return new ApiError({ status, code, message: error_description ?? `Sign-in failed: ${code}.` })
}
