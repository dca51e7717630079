/**
 * Records as oidc-provider stores them. Ids that are secrets are stored by their hash; whoever is found by
 * another key gets the hash as its id, marked so that it is never taken for the secret itself.
 */
import { ApiError } from '../../errors.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { NewRecord, Records, StoredRecord } from '../../records.ts'
import { isEnded, isEndedWithAccount, noteEnd } from './ended.ts'
import { scopeSet, withCovered } from './scopes.ts'
import { secretHash } from './secret.ts'
import { together } from './together.ts'

type Payload = Record<string, unknown>

/** Ids that are handed to nobody, so they need not be hidden. */
const openIds = new Set(['Grant'])

/** What a token request gives out: nobody has it before the answer. */
const issued = new Set(['AccessToken', 'RefreshToken', 'ClientCredentials'])

/** What a browser's session lets apps have. */
const ofSessions = new Set(['AuthorizationCode', 'DeviceCode'])

/**
 * What is kept for so long after its end, in milliseconds, so that its client hears that it has expired. Whoever reads
 * one of these looks at `exp`.
 */
const keptAfterEnd: Readonly<Record<string, number>> = {
  AuthorizationCode: 10 * 60_000,
  DeviceCode: 10 * 60_000,
  RefreshToken: 24 * 60 * 60_000,
}

/** What stands before an id that is a hash already. Not a character of any id. */
const MARK = '#'

/** What the adapter is told from outside. */
export interface AdapterParts {
  readonly records: Records
  /** Metadata of an app, for kind `Client`. */
  readonly findClient: (clientId: string) => Awaitable<Payload | undefined>
  /** What is remembered of the browser of the request that is being answered. */
  readonly browser: () => { readonly userAgent: string; readonly address: string }
  /** Whether ids come from a client now: marked ones are then refused. */
  readonly isExposed: () => boolean
  /** Whether a session that is destroyed now has ended; else it gets another id. */
  readonly isSignOut: () => boolean
  /** The error for a code or token that somebody else has used up. */
  readonly usedUp: () => Error
  /** The error for a token that has ended meanwhile. */
  readonly unknownToken: () => Error
}

/** The id under which a record is stored. */
export function storedId(kind: string, id: string): string {
  if (openIds.has(kind)) return id
  return id.startsWith(MARK) ? id.slice(MARK.length) : secretHash(id)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export class Adapter {
  readonly #kind: string
  readonly #parts: AdapterParts

  constructor(kind: string, parts: AdapterParts) {
    this.#kind = kind
    this.#parts = parts
  }

  async upsert(id: string, payload: Payload, expiresIn: number | undefined): Promise<void> {
    if (this.#kind === 'Client') return this.#putClient(id, payload)
    const { records, usedUp } = this.#parts
    const record = this.#recordOf(id, payload, expiresIn)
    if (issued.has(this.#kind)) return together(() => records.put(record))
    if (this.#kind === 'Session') return this.#putOfSession(record, payload.uid, payload.loginTs)
    if (ofSessions.has(this.#kind)) {
      return this.#putOfSession(record, payload.sessionUid, payload.authTime)
    }
    if (this.#kind !== 'ReplayDetection') return records.put(record)
    // The library looks for it and stores it later: of many parallel uses one must win.
    if (!(await records.add(record))) throw usedUp()
  }

  /** Stores what a session is or has made, unless the session has ended meanwhile. */
  async #putOfSession(record: NewRecord, uid: unknown, signedInAt: unknown): Promise<void> {
    const { records } = this.#parts
    try {
      await records.put(record)
    } catch (error) {
      // Another request of this browser has given the session a new cookie: it stands under that.
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
    if (id.startsWith(MARK) && (this.#kind !== 'DeviceCode' || this.#parts.isExposed())) return undefined
    const found = await this.#parts.records.get(this.#kind, storedId(this.#kind, id))
    return found && payloadOf(found, id)
  }

  async findByUid(uid: string): Promise<Payload | undefined> {
    return this.#byAlias(uid)
  }

  async findByUserCode(userCode: string): Promise<Payload | undefined> {
    return this.#byAlias(userCode)
  }

  consume(id: string): Promise<void> {
    return together(() => this.#useUp(id))
  }

  /** Exactly one of many parallel uses gets past this; every other ends what the first one got. */
  async #useUp(id: string): Promise<void> {
    const { records, usedUp } = this.#parts
    const stored = storedId(this.#kind, id)
    if (await records.consume(this.#kind, stored)) return
    const grant = (await records.get(this.#kind, stored))?.grant
    if (grant) {
      // The grant as well: what the first use got may not be stored yet, and is worth nothing without it.
      await records.delete('Grant', grant)
      await records.deleteGrant(grant)
    }
    throw usedUp()
  }

  async destroy(id: string): Promise<void> {
    const { records, isSignOut, unknownToken } = this.#parts
    const stored = this.#kind === 'Client' ? id : storedId(this.#kind, id)
    if (this.#kind === 'Session' && isSignOut()) {
      const session = await records.get(this.#kind, stored)
      if (session?.alias) await noteEnd(records, session.alias, session.owner ?? undefined)
    }
    const wasThere = await records.delete(this.#kind, stored)
    // RFC 7592: each change gives a new token for the old one. Of several at once only one may.
    if (this.#kind === 'RegistrationAccessToken' && !wasThere) throw unknownToken()
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#parts.records.deleteGrant(grantId)
  }

  async #byAlias(alias: string): Promise<Payload | undefined> {
    const found = await this.#parts.records.byAlias(this.#kind, alias)
    return found && payloadOf(found, openIds.has(this.#kind) ? found.id : MARK + found.id)
  }

  #recordOf(id: string, payload: Payload, expiresIn: number | undefined): NewRecord {
    const { jti: _secret, consumed: _column, ...stored } = payload
    if (this.#kind === 'Session') Object.assign(stored, { browser: this.#parts.browser() })
    if (this.#kind === 'Interaction') hideCookie(stored)
    const exp = typeof payload.exp === 'number' ? payload.exp * 1000 : undefined
    const end = exp ?? (expiresIn === undefined ? null : Date.now() + expiresIn * 1000)
    return {
      kind: this.#kind,
      id: storedId(this.#kind, id),
      payload: JSON.stringify(stored),
      expiresAt: end === null ? null : end + (keptAfterEnd[this.#kind] ?? 0),
      grant: textOf(payload.grantId),
      alias: this.#aliasOf(payload),
      owner: ownerOf(payload),
    }
  }

  #aliasOf(payload: Payload): string | undefined {
    if (this.#kind === 'Session') return textOf(payload.uid)
    return this.#kind === 'DeviceCode' ? textOf(payload.userCode) : undefined
  }

  async #findClient(id: string): Promise<Payload | undefined> {
    const app = await this.#parts.findClient(id)
    if (app) return app
    const registered = await this.#parts.records.get('Client', id)
    if (!registered) return undefined
    const metadata = JSON.parse(registered.payload) as Payload
    const scope = textOf(metadata.scope)
    return scope === undefined
      ? metadata
      : { ...metadata, scope: [...withCovered(scopeSet(scope))].join(' ') }
  }

  /** A dynamic registration (RFC 7591): its secret is kept as a hash only. */
  async #putClient(id: string, metadata: Payload): Promise<void> {
    const secret = textOf(metadata.client_secret)
    const known = (await this.#findClient(id))?.client_secret
    // An update carries what is stored of the secret, not the secret.
    const hash = secret === undefined || secret === known ? secret : secretHash(secret)
    const hidden = hash && { client_secret: hash, secret_hashes: [{ hash }] }
    const payload = JSON.stringify({ ...metadata, ...hidden })
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

/** Of an interaction, whoever has just signed in there, or did before it began. */
function ownerOf({ accountId, result, session }: Payload): string | undefined {
  return (
    textOf(accountId) ?? textOf(partOf(partOf(result).login).accountId) ?? textOf(partOf(session).accountId)
  )
}

/** The provider keeps the session's secret in it, and never looks at it. */
function hideCookie(payload: Payload): void {
  if (payload.session === undefined) return
  const { cookie: _secret, ...shown } = partOf(payload.session)
  payload.session = shown
}
