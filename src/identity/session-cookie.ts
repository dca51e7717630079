/** The cookie of a browser's session as a credential: cookie → Principal. */

import type { IncomingHttpHeaders } from 'node:http'
import { type Awaitable, then } from '../base/awaitable.ts'
import { Cache, CacheBound } from '../base/cache.ts'
import type { EpochMs } from '../base/epoch-ms.ts'
import type { Principal } from '../base/principal.ts'
import type { Records, StoredRecord } from '../base/records.ts'
import type { Run } from '../engine/plan/run.ts'
import { readItem } from '../engine/plan/system-plans.ts'
import { type CredentialOwner, credentialOwnerById } from './accounts/users.ts'
import { cookieOf, hostCookieName } from './cookie.ts'
import { type Used, useStepMs } from './last-use.ts'
import { cameFrom } from './same-origin.ts'
import { isRandomSecret, secretHash } from './server/secret.ts'
import type { StoredSession } from './server/sessions/sessions.ts'
import { sessionPrincipal } from './session-principal.ts'

const maxCachedSessions = 100_000
/** A separate cache, so that guessed cookies do not evict valid ones. */
const maxCachedRefusals = 10_000

/** The name of the session's cookie. */
export function sessionCookieName(issuer: string): string {
  return hostCookieName(issuer, 'portico_session')
}

interface SessionCookieOptions {
  readonly run: Run
  readonly records: Records
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** The address of the service, without a trailing slash. */
  readonly issuer: () => string
  /** Called with a session in use, at most once an hour while it is cached. */
  readonly onUse?: (used: Used) => void
  readonly now?: () => number
}

interface CachedSession {
  readonly principal: Principal | null
  readonly expiresAt: EpochMs
  /** The argument of `onUse`; undefined if nobody is signed in. */
  readonly used?: Used | undefined
  usedAt?: EpochMs
}

export interface SessionCookieReader {
  /**
   * The user who is signed in in the browser; null if the cookie is missing, sent twice or unknown, or its session is over.
   * For pages, to which other sites may link.
   */
  signedIn(headers: IncomingHttpHeaders): Awaitable<Principal | null>
  /** The same as a credential of the API: null too if the request does not come from a page of the service's own origin. */
  read(headers: IncomingHttpHeaders): Awaitable<Principal | null>
}

/** Reads session cookies. Every process refuses an ended session as soon as the store’s versions show the change. */
export function sessionCookieReader(options: SessionCookieOptions): SessionCookieReader {
  const { run, records, version, issuer, onUse, now = Date.now } = options
  const accepted = new Cache<string, CachedSession>(new CacheBound('sessions', maxCachedSessions))
  const refused = new Cache<string, CachedSession>(new CacheBound('refused_sessions', maxCachedRefusals))

  /** A session depends on its own record and on its user. No version decreases, so neither does their sum. */
  const currentStamp = () => records.version('Session') + version('users')

  const remember = (cookie: string, session: CachedSession, stamp: number) => {
    const cache = session.principal ? accepted : refused
    cache.set(cookie, session, 1, stamp)
    return session.principal
  }

  const noteUse = (session: CachedSession) => {
    const { used, usedAt = 0 } = session
    if (!onUse || !used || now() - usedAt < useStepMs) return
    session.usedAt = now()
    onUse(used)
  }

  const readSession = (cookie: string, stamp: number) =>
    then(records.get('Session', secretHash(cookie)), record => {
      const { userId, signedInAt = 0 } = record ? signInOf(record) : {}
      const expiresAt = record?.expiresAt ?? Number.POSITIVE_INFINITY
      if (!record || userId === undefined) return remember(cookie, { principal: null, expiresAt }, stamp)
      const reading = readItem<CredentialOwner>(run, credentialOwnerById, userId)
      return then(reading, user => {
        const isAllowed = user !== undefined && !user.disabled
        if (!isAllowed) return remember(cookie, { principal: null, expiresAt }, stamp)
        const principal = sessionPrincipal({ id: userId, role: user.role }, signedInAt)
        const session: CachedSession = { principal, expiresAt, ...useOf(record) }
        noteUse(session)
        return remember(cookie, session, stamp)
      })
    })

  const signedIn = (headers: IncomingHttpHeaders): Awaitable<Principal | null> => {
    if (!headers.cookie?.includes('portico_session=')) return null
    const cookie = cookieOf({ headers }, sessionCookieName(issuer()))
    if (cookie === undefined || !isRandomSecret(cookie)) return null
    const stamp = currentStamp()
    const session = accepted.get(cookie, stamp) ?? refused.get(cookie, stamp)
    if (!session) return readSession(cookie, stamp)
    if (session.expiresAt <= now()) return null
    noteUse(session)
    return session.principal
  }

  return {
    signedIn,
    read(headers) {
      if (!headers.cookie?.includes('portico_session=')) return null
      return cameFrom(headers, new URL(issuer()).origin) === 'same-origin' ? signedIn(headers) : null
    },
  }
}

function useOf({ alias, owner, expiresAt, payload }: StoredRecord): Pick<CachedSession, 'used' | 'usedAt'> {
  if (alias === null || owner === null || expiresAt === null) return {}
  const { loginTs = 0, browser } = JSON.parse(payload) as StoredSession
  const used: Used = { kind: 'SessionUse', id: alias, owner, expiresAt }
  return { used, usedAt: Math.max(loginTs * 1000, browser?.storedAt ?? 0) }
}

/** The user who has signed in, if any, and the time. */
function signInOf({ payload }: StoredRecord): { readonly userId?: number; readonly signedInAt?: EpochMs } {
  const { accountId, loginTs = 0 } = JSON.parse(payload) as StoredSession
  return accountId === undefined ? {} : { userId: Number(accountId), signedInAt: loginTs * 1000 }
}
