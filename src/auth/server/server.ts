/** What the rest of the service sees of the authorization server. `create.ts` makes one. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Call, Reply } from '../../call.ts'
import type { Awaitable } from '../../plan/answer.ts'
import type { Parameters, RequestBody } from './requests/form.ts'

/** An app as pages show it. */
export interface App {
  readonly clientId: string
  readonly name: string
  readonly type: 'confidential' | 'public'
  readonly logoUri: string | undefined
  readonly homepageUri: string | undefined
  /** What it does with users’ data, and its terms of service. */
  readonly policyUri?: string | undefined
  readonly tosUri?: string | undefined
  /** Whether it is the service's own; left out: it is not. */
  readonly firstParty?: boolean
  /** Milliseconds since 1970. */
  readonly registeredAt?: number | undefined
}

/** A scope with its sentence in plain words. */
export interface ScopeSentence {
  readonly scope: string
  readonly sentence: string
}

/** What an authorization request waits for. */
export interface Interaction {
  readonly uid: string
  readonly prompt: 'login' | 'select_account' | 'consent'
  readonly app: App
  /** Where the answer goes, to be shown: scheme and host of the redirect URI; undefined for a device. */
  readonly destination: string | undefined
  /** Everything that the app asks for, in order; what it asks for by claims under the scope that tells it. */
  readonly scopes: readonly ScopeSentence[]
  /** What the user has allowed this app before; the rest is new since then. */
  readonly allowedBefore: ReadonlySet<string>
  /** Undefined until somebody has signed in. */
  readonly userId: number | undefined
  /** `login_hint` (OpenID Connect Core, 3.1.2.1), as the app sent it. */
  readonly loginHint: string | undefined
}

/** Where the browser goes next: a path of this server. Cookies were set on the response. */
export type NextPath = string

/** One browser in which a user is signed in. */
export interface SessionInfo {
  /** Not the cookie: safe to be shown and sent back in a form. */
  readonly id: string
  readonly userId: number
  /** Milliseconds since 1970. */
  readonly signedInAt: number
  /** To the hour. */
  readonly usedAt: number
  readonly expiresAt: number
  /** Where it was last used from; empty when unknown. */
  readonly address: string
  /** The country of that address (ISO 3166-1 alpha-2), where a trusted proxy tells it. */
  readonly country: string | undefined
  readonly userAgent: string
  /** Whether it is the one that asks. */
  readonly current: boolean
}

/** An app that a user has allowed something. */
export interface ConnectedApp {
  readonly app: App
  readonly scopes: readonly ScopeSentence[]
  /** Milliseconds since 1970: when it was last allowed something. */
  readonly allowedAt: number
  /** When it last got an access token, to the hour; undefined where that is not known. */
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
  /** The issuer, without a trailing slash; all endpoints stand below it. */
  readonly issuer: string
  /**
   * Answers every path under `/oauth/` and `/.well-known/` but the interaction pages. `body`: that of a POST or PUT.
   * Resolves to whether the request was refused for a reason that could mean a guess.
   */
  handle(req: IncomingMessage, res: ServerResponse, body?: RequestBody, address?: string): Promise<boolean>
  /** Answers most requests for introspection by itself; undefined: the request is for `handle`. */
  introspect(call: Pick<Call, 'headers'>, form: Parameters): Promise<Reply | undefined>
  /** What the request `/oauth/interaction/{uid}` of this browser is about; NOT_FOUND where it is over. */
  interaction(req: IncomingMessage, res: ServerResponse): Promise<Interaction>
  /** The user has signed in: the authorization request goes on. FORBIDDEN where the account is disabled. */
  finishLogin(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<NextPath>
  /** The user goes on as who is signed in in this browser. */
  keepAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** The user has allowed exactly these scopes, all of them requested; none denies the request. */
  finishConsent(req: IncomingMessage, res: ServerResponse, scopes: readonly string[]): Promise<NextPath>
  /** Ends the request with `access_denied`. */
  deny(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** Signs this browser out; the request goes on with a sign-in. */
  switchAccount(req: IncomingMessage, res: ServerResponse): Promise<NextPath>
  /** Who is signed in in this browser, with an account that is enabled. */
  session(req: IncomingMessage, res: ServerResponse): Promise<SessionInfo | undefined>
  /** Stores that a session is used from this address, at most once an hour. Never rejects. */
  noteUse(session: SessionInfo, req: IncomingMessage, address: string): Promise<void>
  /** Signs this browser in, with a new session; sets its cookie. FORBIDDEN where the account is disabled. */
  signIn(req: IncomingMessage, res: ServerResponse, signIn: SignIn): Promise<SessionInfo>
  signOut(req: IncomingMessage, res: ServerResponse): Promise<void>
  /** All browsers in which the user is signed in, the newest first. `currentId`: the one that asks. */
  sessions(userId: number, currentId?: string): Promise<readonly SessionInfo[]>
  /** Whether the user had such a session. */
  revokeSession(userId: number, sessionId: string): Promise<boolean>
  /** Those that were used last come first. */
  connectedApps(userId: number): Promise<readonly ConnectedApp[]>
  /** How many users have connected an app and not disconnected it, up to `limit`. Costs what reading as many records does. */
  countUsers(clientId: string, limit: number): Promise<number>
  /** How many apps the user has connected, without reading every grant. */
  connectedAppCount(userId: number): Promise<number>
  /** Takes from an app everything that the user allowed it: its tokens work no more. */
  revokeApp(userId: number, clientId: string): Promise<void>
  /** Every session, token, pending code and remembered consent of the user ends. `exceptSession` stays. */
  revokeAll(userId: number, exceptSession?: string): Promise<void>
  /** As `revokeAll`, but what the session itself has allowed stays, with its tokens. */
  revokeOthers(userId: number, session: string): Promise<void>
}

/** An error that cannot be told to the app by a redirect. */
export interface ProtocolFault {
  /** What it means to the person who reads the page. */
  readonly kind: 'unknown-app' | 'wrong-address' | 'over' | 'sign-out' | 'service' | 'request'
  /** The protocol's own name for it. */
  readonly error: string
  readonly description: string | undefined
  /** Where the request names one that is registered. */
  readonly app: App | undefined
  readonly requestId: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** What pages the authorization server itself shows. Each returns a whole HTML document. */
export interface ProtocolPages {
  error(fault: ProtocolFault): string
  /** Asks for the code that a device shows. POST it to `action` with the hidden fields, as `user_code`. */
  deviceCode(page: {
    readonly action: string
    readonly hidden: Readonly<Record<string, string>>
    readonly entered: string | undefined
    readonly fault: string | undefined
    /** Whether the user has just refused the device. */
    readonly isStopped: boolean
  }): string
  /** Asks whether it is this device. POST to `action` with the hidden fields, and `abort=yes` to stop. */
  deviceConfirm(page: {
    readonly action: string
    readonly hidden: Readonly<Record<string, string>>
    readonly app: App
    readonly userCode: string
  }): string
  deviceDone(page: { readonly app: App }): string
  /** Asks whether to sign out. POST to `action` with the hidden fields, and `logout=yes` to do it. */
  signOut(page: { readonly action: string; readonly hidden: Readonly<Record<string, string>> }): string
  signedOut(): string
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
