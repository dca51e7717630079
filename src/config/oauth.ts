/** The settings of OAuth: `oauth.scopeSeparator` can also be `scopeSeparator` in an object `oauth`. */
import { refuseCopyingMistakes, urlWithHost } from './copying-mistakes.ts'
import { choice, integer, type Kind, type RateLimit, rateLimit } from './kinds.ts'
import { optional, setting } from './setting.ts'

const yearSeconds = 31_536_000

const separators: Readonly<Record<string, ',' | ' '>> = { ',': ',', ' ': ' ', comma: ',', space: ' ' }

function separatorOf(value: unknown): ',' | ' ' | undefined {
  return typeof value === 'string' && Object.hasOwn(separators, value) ? separators[value] : undefined
}

const separator: Kind<',' | ' '> = {
  expected: '`,` or a space, or one of the words `comma` and `space`',
  fromText: separatorOf,
  fromValue: separatorOf,
}

/** An issuer whose JWTs are accepted as credentials. */
export interface TrustedIssuer {
  /** The `iss` claim, exactly. */
  readonly issuer: string
  /** The https URL of its keys (JWKS). */
  readonly jwksUri: string
  /** The `aud` claim, which must name this service. */
  readonly audience: string
  /** Which claim names the user: a verified e-mail address, or the user's id here. */
  readonly user: 'email' | 'sub'
}

function isHttps(value: unknown): value is string {
  return typeof value === 'string' && urlWithHost(value, ['https:']) !== undefined
}

function issuerOf(value: unknown): TrustedIssuer | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { issuer, jwksUri, audience, user = 'email', ...rest } = value as Record<string, unknown>
  if (Object.keys(rest).length > 0 || !isHttps(issuer) || !isHttps(jwksUri)) return undefined
  if (typeof audience === 'string') refuseCopyingMistakes(audience)
  if (typeof audience !== 'string' || audience === '' || (user !== 'email' && user !== 'sub'))
    return undefined
  return { issuer, jwksUri, audience, user }
}

function issuersOf(value: unknown): readonly TrustedIssuer[] | undefined {
  if (!Array.isArray(value)) return undefined
  const issuers = value.map(issuerOf)
  return issuers.every(issuer => issuer !== undefined) ? issuers : undefined
}

const trustedIssuers: Kind<readonly TrustedIssuer[]> = {
  expected:
    'a list of `{ "issuer": "https://…", "jwksUri": "https://…", "audience": "…", "user": "email" or "sub" }`',
  fromText: text => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return undefined
    }
    return issuersOf(value)
  },
  fromValue: issuersOf,
}

const longSecret: Kind<string> = {
  expected: 'at least 32 letters, digits or characters of `._~+/-`',
  fromText: value => (/^[A-Za-z0-9._~+/-]{32,200}$/.test(value) ? value : undefined),
  fromValue: value => (typeof value === 'string' ? longSecret.fromText(value) : undefined),
}

export const oauthSettings = {
  'oauth.accessTokenFormat': setting<'opaque' | 'jwt'>({
    variable: 'PORTICO_OAUTH_ACCESS_TOKEN_FORMAT',
    kind: choice('opaque', 'jwt'),
    default: 'opaque',
    description: 'The format of access tokens. An app can override it.',
  }),
  'oauth.scopeSeparator': setting<',' | ' '>({
    variable: 'PORTICO_OAUTH_SCOPE_SEPARATOR',
    kind: separator,
    default: ',',
    description:
      'The separator of scopes in token responses: a comma, or a space as in RFC 6749. An app can override it.',
  }),
  'oauth.accessTokenLife': setting({
    variable: 'PORTICO_OAUTH_ACCESS_TOKEN_LIFE',
    kind: integer(60, 86_400),
    default: 3600,
    description: 'The lifetime of an access token, in seconds.',
  }),
  'oauth.refreshTokenLife': setting({
    variable: 'PORTICO_OAUTH_REFRESH_TOKEN_LIFE',
    kind: integer(60, yearSeconds),
    default: 2_592_000,
    description: 'The lifetime of a refresh token, in seconds. Each use returns a new one.',
  }),
  'oauth.idTokenLife': setting({
    variable: 'PORTICO_OAUTH_ID_TOKEN_LIFE',
    kind: integer(60, 86_400),
    default: 3600,
    description: 'The lifetime of an ID token, in seconds.',
  }),
  'oauth.sessionLife': setting({
    variable: 'PORTICO_OAUTH_SESSION_LIFE',
    kind: integer(300, yearSeconds),
    default: 1_209_600,
    description: 'How long a browser stays signed in after it was last used to authorize an app, in seconds.',
  }),
  'oauth.refreshReplay': setting({
    variable: 'PORTICO_OAUTH_REFRESH_REPLAY',
    kind: integer(0, 60),
    default: 0,
    description:
      'How long a repeated refresh by the same app gets the same answer, from any node, in seconds. With 0, using a refresh token twice ends the grant, even if two browser tabs used it at once.',
  }),
  'oauth.secretOverlap': setting({
    variable: 'PORTICO_OAUTH_SECRET_OVERLAP',
    kind: integer(0, yearSeconds),
    default: 86_400,
    description: 'How long older secrets of an app remain valid after it got a new one, in seconds.',
  }),
  'oauth.tokenRateLimit': optional<RateLimit>({
    variable: 'PORTICO_OAUTH_TOKEN_RATE_LIMIT',
    kind: rateLimit,
    defaultText: '60, and `off` where `rateLimit` is off',
    description:
      'Refused requests per minute of each client address to the token, device, revocation, introspection, registration and pushed-request endpoints. Other requests count against the ordinary limit: the app’s if it sends its secret, else the address’s.',
  }),
  'oauth.registrationToken': optional({
    variable: 'PORTICO_OAUTH_REGISTRATION_TOKEN',
    kind: longSecret,
    secret: true,
    defaultText: 'none: apps cannot register themselves',
    description: 'The initial access token with which apps may register themselves (RFC 7591).',
  }),
  'oauth.trustedIssuers': setting<readonly TrustedIssuer[]>({
    variable: 'PORTICO_OAUTH_TRUSTED_ISSUERS',
    kind: trustedIssuers,
    default: [],
    defaultText: 'none',
    description:
      'External issuers whose JWTs are accepted as credentials: `issuer`, `jwksUri`, `audience`, and `user`, which says whether a verified `email` or the `sub` identifies the user. JSON in the variable.',
  }),
} as const
