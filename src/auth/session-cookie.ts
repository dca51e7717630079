/** The cookie of a browser's session as a credential: cookie → Principal. */
import type { IncomingHttpHeaders } from 'node:http'
import { Cache, CacheBound } from '../cache.ts'
import { type Awaitable, then } from '../plan/answer.ts'
import type { Run } from '../plan/run.ts'
import { itemShape, readItem } from '../plan/system-plans.ts'
import type { Principal } from '../principal.ts'
import type { Records, StoredRecord } from '../records.ts'
import { cookieOf } from './accounts/routes/cookie.ts'
import type { UserRow } from './accounts/users.ts'
import { cameFrom } from './same-origin.ts'
import { secretHash } from './server/secret.ts'
import { sessionPrincipal } from './session-principal.ts'

const maxCachedSessions = 100_000
/** Apart, so that guessed cookies drive out no valid ones. */
const maxCachedRefusals = 10_000

/** The form of a session's id. oidc-provider gives it 256 random bits. */
const form = /^[A-Za-z0-9_-]{43}$/

const userById = itemShape('users', ['role', 'disabled'])

/** The name of the session's cookie. RFC 6265bis, 4.1.3.2: no other host of the domain can set one with the prefix. */
export function sessionCookieName(issuer: string): string {
  return issuer.startsWith('https:') ? '__Host-portico_session' : 'portico_session'
}

interface SessionCookieOptions {
  readonly run: Run
  readonly records: Records
  /** See `Store.version`. */
  readonly version: (collection: string) => number
  /** The address of the service, without a trailing slash. */
  readonly issuer: () => string
  readonly now?: () => number
}

interface KnownSession {
  readonly principal: Principal | null
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface SessionCookieReader {
  /**
   * Who is signed in in the browser; null where nobody is: the cookie is missing, sent twice, unknown, or its session is
   * over. For pages, which other sites may link to.
   */
  signedIn(headers: IncomingHttpHeaders): Awaitable<Principal | null>
  /** The same, as a credential of the API: null also unless a page of the service's own origin has sent the request. */
  read(headers: IncomingHttpHeaders): Awaitable<Principal | null>
}

export function sessionCookieReader(options: SessionCookieOptions): SessionCookieReader {
  const { run, records, version, issuer, now = Date.now } = options
  const known = new Cache<string, KnownSession>(new CacheBound('sessions', maxCachedSessions))
  const refused = new Cache<string, KnownSession>(new CacheBound('refused_sessions', maxCachedRefusals))

  /** A session depends on its own record and on its user. Each version only grows, so their sum does. */
  const currentStamp = () => records.version('Session') + version('users')

  const remember = (cookie: string, session: KnownSession, stamp: number) => {
    const cache = session.principal ? known : refused
    cache.set(cookie, session, 1, stamp)
    return session.principal
  }

  const find = (cookie: string, stamp: number) =>
    then(records.get('Session', secretHash(cookie)), record => {
      const { userId, signedInAt = 0 } = record ? signInOf(record) : {}
      const expiresAt = record?.expiresAt ?? Number.POSITIVE_INFINITY
      if (userId === undefined) return remember(cookie, { principal: null, expiresAt }, stamp)
      const user = readItem<Pick<UserRow, 'role' | 'disabled'>>(run, userById, userId)
      return then(user, found => {
        const isAllowed = found !== undefined && !found.disabled
        const principal = isAllowed ? sessionPrincipal({ id: userId, role: found.role }, signedInAt) : null
        return remember(cookie, { principal, expiresAt }, stamp)
      })
    })

  const signedIn = (headers: IncomingHttpHeaders): Awaitable<Principal | null> => {
    if (!headers.cookie?.includes('portico_session=')) return null
    const cookie = cookieOf({ headers }, sessionCookieName(issuer()))
    if (cookie === undefined || !form.test(cookie)) return null
    const stamp = currentStamp()
    const session = known.get(cookie, stamp) ?? refused.get(cookie, stamp)
    if (session) return session.expiresAt > now() ? session.principal : null
    return find(cookie, stamp)
  }

  return {
    signedIn,
    read(headers) {
      if (!headers.cookie?.includes('portico_session=')) return null
      return cameFrom(headers, new URL(issuer()).origin) === 'same-origin' ? signedIn(headers) : null
    },
  }
}

interface StoredSession {
  readonly accountId?: string
  /** Seconds since 1970. */
  readonly loginTs?: number
}

/** Who has signed in, if anybody has, and when, in milliseconds since 1970. */
function signInOf({ payload }: StoredRecord): { readonly userId?: number; readonly signedInAt?: number } {
  const { accountId, loginTs = 0 } = JSON.parse(payload) as StoredSession
  return accountId === undefined ? {} : { userId: Number(accountId), signedInAt: loginTs * 1000 }
}
