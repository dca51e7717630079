/** In-memory sign-in providers: five OpenID Connect issuers, and GitHub’s OAuth. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, hash, type KeyObject, randomUUID } from 'node:crypto'
import { decodeProtectedHeader, exportJWK, type JWTPayload, jwtVerify, SignJWT, UnsecuredJWT } from 'jose'
import { OutgoingError } from '../../../../src/delivery/outgoing/errors.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../../../src/delivery/outgoing/outgoing.ts'
import type { SendRequest } from '../../../../src/identity/accounts/providers/provider-fetch.ts'
import type { GivenProvider } from '../../../../src/server/config/providers.ts'

type Claims = Readonly<Record<string, unknown>>

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
/** Keys that do not belong to the provider. */
const foreignKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
const appleKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

export const consumerTenant = '9188040d-6c67-4c5b-b112-36a304b66dad'
export const tenant = '11111111-2222-3333-4444-555555555555'

/** How a provider’s responses differ from correct ones. */
export interface ResponseChanges {
  /** Parameters of the callback. */
  readonly parameters?: Readonly<Record<string, string | undefined>>
  /** Claims of the ID token, which override `claims`. */
  readonly token?: Claims
  readonly signature?: 'none' | 'hs256' | 'foreign'
  /** The whole response of the token endpoint. */
  readonly answer?: Partial<ProviderResponse>
  /** Members of the token response other than the token. */
  readonly grant?: Readonly<Record<string, string>>
  readonly userinfo?: Partial<ProviderResponse>
  /** GitHub’s `/user/emails`. */
  readonly emails?: unknown
}

export interface ProviderResponse {
  readonly status: number
  readonly type: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

interface Authorization {
  readonly provider: string
  readonly request: URLSearchParams
  readonly claims: Claims
  readonly tweaks: ResponseChanges
}

const issuers: Readonly<Record<string, string>> = {
  google: 'https://accounts.google.com',
  apple: 'https://appleid.apple.com',
  microsoft: 'https://login.microsoftonline.com/{tenantid}/v2.0',
  corp: 'https://corp.example.com',
  other: 'https://other.example.com',
  // Its metadata names another issuer.
  liar: 'https://corp.example.com',
}

const discovery: Readonly<Record<string, string>> = {
  'https://accounts.google.com/.well-known/openid-configuration': 'google',
  'https://appleid.apple.com/.well-known/openid-configuration': 'apple',
  'https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration': 'microsoft',
  'https://corp.example.com/.well-known/openid-configuration': 'corp',
  'https://other.example.com/.well-known/openid-configuration': 'other',
  'https://liar.example.com/.well-known/openid-configuration': 'liar',
}

export const providers: readonly GivenProvider[] = [
  { kind: 'google', clientId: 'client-google', clientSecret: 'secret-google' },
  { kind: 'github', clientId: 'client-github', clientSecret: 'secret-github' },
  { kind: 'microsoft', clientId: 'client-microsoft', clientSecret: 'secret-microsoft' },
  {
    kind: 'apple',
    clientId: 'client-apple',
    teamId: 'TEAM',
    keyId: 'KEY',
    privateKey: appleKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  },
  ...(['corp', 'other', 'liar'] as const).map(id => ({
    kind: 'oidc' as const,
    id,
    name: { corp: 'Corp SSO', other: 'Other', liar: 'Liar' }[id],
    issuer: `https://${id}.example.com`,
    clientId: `client-${id}`,
    clientSecret: `secret-${id}`,
  })),
]

function json(value: unknown, status = 200): ProviderResponse {
  return { status, type: 'application/json', body: JSON.stringify(value), headers: {} }
}

/** The providers of one test file: `send` is the `sendToProviders` of a service. */
export class Providers {
  readonly #codes = new Map<string, Authorization>()
  readonly #tokens = new Map<string, Authorization>()
  /** The requests that were sent, e.g. `GET https://api.github.com/user`. */
  readonly requests: string[] = []
  /** The hosts that do not respond. */
  readonly unreachableHosts = new Set<string>()

  readonly send: SendRequest = async request => {
    this.requests.push(`${request.method ?? 'GET'} ${request.url}`)
    if (this.unreachableHosts.has(new URL(request.url).hostname))
      throw new OutgoingError('timed_out', 'It is late.')
    const { status, type, body, headers } = await this.#answer(request)
    const bytes = Buffer.from(body)
    if (bytes.length > request.maxBodyBytes) throw new OutgoingError('body_too_large', 'It is too large.')
    const answer: OutgoingResponse = { status, headers: { 'content-type': type, ...headers }, body: bytes }
    return answer
  }

  /** Signs a user in at the provider, to which the service sent the browser at `authorizationUrl`; returns the callback URL. */
  authorize(authorizationUrl: URL, claims: Claims, tweaks: ResponseChanges = {}): URL {
    const provider = authorizationUrl.searchParams.get('client_id')?.replace('client-', '') ?? ''
    assert.equal(authorizationUrl.searchParams.get('code_challenge_method'), 'S256')
    const code = randomUUID()
    this.#codes.set(code, { provider, request: authorizationUrl.searchParams, claims, tweaks })
    const callback = new URL(authorizationUrl.searchParams.get('redirect_uri') ?? '')
    const iss = provider === 'corp' ? issuers.corp : undefined
    const parameters = {
      code,
      state: authorizationUrl.searchParams.get('state') ?? '',
      iss,
      ...tweaks.parameters,
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) callback.searchParams.set(name, value)
    return callback
  }

  async #answer(request: OutgoingRequest): Promise<ProviderResponse> {
    const { url } = request
    const found = discovery[url]
    if (found !== undefined) return json(metadataOf(found))
    const { hostname, pathname } = new URL(url)
    if (pathname.endsWith('/jwks'))
      return json({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }] })
    if (pathname.endsWith('/token') || pathname.endsWith('/access_token')) return this.#token(request)
    const issued = this.#tokens.get(/^Bearer (.*)$/i.exec(authorizationOf(request))?.[1] ?? '')
    if (!issued) return json({ message: 'Bad credentials' }, 401)
    const { claims, tweaks } = issued
    if (hostname === 'api.github.com') {
      assert.equal(request.headers?.['User-Agent'], 'Portico')
      return pathname === '/user/emails' ? json(tweaks.emails ?? []) : { ...json(claims), ...tweaks.userinfo }
    }
    return { ...json(claims), ...tweaks.userinfo }
  }

  async #token({ body, headers }: OutgoingRequest): Promise<ProviderResponse> {
    const form = new URLSearchParams(body)
    const issued = this.#codes.get(form.get('code') ?? '')
    const { provider = '', request, claims = {}, tweaks = {} } = issued ?? {}
    this.#codes.delete(form.get('code') ?? '')
    if (!issued || !request) return refusal(form, 'bad_verification_code')
    if (tweaks.answer) return { ...json({}), ...tweaks.answer }
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url')
    if (challenge !== request.get('code_challenge')) return refusal(form, 'invalid_grant')
    assert.equal(form.get('redirect_uri'), request.get('redirect_uri'))
    await requireSecret(provider, form, headers?.authorization ?? headers?.Authorization ?? '')
    const access_token = randomUUID()
    this.#tokens.set(access_token, issued)
    const answer = { access_token, token_type: 'bearer', scope: 'read:user,user:email', ...tweaks.grant }
    if (provider !== 'github') {
      return json({ ...answer, id_token: await idToken(provider, request, claims, tweaks) })
    }
    const type = 'application/x-www-form-urlencoded; charset=utf-8'
    return { ...json({}), type, body: new URLSearchParams(answer).toString() }
  }
}

function authorizationOf({ headers }: OutgoingRequest): string {
  return headers?.authorization ?? headers?.Authorization ?? ''
}

/** GitHub’s errors have status 200. */
function refusal(form: URLSearchParams, error: string): ProviderResponse {
  return json({ error, error_description: 'No.' }, form.get('client_id') === 'client-github' ? 200 : 400)
}

async function requireSecret(provider: string, form: URLSearchParams, authorization: string): Promise<void> {
  if (provider === 'apple') {
    const secret = form.get('client_secret') ?? ''
    assert.deepEqual(decodeProtectedHeader(secret), { alg: 'ES256', kid: 'KEY' })
    const audience = 'https://appleid.apple.com'
    await jwtVerify(secret, appleKeys.publicKey, { issuer: 'TEAM', subject: 'client-apple', audience })
    return
  }
  const basic = Buffer.from(authorization.replace(/^Basic /i, ''), 'base64').toString()
  const sent = form.get('client_secret') ?? decodeURIComponent(basic.split(':')[1] ?? '')
  assert.equal(sent, `secret-${provider}`)
}

function metadataOf(provider: string): Claims {
  const issuer = issuers[provider] ?? ''
  const base = issuer.replace('{tenantid}', 'common')
  return {
    issuer,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    jwks_uri: `${base}/jwks`,
    userinfo_endpoint: `${base}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    // `other` announces algorithms that the service must not accept.
    id_token_signing_alg_values_supported: provider === 'other' ? ['RS256', 'HS256', 'none'] : ['RS256'],
    ...(provider === 'corp' && { authorization_response_iss_parameter_supported: true }),
  }
}

async function idToken(
  provider: string,
  request: URLSearchParams,
  claims: Claims,
  { token, signature }: ResponseChanges,
): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1000)
  const payload: Record<string, unknown> = {
    iss: issuers[provider]?.replace('{tenantid}', String(claims.tid)),
    aud: `client-${provider}`,
    nonce: request.get('nonce') ?? undefined,
    iat: issuedAt,
    exp: issuedAt + 300,
    ...claims,
    ...token,
  } as JWTPayload
  if (signature === 'none') return new UnsecuredJWT(payload).encode()
  if (signature === 'hs256') {
    const secret = keys.publicKey.export({ type: 'spki', format: 'pem' }) as string
    return new SignJWT(payload).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret))
  }
  const key: KeyObject = signature === 'foreign' ? foreignKeys.privateKey : keys.privateKey
  return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(key)
}
