/**
 * Exchange (RFC 6749, 4.1.3) and refresh (6) where nothing is out of the ordinary and nothing is wrong. What is issued
 * is stored and answered as the library would.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Reply } from '../../call.ts'
import { hasScope } from '../../principal.ts'
import type { Records } from '../../records.ts'
import type { Adapter } from './adapter.ts'
import type { AppRow } from './apps.ts'
import { grantHash } from './denials.ts'
import { type OnGrantRefusal, reasonOf } from './grant-refusals.ts'
import type { TokenSigner } from './jwt.ts'
import { type Form, opaque, type QuickEndpoint, type QuickRequest, quickHeaders } from './quick.ts'
import { allowedScope, scopeSet, withCovered } from './scopes.ts'
import { secretHash } from './secret.ts'
import type { HasAccount } from './server.ts'
import type { OauthSettings } from './settings.ts'
import { isRefusal } from './together.ts'

export interface QuickGrantParts {
  readonly issuer: string
  readonly settings: OauthSettings
  readonly records: Records
  readonly hasAccount: HasAccount
  /** As the library stores. */
  readonly adapter: (kind: string) => Adapter
  readonly onGrantRefusal: OnGrantRefusal
}

/** What is stored of a code, a refresh token or a grant. */
interface Stored {
  readonly clientId: string
  readonly accountId: string
  readonly grantId: string
  readonly scope: string
  readonly sessionUid: string
  /** Seconds since 1970. */
  readonly exp: number
  readonly gty?: string
  readonly rotations?: number
  readonly iiat?: number
  readonly redirectUri?: string
  readonly codeChallenge?: string
  readonly codeChallengeMethod?: string
  readonly openid?: { readonly scope?: string; readonly claims?: unknown }
  readonly [more: string]: unknown
}

type Kind = 'AuthorizationCode' | 'RefreshToken'

/** A code or refresh token that is to be used up. */
interface Source {
  readonly kind: Kind
  readonly value: string
  readonly stored: Stored
  readonly scope: string
}

const parameters: Readonly<Record<Kind, ReadonlySet<string>>> = {
  AuthorizationCode: new Set(['code', 'redirect_uri', 'code_verifier']),
  RefreshToken: new Set(['refresh_token']),
}
const shared = ['grant_type', 'client_id', 'client_secret']

/** With anything else stored, the library has more to do. */
const members: Readonly<Record<Kind | 'Grant', ReadonlySet<string>>> = {
  AuthorizationCode: new Set(
    'iat exp accountId amr authTime grantId redirectUri scope sessionUid kind clientId codeChallenge codeChallengeMethod'.split(
      ' ',
    ),
  ),
  RefreshToken: new Set(
    'iat exp accountId amr authTime iiat grantId gty rotations scope sessionUid kind clientId'.split(' '),
  ),
  Grant: new Set('iat exp accountId clientId kind openid'.split(' ')),
}

/** RFC 7636, 4.1 */
const verifier = /^[A-Za-z0-9._~-]{43,128}$/

function kindOf({ grant_type: type, code, client_id: id, client_secret: secret }: Form): Kind | undefined {
  if (type === 'refresh_token') return 'RefreshToken'
  // The short dialect, which names the secret in the form.
  const isShort = type === undefined && code !== undefined && id !== undefined && secret !== undefined
  return type === 'authorization_code' || isShort ? 'AuthorizationCode' : undefined
}

/** RFC 7636, 4.6, and RFC 6749, 4.1.3: the same redirect URI. */
function isProven({ redirect_uri: uri, code_verifier: shown }: Form, code: Stored): boolean {
  const { redirectUri, codeChallenge: challenge, codeChallengeMethod: method } = code
  if (uri === undefined || uri !== redirectUri) return false
  if (challenge === undefined) return shown === undefined
  if (method !== 'S256' || shown === undefined || !verifier.test(shown)) return false
  return hash('sha256', shown, 'base64url') === challenge
}

export class QuickGrants implements QuickEndpoint {
  readonly ordinary = new Set([...shared, ...parameters.AuthorizationCode, ...parameters.RefreshToken])
  readonly #parts: QuickGrantParts

  constructor(parts: QuickGrantParts) {
    this.#parts = parts
  }

  async answer({ app, form }: QuickRequest, signer: TokenSigner): Promise<Reply | undefined> {
    const source = await this.#sourceOf(app, form)
    return source && this.#issue(app, source, signer)
  }

  async #sourceOf(app: AppRow, form: Form): Promise<Source | undefined> {
    const kind = kindOf(form)
    if (kind === undefined) return undefined
    // Answers that are given again are kept by the library's middleware.
    if (kind === 'RefreshToken' && this.#parts.settings.refreshReplay > 0) return undefined
    const isOwn = (name: string) => shared.includes(name) || parameters[kind].has(name)
    if (!Object.keys(form).every(isOwn)) return undefined
    const value = (kind === 'RefreshToken' ? form.refresh_token : form.code) ?? ''
    const stored = opaque.test(value) ? await this.#find(kind, secretHash(value)) : undefined
    if (stored?.clientId !== app.client_id) return undefined
    if (kind === 'AuthorizationCode' && (app.redirect_uris.length === 0 || !isProven(form, stored))) {
      return undefined
    }
    if (kind === 'RefreshToken' && stored.gty === undefined) return undefined
    const scope = await this.#scopeOf(app, stored)
    return scope === undefined ? undefined : { kind, value, stored, scope }
  }

  /** Undefined when it is used up, or has something that is out of the ordinary. */
  async #find(kind: Kind | 'Grant', id: string): Promise<Stored | undefined> {
    const found = await this.#parts.records.get(kind, id)
    if (!found || found.consumedAt !== null) return undefined
    const stored = JSON.parse(found.payload) as Stored
    if (stored.exp * 1000 <= Date.now()) return undefined
    return Object.keys(stored).every(name => members[kind].has(name)) ? stored : undefined
  }

  /** What the access token gets; undefined where its user, its grant or all of it is gone, or an ID token is due. */
  async #scopeOf(app: AppRow, { clientId, accountId, grantId, scope }: Stored): Promise<string | undefined> {
    const grant = await this.#find('Grant', grantId)
    if (grant?.clientId !== clientId || grant.accountId !== accountId) return undefined
    if (grant.openid?.scope === undefined || grant.openid.claims !== undefined) return undefined
    if (!(await this.#parts.hasAccount(Number(accountId)))) return undefined
    const asked = scopeSet(scope)
    if (asked.has('openid')) return undefined
    const granted = scopeSet(grant.openid.scope)
    const kept = [...asked].filter(one => hasScope(granted, one)).join(' ')
    const client = app.scopes === null ? undefined : { scope: [...withCovered(app.scopes)].join(' ') }
    return allowedScope(kept, client) || undefined
  }

  async #issue(app: AppRow, { kind, value, stored, scope }: Source, signer: TokenSigner): Promise<Reply> {
    const { adapter, settings } = this.#parts
    const iat = Math.floor(Date.now() / 1000)
    const gty = gtyOf(kind, stored)
    const { accountId, grantId, sessionUid, clientId } = stored
    const exp = iat + settings.accessTokenLife
    const access = randomBytes(32).toString('base64url')
    const token = { iat, exp, accountId, grantId, gty, sessionUid, kind: 'AccessToken', clientId, scope }
    const writes = [
      adapter(kind).consume(value),
      adapter('AccessToken').upsert(access, token, settings.accessTokenLife),
    ]
    const refresh = scopeSet(stored.scope).has('offline_access')
      ? randomBytes(32).toString('base64url')
      : undefined
    if (refresh !== undefined) {
      const next = this.#refreshToken(kind, stored, iat, gty)
      writes.push(adapter('RefreshToken').upsert(refresh, next, settings.refreshTokenLife))
    }
    // Asked for in one turn, they share a commit.
    const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') return this.#refused(failed.reason, clientId)
    const isJwt = (app.access_token_format ?? settings.accessTokenFormat) === 'jwt'
    return granted({
      access_token: isJwt ? this.#jwt(access, token, signer) : access,
      expires_in: settings.accessTokenLife,
      refresh_token: refresh,
      scope: scope.replaceAll(' ', app.scope_separator ?? settings.scopeSeparator),
      token_type: 'bearer',
    })
  }

  /** Somebody else was faster. */
  #refused(error: unknown, clientId: string): Reply {
    if (!isRefusal(error)) throw error
    const reason = reasonOf(error)
    this.#parts.onGrantRefusal({ clientId, reason })
    const body = JSON.stringify({ error: error.error, error_description: reason })
    return { status: error.statusCode, headers: quickHeaders, body }
  }

  #refreshToken(kind: Kind, stored: Stored, iat: number, gty: string): Record<string, unknown> {
    const { accountId, amr, authTime, grantId, scope, sessionUid, clientId } = stored
    return {
      iat,
      exp: iat + this.#parts.settings.refreshTokenLife,
      accountId,
      amr,
      authTime,
      iiat: kind === 'RefreshToken' ? stored.iiat : iat,
      grantId,
      gty,
      rotations: kind === 'RefreshToken' ? (stored.rotations ?? 0) + 1 : 0,
      scope,
      sessionUid,
      kind: 'RefreshToken',
      clientId,
    }
  }

  #jwt(value: string, token: IssuedToken, signer: TokenSigner): string {
    const { issuer } = this.#parts
    const { accountId, clientId, iat, exp, scope, grantId } = token
    return signer.sign({
      iss: issuer,
      aud: issuer,
      sub: accountId,
      client_id: clientId,
      iat,
      exp,
      jti: secretHash(value),
      scope,
      grant_id: grantHash(grantId),
    })
  }
}

type IssuedToken = Pick<Stored, 'accountId' | 'clientId' | 'grantId' | 'scope'> & { iat: number; exp: number }

function gtyOf(kind: Kind, { gty = '' }: Stored): string {
  if (kind === 'AuthorizationCode') return 'authorization_code'
  return gty.endsWith('refresh_token') ? gty : `${gty} refresh_token`
}

function granted(body: object): Reply {
  return { status: 200, headers: quickHeaders, body: JSON.stringify(body) }
}
