/** The interface of the authorization server for the rest of the service. `create.ts` implements it. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Awaitable } from '../../base/awaitable.ts'
import type { Call, Reply } from '../../base/call.ts'
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { Text } from '../../base/html.ts'
import type { Parameters, RequestBody } from './requests/form.ts'

/** An app as pages show it. */
export interface App {
  readonly clientId: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  readonly logoUri: string | undefined
  readonly homepageUri: string | undefined
  /** The privacy policy and the terms of service. */
  readonly policyUri?: string | undefined
  readonly tosUri?: string | undefined
  /** Whether it is one of the service's own apps; false by default. */
  readonly firstParty?: boolean
  readonly registeredAt?: EpochMs | undefined
}

/** A scope with a sentence that describes it to users. */
export interface ScopeSentence {
  readonly scope: string
  readonly sentence: Text
}

/** What an authorization request waits for. */
export interface Interaction {
  readonly uid: string
  readonly prompt: 'login' | 'select_account' | 'consent'
  readonly app: App
  /** The scheme and host of the redirect URI, to be shown to the user; undefined for a device. */
  readonly destination: string | undefined
  /** Every scope that the app requests, in order, and the scope of each single claim that it requests. */
  readonly scopes: readonly ScopeSentence[]
  /** The scopes that the user has already allowed this app. */
  readonly allowedBefore: ReadonlySet<string>
  /** Undefined until somebody has signed in. */
  readonly userId: number | undefined
  /** `login_hint` (OpenID Connect Core, 3.1.2.1), as the app sent it. */
  readonly loginHint: string | undefined
  /** Whether the app requires a new sign-in even if there is a session, by `prompt=login` or `max_age` (Core, 3.1.2.1). */
  readonly requiresAuthentication: boolean
}

/** Where the browser goes next: a path of this server. Cookies were set on the response. */
export type NextPath = string

/** One browser in which a user is signed in. */
export interface SessionInfo {
  /** Not the cookie: safe to be shown and sent back in a form. */
  readonly id: string
  readonly userId: number
  readonly signedInAt: EpochMs
  /** To the hour. */
  readonly usedAt: number
  readonly expiresAt: number
  /** Where it was last used from; empty when unknown. */
  readonly address: string
  /** The country of that address (ISO 3166-1 alpha-2), if a trusted proxy reports it. */
  readonly country: string | undefined
  readonly userAgent: string
  /** Whether it is the session of the current request. */
  readonly current: boolean
}

/** An app to which a user has granted access. */
export interface ConnectedApp {
  readonly app: App
  readonly scopes: readonly ScopeSentence[]
  /** When the user last granted it access. */
  readonly allowedAt: EpochMs
  /** When it last got an access token, to the hour; undefined if unknown. */
  readonly usedAt: number | undefined
}

export interface SignIn {
  readonly userId: number
  /** Whether the browser stays signed in after it was closed. */
  readonly remember: boolean
  /** How the user has proved who they are (RFC 8176), e.g. `['pwd', 'otp']`. */
  readonly methods?: readonly string[]
  readonly address?: string
  /** Seconds since 1970: see `signInTime`. */
  readonly at: number
}

export interface AuthorizationServer {
  /** The issuer, without a trailing slash. The URLs of all endpoints begin with it. */
  readonly issuer: string
  /**
   * Answers every path under `/oauth/` and `/.well-known/` except the interaction pages. `body`: of a POST or PUT.
   * Resolves to true if the request was refused in a way that may indicate guessing.
   */
  handle(req: IncomingMessage, res: ServerResponse, body?: RequestBody, address?: string): Promise<boolean>
  /** Answers most introspection requests without oidc-provider; undefined: pass the request to `handle`. */
  introspect(call: Pick<Call, 'headers'>, form: Parameters): Promise<Reply | undefined>
  /** The interaction of this browser that `/oauth/interaction/{uid}` names. Throws NOT_FOUND when it has ended. */
  interaction(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
  /** Continues the authorization request after a sign-in. Throws FORBIDDEN if the account is disabled. */
  finishLogin(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<NextPath>
  /** Continues with the account that is signed in in this browser. */
  keepAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** Continues with the scopes that the user has allowed, all of them requested. An empty list denies the request. */
  finishConsent(req: IncomingMessage, res: ServerResponse, scopes: readonly string[]): Promise<NextPath>
  /** Ends the request with `access_denied`. */
  deny(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** Signs this browser out; the request goes on with a sign-in. */
  switchAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** The session of this browser; undefined if nobody is signed in, or the account is disabled. */
  session(req: IncomingMessage, res: ServerResponse): Promise<SessionInfo | undefined>
  /** Records that a session was used from this address, at most once an hour. Never rejects. */
  noteUse(session: SessionInfo, req: IncomingMessage, address: string): Promise<void>
  /** Signs this browser in, with a new session, and sets its cookie. Throws FORBIDDEN if the account is disabled. */
  signIn(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<SessionInfo>
  signOut(req: IncomingMessage, res: ServerResponse): Promise<void>
  /** The user's sessions, the newest first. `currentId`: the session of the current request. */
  sessions(userId: number, currentId?: string): Promise<readonly SessionInfo[]>
  /** Ends a session. Returns whether the user had it. */
  revokeSession(userId: number, sessionId: string): Promise<boolean>
  /** The most recently used first. */
  connectedApps(userId: number): Promise<readonly ConnectedApp[]>
  /** How many users have connected an app and not disconnected it, up to `limit`. Reads that many records. */
  countUsers(clientId: string, limit: number): Promise<number>
  /** How many apps the user has connected, without reading every grant. */
  connectedAppCount(userId: number): Promise<number>
  /** Revokes everything that the user has granted to an app, its tokens included. */
  revokeApp(userId: number, clientId: string): Promise<void>
  /** Ends every session, token, pending code and stored consent of the user, except `exceptSession`. */
  revokeAll(userId: number, exceptSession?: string): Promise<void>
  /** As `revokeAll`, but the grants made in `session` stay, with their tokens. */
  revokeOthers(userId: number, session: string): Promise<void>
}

/** An error that cannot be reported to the app by a redirect. */
export interface ProtocolFault {
  /** Selects the text that the page shows to the user. */
  readonly kind: 'unknown-app' | 'wrong-address' | 'over' | 'sign-out' | 'service' | 'request'
  /** The error code of the protocol. */
  readonly error: string
  readonly description: string | undefined
  /** Undefined unless the request names a registered app. */
  readonly app: App | undefined
  readonly requestId: string
  readonly at: EpochMs
}

export interface DeviceCodePage {
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
  readonly entered: string | undefined
  readonly fault: string | undefined
  /** Whether the user has just refused the device. */
  readonly isStopped: boolean
}

export interface DeviceConfirmPage {
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
  readonly app: App
  readonly userCode: string
}

/** The pages of the authorization server. Each method returns a whole HTML document. `languages`: `Accept-Language`. */
export interface ProtocolPages {
  error(fault: ProtocolFault, languages: string | undefined): string
  /** Asks for the code that a device shows. POST it to `action` with the hidden fields, as `user_code`. */
  deviceCode(page: DeviceCodePage, languages: string | undefined): string
  /** Asks whether it is this device. POST to `action` with the hidden fields, and `abort=yes` to stop. */
  deviceConfirm(page: DeviceConfirmPage, languages: string | undefined): string
  deviceDone(page: { readonly app: App }, languages: string | undefined): string
  /** Asks whether to sign out. POST to `action` with the hidden fields, and `logout=yes` to do it. */
  signOut(
    page: { readonly action: string; readonly hidden: Readonly<Record<string, string>> },
    languages: string | undefined,
  ): string
  signedOut(languages: string | undefined): string
}

/** The account behind a user id, for claims (OpenID Connect Core, 5.1). */
export interface AccountClaims {
  readonly name: string
  readonly email: string
  readonly emailVerified: boolean
}

/** Whether there is such an account, and it is enabled. */
export type HasAccount = (userId: number) => Awaitable<boolean>

export type FindAccount = (userId: number) => Awaitable<AccountClaims | undefined>
