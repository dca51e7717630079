/** The settings of OAuth: `oauth.scopeSeparator` can also be `scopeSeparator` in an object `oauth`. */
import { refuseCopyingMistakes, urlWithHost } from './copying-mistakes.ts'
import { choice, type Kind } from './kinds.ts'
import { member, membersSetting } from './members.ts'
import { optional, setting } from './setting.ts'
import { duration } from './units.ts'

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
  'oauth.lifetimes': membersSetting({
    variable: 'PORTICO_OAUTH_LIFETIMES',
    description: 'How long tokens and sessions last.',
    members: {
      accessToken: member({
        kind: duration({ from: '60 s', to: '1 d', example: '1 h' }),
        default: '1 h',
        description: 'An access token.',
      }),
      refreshToken: member({
        kind: duration({ from: '60 s', to: '365 d', example: '30 d' }),
        default: '30 d',
        description: 'A refresh token. Each use returns a new one.',
      }),
      idToken: member({
        kind: duration({ from: '60 s', to: '1 d', example: '1 h' }),
        default: '1 h',
        description: 'An ID token.',
      }),
      session: member({
        kind: duration({ from: '300 s', to: '365 d', example: '14 d' }),
        default: '14 d',
        description: 'A browser stays signed in for as long after it was last used to authorize an app.',
      }),
    },
  }),
  'oauth.refreshReplay': setting({
    variable: 'PORTICO_OAUTH_REFRESH_REPLAY',
    kind: duration({ from: '0 s', to: '60 s', example: '10 s' }),
    default: '0 s',
    description:
      'How long a repeated refresh by the same app gets the same answer, from any node. With `0 s`, using a refresh token twice ends the grant, even if two browser tabs used it at once.',
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
