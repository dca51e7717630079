/**
 * Our records as oidc-provider's storage (its `adapter` option). Ids that are secrets are stored as hashes. A record that
 * is found by another key gets the mark and the hash as its id, so that the hash is never mistaken for the secret.
 */
import type { Payload } from 'oidc-provider'
import type { Awaitable } from '../../../base/awaitable.ts'
import { ApiError } from '../../../base/errors.ts'
import { scopeSet } from '../../../base/principal.ts'
import type { NewRecord, Records, StoredRecord } from '../../../base/records.ts'
import { isRegisteredRedirectUri } from '../clients/client-metadata.ts'
import { allowedScope, withCovered } from '../consent/scopes.ts'
import { secretHash } from '../secret.ts'
import { isEnded, isEndedWithAccount, noteEnd } from '../sessions/session-ends.ts'
import { codeToStore, requireRedirectUri } from '../tokens/authorization-codes.ts'
import { authTimeOfRequest } from '../tokens/sign-in-time.ts'
import { writeWithResponse } from './deferred-writes.ts'
import type { BrowserInfo } from './request-state.ts'

/** Kinds whose ids never leave the service, and are stored as they are. */
const plainIds = new Set(['Grant'])

/** Kinds that a token request issues. No client has one before the response. */
const issuedKinds = new Set(['AccessToken', 'RefreshToken', 'ClientCredentials'])

/** Kinds that are issued in a browser session. */
const sessionKinds = new Set(['AuthorizationCode', 'DeviceCode'])

const accessTokenKinds = new Set(['AccessToken', 'ClientCredentials'])

/**
 * How long records are kept after they expire. Codes and tokens: so that the error can say that they have expired; readers
 * of these kinds must check `exp`. Used proofs: because oidc-provider counts five minutes from the use, and the `iat` of a
 * proof may be as far ahead (RFC 9449, 11.1).
 */
const retentionAfterExpiryMs: Readonly<Record<string, number>> = {
  AuthorizationCode: 10 * 60_000,
  DeviceCode: 10 * 60_000,
  RefreshToken: 24 * 60 * 60_000,
  ReplayDetection: 5 * 60_000,
}

/** Precedes an id that is already a hash. No other id begins with it. */
const hashMark = '#'

export interface AdapterParts {
  readonly records: Records
  /** Metadata of an app, for kind `Client`. */
  readonly findClient: (clientId: string) => Awaitable<Payload | undefined>
  /** The scopes of the model. */
  readonly scopes: ReadonlySet<string>
  /** The record id of an access token that is a JWT; undefined for any other text. */
  readonly jwtRecordId: (token: string) => string | undefined
  /** The browser of the current request, to be stored with its session. */
  readonly browser: () => BrowserInfo
  /** Records that an app got an access token for a user, at most once an hour. Never rejects. */
  readonly noteUse: (userId: string, clientId: string) => Promise<void>
  /** Whether the ids of the current request come from a client: marked ids are then refused. */
  readonly isExposed: () => boolean
  /** Whether the current request signs out. Otherwise oidc-provider destroys a session only to give it another id. */
  readonly isSignOut: () => boolean
  /** The error for a code, token or pushed request that was consumed before. */
  readonly consumedError: (kind: string) => Error
  /** The error for a proof that was used before. */
  readonly replayedError: () => Error
  /** The error for a registration access token that another request has replaced. */
  readonly unknownTokenError: () => Error
}

/** The id under which a record is stored. */
export function storedId(kind: string, id: string): string {
  if (plainIds.has(kind)) return id
  return id.startsWith(hashMark) ? id.slice(hashMark.length) : secretHash(id)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The storage of one kind of oidc-provider’s models. */
export class Adapter {
  readonly #kind: string
  readonly #parts: AdapterParts

  constructor(kind: string, parts: AdapterParts) {
    this.#kind = kind
    this.#parts = parts
  }

  async upsert(id: string, payload: Payload, expiresIn: number | undefined): Promise<void> {
    if (this.#kind === 'Client') return this.#putClient(id, payload)
    const { records, replayedError } = this.#parts
    const record = this.#recordOf(id, payload, expiresIn)
    if (issuedKinds.has(this.#kind)) return this.#putIssued(record, payload.clientId)
    if (this.#kind === 'Session') return this.#putOfSession(record, payload.uid, payload.loginTs)
    if (sessionKinds.has(this.#kind)) {
      return this.#putOfSession(record, payload.sessionUid, payload.authTime)
    }
    if (this.#kind !== 'ReplayDetection') return records.put(record)
    // oidc-provider checks before it stores: of parallel uses, exactly one must succeed here.
    if (!(await records.add(record))) throw replayedError()
  }

  async #putIssued(record: NewRecord, clientId: unknown): Promise<void> {
    const { records, noteUse } = this.#parts
    const { kind, owner } = record
    await writeWithResponse(() => records.put(record))
    if (kind === 'AccessToken' && owner !== undefined && typeof clientId === 'string')
      await writeWithResponse(() => noteUse(owner, clientId))
  }

  /** Stores a session, or a code issued in it, unless the session has ended meanwhile. */
  async #putOfSession(record: NewRecord, uid: unknown, signedInAt: unknown): Promise<void> {
    const { records } = this.#parts
    try {
      await records.put(record)
    } catch (error) {
      // Another request of this browser has already stored the session under a new cookie.
      if (this.#kind !== 'Session' || !(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
      return
    }
    if (typeof uid === 'string' && (await this.#isOver(uid, record.owner, signedInAt))) {
      await records.delete(record.kind, record.id)
    }
  }

  async #isOver(uid: string, owner: string | undefined, signedInAt: unknown): Promise<boolean> {
    const { records } = this.#parts
    if (await isEnded(records, uid)) return true
    if (owner === undefined || typeof signedInAt !== 'number') return false
    return isEndedWithAccount(records, owner, uid, signedInAt)
  }

  async find(id: string): Promise<Payload | undefined> {
    if (this.#kind === 'Client') return this.#findClient(id)
    if (this.#kind === 'Interaction') return this.#findInteraction(id)
    const jwtId = accessTokenKinds.has(this.#kind) ? this.#parts.jwtRecordId(id) : undefined
    if (jwtId !== undefined) return this.#find(jwtId, hashMark + jwtId)
    if (id.startsWith(hashMark) && (this.#kind !== 'DeviceCode' || this.#parts.isExposed())) return undefined
    return this.#find(storedId(this.#kind, id), id)
  }

  async #find(recordId: string, id: string): Promise<Payload | undefined> {
    const record = await this.#parts.records.get(this.#kind, recordId)
    return record && this.#withCurrentScope(payloadOf(record, id))
  }

  /** Undefined if its app has lost the redirect URI: neither a code nor an error may be sent there any more. */
  async #findInteraction(id: string): Promise<Payload | undefined> {
    const payload = await this.#find(storedId(this.#kind, id), id)
    const { client_id: clientId, redirect_uri: uri } = partOf(payload?.params)
    // Those of devices have none.
    if (typeof uri !== 'string') return payload
    const { redirect_uris: redirectUris } = (await this.#clientMetadata(String(clientId))) ?? {}
    const hasLost = Array.isArray(redirectUris) && !isRegisteredRedirectUri({ redirectUris }, uri)
    return hasLost ? undefined : payload
  }

  /** The payload without the scopes that its app has lost since it was stored. */
  async #withCurrentScope(payload: Payload): Promise<Payload> {
    if (this.#kind === 'AuthorizationCode') requireRedirectUri(payload)
    const scope = textOf(payload.scope)
    if (scope === undefined || !accessTokenKinds.has(this.#kind)) return payload
    return { ...payload, scope: allowedScope(scope, await this.#findClient(String(payload.clientId))) }
  }

  async findByUid(uid: string): Promise<Payload | undefined> {
    return this.#byAlias(uid)
  }

  async findByUserCode(userCode: string): Promise<Payload | undefined> {
    return this.#byAlias(userCode)
  }

  consume(id: string): Promise<void> {
    return writeWithResponse(() => this.#consume(id))
  }

  /** Exactly one of several parallel uses succeeds; every other use revokes the tokens of the first (RFC 9700, 4.14.2). */
  async #consume(id: string): Promise<void> {
    const { records, consumedError } = this.#parts
    const stored = storedId(this.#kind, id)
    if (await records.consume(this.#kind, stored)) return
    const grant = (await records.get(this.#kind, stored))?.grant
    if (grant) {
      // The grant too: the tokens of the first use may not be stored yet, and are invalid without their grant.
      await records.delete('Grant', grant)
      await records.deleteGrant(grant)
    }
    throw consumedError(this.#kind)
  }

  async destroy(id: string): Promise<void> {
    const { records, isSignOut, unknownTokenError } = this.#parts
    const stored = this.#kind === 'Client' ? id : storedId(this.#kind, id)
    if (this.#kind === 'Session' && isSignOut()) {
      const session = await records.get(this.#kind, stored)
      if (session?.alias) await noteEnd(records, session.alias, session.owner ?? undefined)
    }
    const wasDeleted = await records.delete(this.#kind, stored)
    // RFC 7592: each change replaces the token, so only one of several parallel changes may succeed.
    if (this.#kind === 'RegistrationAccessToken' && !wasDeleted) throw unknownTokenError()
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#parts.records.deleteGrant(grantId)
  }

  async #byAlias(alias: string): Promise<Payload | undefined> {
    const record = await this.#parts.records.byAlias(this.#kind, alias)
    return record && payloadOf(record, plainIds.has(this.#kind) ? record.id : hashMark + record.id)
  }

  #recordOf(id: string, payload: Payload, expiresIn: number | undefined): NewRecord {
    const { jti: _secret, consumed: _column, ...rest } = payload
    const stored: Payload = this.#kind === 'AuthorizationCode' ? codeToStore(rest) : rest
    if (this.#kind === 'AccessToken') stored.authTime = authTimeOfRequest()
    if (this.#kind === 'Session') this.#noteBrowser(stored)
    if (this.#kind === 'Interaction') removeCookie(stored)
    const exp = typeof payload.exp === 'number' ? payload.exp * 1000 : undefined
    const end = exp ?? (expiresIn === undefined ? null : Date.now() + expiresIn * 1000)
    return {
      kind: this.#kind,
      id: storedId(this.#kind, id),
      payload: JSON.stringify(stored),
      expiresAt: end === null ? null : end + (retentionAfterExpiryMs[this.#kind] ?? 0),
      grant: textOf(payload.grantId),
      alias: this.#aliasOf(payload),
      owner: ownerOf(payload),
    }
  }

  #noteBrowser(session: Payload): void {
    session.browser = { ...this.#parts.browser(), storedAt: Date.now() }
  }

  #aliasOf(payload: Payload): string | undefined {
    if (this.#kind === 'Session') return textOf(payload.uid)
    return this.#kind === 'DeviceCode' ? textOf(payload.userCode) : undefined
  }

  /** Without scopes that the model no longer has: with one, oidc-provider would refuse the whole client. */
  async #findClient(id: string): Promise<Payload | undefined> {
    const metadata = await this.#clientMetadata(id)
    const scope = textOf(metadata?.scope)
    if (scope === undefined) return metadata
    const knownScopes = [...withCovered(scopeSet(scope))].filter(name => this.#parts.scopes.has(name))
    return { ...metadata, scope: knownScopes.length === 0 ? scope : knownScopes.join(' ') }
  }

  async #clientMetadata(id: string): Promise<Payload | undefined> {
    const app = await this.#parts.findClient(id)
    if (app) return app
    const registered = await this.#parts.records.get('Client', id)
    return registered && (JSON.parse(registered.payload) as Payload)
  }

  /** A dynamic registration (RFC 7591). Only the hash of its secret is stored. */
  async #putClient(id: string, metadata: Payload): Promise<void> {
    const secret = textOf(metadata.client_secret)
    const storedHash = (await this.#findClient(id))?.client_secret
    // An update carries the stored hash, not the secret.
    const hash = secret === undefined || secret === storedHash ? secret : secretHash(secret)
    const hashes = hash && { client_secret: hash, secret_hashes: [{ hash }] }
    const payload = JSON.stringify({ ...metadata, ...hashes })
    await this.#parts.records.put({ kind: 'Client', id, payload, expiresAt: null })
  }
}

function payloadOf(record: StoredRecord, id: string): Payload {
  const { browser: _browser, ...payload } = JSON.parse(record.payload) as Payload
  payload.jti = id
  if (record.consumedAt !== null) payload.consumed = Math.floor(record.consumedAt / 1000)
  return payload
}

function partOf(value: unknown): Payload {
  return typeof value === 'object' && value !== null ? (value as Payload) : {}
}

/** The user of a record; of an interaction, the user who has signed in during it, or else before it. */
function ownerOf({ accountId, result, session }: Payload): string | undefined {
  return (
    textOf(accountId) ?? textOf(partOf(partOf(result).login).accountId) ?? textOf(partOf(session).accountId)
  )
}

/** oidc-provider copies the session's cookie into interactions, but never reads it there. */
function removeCookie(payload: Payload): void {
  if (payload.session === undefined) return
  const { cookie: _secret, ...session } = partOf(payload.session)
  payload.session = session
}
