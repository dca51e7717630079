/** The browser sessions of users. oidc-provider stores them. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import type { Context, Session } from 'oidc-provider'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { ApiError } from '../../../base/errors.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import type { RecordChange } from '../../../engine/plan/transaction.ts'
import { type ClientPlace, type LastUse, LastUses, lastUsesOf, useStepMs } from '../../last-use.ts'
import type { SessionInfo, SignIn } from '../server.ts'
import { noteEnd } from './session-ends.ts'

/** oidc-provider’s payload of a session: the members that are used here. */
export interface StoredSession {
  readonly uid: string
  /** Undefined until somebody has signed in. */
  readonly accountId?: string
  /** The time of the sign-in, in seconds since 1970. */
  readonly loginTs?: number
  readonly browser?: {
    readonly userAgent?: string
    readonly address?: string
    readonly country?: string
    readonly storedAt: EpochMs
  }
}

interface StoredInteraction {
  readonly session?: { readonly uid?: string }
}

/** `lastUse`: may be newer than the session as it is stored. */
function infoOf(
  record: StoredRecord,
  currentId: string | undefined,
  lastUse?: LastUse,
): SessionInfo | undefined {
  const { uid, accountId, loginTs = 0, browser } = JSON.parse(record.payload) as StoredSession
  if (accountId === undefined) return undefined
  const signedInAt = loginTs * 1000
  const storedAt = Math.max(browser?.storedAt ?? 0, signedInAt)
  const place = lastUse && lastUse.at > storedAt ? lastUse.place : undefined
  const { address = '', country } = place ?? browser ?? {}
  return {
    id: uid,
    userId: Number(accountId),
    signedInAt,
    usedAt: Math.max(storedAt, lastUse?.at ?? 0),
    expiresAt: record.expiresAt ?? 0,
    address,
    country,
    userAgent: browser?.userAgent ?? '',
    current: uid === currentId,
  }
}

/** Those of the same cookie when oidc-provider sets it: with another path, the browser would send both. */
function cookieOptions({ secure, mountPath }: Context) {
  return { httpOnly: true, sameSite: 'lax', secure, path: mountPath || '/' } as const
}

/** Per user. Each sign-in without a cookie creates a session. */
const maxSessions = 100

/** The sessions of all users, as records of oidc-provider. */
export class Sessions {
  readonly #records: Records
  readonly #lifeSeconds: number
  readonly #uses: LastUses

  constructor(records: Records, lifeSeconds: number, uses = new LastUses(records)) {
    this.#records = records
    this.#lifeSeconds = lifeSeconds
    this.#uses = uses
  }

  async current(
    provider: Provider,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<SessionInfo | undefined> {
    const { uid, accountId } = await provider.Session.get(provider.createContext(req, res))
    return accountId === undefined ? undefined : this.#find(uid, uid)
  }

  /** Creates a session with a new id, whatever the browser had before (session fixation). */
  async signIn(
    provider: Provider,
    req: IncomingMessage,
    res: ServerResponse,
    { userId, remember, methods, at: loginTs }: SignIn,
  ): Promise<SessionInfo> {
    const ctx = provider.createContext(req, res)
    await this.#endCurrent(await provider.Session.get(ctx))
    const session = new provider.Session()
    session.loginAccount({
      accountId: String(userId),
      loginTs,
      transient: !remember,
      ...(methods && { amr: methods }),
    })
    await session.save(this.#lifeSeconds)
    this.#setCookie(provider, req, res, session, remember)
    const info = await this.#find(session.uid, session.uid)
    // All sign-ins of the account were ended after its credential was checked.
    if (!info) throw new ApiError('FORBIDDEN', 'The account has just been changed. Sign in again.')
    await this.endOldest(userId, info.id)
    return info
  }

  async signOut(provider: Provider, req: IncomingMessage, res: ServerResponse): Promise<void> {
    const ctx = provider.createContext(req, res)
    await this.#endCurrent(await provider.Session.get(ctx))
    ctx.cookies.set(provider.cookieName('session'), null, cookieOptions(ctx))
  }

  async all(userId: number, currentId: string | undefined): Promise<readonly SessionInfo[]> {
    const owner = String(userId)
    const [records, uses] = await Promise.all([
      this.#records.byOwner('Session', owner),
      lastUsesOf(this.#records, 'SessionUse', owner),
    ])
    return records
      .map(record => infoOf(record, currentId, uses.get(record.alias ?? '')))
      .filter(info => info !== undefined)
      .sort((one, other) => other.signedInAt - one.signedInAt)
  }

  /** Records that the session was used, at most once an hour. */
  async noteUse(
    { id, userId, usedAt, expiresAt }: SessionInfo,
    place: ClientPlace,
    nowMs: number,
  ): Promise<void> {
    if (nowMs - usedAt < useStepMs) return
    await this.#uses.note({ kind: 'SessionUse', id, owner: String(userId), expiresAt, place })
  }

  async revoke(userId: number, sessionId: string): Promise<boolean> {
    const record = await this.#records.byAlias('Session', sessionId)
    if (record?.owner !== String(userId)) return false
    await this.#end(record.alias, record.owner)
    return true
  }

  /**
   * Does everything that ends a session except for the returned changes, which delete it. Undefined if the user has no such
   * session.
   */
  async beginEnd(userId: number, sessionId: string): Promise<readonly RecordChange[] | undefined> {
    const record = await this.#records.byAlias('Session', sessionId)
    if (record?.owner !== String(userId)) return undefined
    await noteEnd(this.#records, sessionId, record.owner)
    // The session may have got another cookie before its end was noted.
    const current = await this.#records.byAlias('Session', sessionId)
    return [
      ...(current ? [{ kind: 'delete', key: { kind: 'Session', id: current.id } } as const] : []),
      { kind: 'delete', key: { kind: 'SessionUse', id: sessionId } },
    ]
  }

  /** Also ends unfinished interactions, which would become sessions. */
  async revokeAll(userId: number, except: string | undefined): Promise<void> {
    const owner = String(userId)
    for (const { id, payload } of await this.#records.byOwner('Interaction', owner)) {
      const { session }: StoredInteraction = JSON.parse(payload)
      if (session?.uid === undefined || session.uid !== except) await this.#records.delete('Interaction', id)
    }
    for (const { alias } of await this.#records.byOwner('Session', owner)) {
      if (alias !== except) await this.#end(alias, owner)
    }
  }

  /** Ends the oldest sessions beyond 100. `newest`: the session that has just begun; undefined: one is about to begin. */
  async endOldest(userId: number, newest?: string): Promise<void> {
    const others = (await this.all(userId, undefined)).filter(({ id }) => id !== newest)
    for (const { id } of others.slice(maxSessions - 1)) await this.#end(id, String(userId))
  }

  async #endCurrent({ exp, uid, accountId }: Session): Promise<void> {
    if (exp !== undefined) await this.#end(uid, accountId)
  }

  async #end(uid: string | null, owner: string | undefined): Promise<void> {
    if (uid === null) return
    await noteEnd(this.#records, uid, owner)
    // By its `uid`: the session may have got another cookie before its end was noted.
    const record = await this.#records.byAlias('Session', uid)
    if (record) await this.#records.delete('Session', record.id)
    await this.#uses.forget('SessionUse', uid)
  }

  async #find(uid: string, currentId: string): Promise<SessionInfo | undefined> {
    const record = await this.#records.byAlias('Session', uid)
    return record && infoOf(record, currentId)
  }

  #setCookie(
    provider: Provider,
    req: IncomingMessage,
    res: ServerResponse,
    session: Session,
    remember: boolean,
  ) {
    const ctx = provider.createContext(req, res)
    ctx.cookies.set(provider.cookieName('session'), session.jti, {
      ...cookieOptions(ctx),
      ...(remember ? { expires: new Date(Date.now() + this.#lifeSeconds * 1000) } : undefined),
    })
  }
}
