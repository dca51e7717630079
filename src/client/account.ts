/** Sign-in, sign-up and password reset in an app's own pages, with the service's session cookie. */
import { ApiError } from './api-error.ts'
import { Connection } from './connection.ts'
import type { At, CollectionOf } from './types/api.ts'
import type { ApiOf, ApiSource } from './types/model.ts'
import type { ClientOptions } from './types/options.ts'

/** Options of `createAccountClient`. There is no token: the browser sends the session cookie. */
export interface AccountOptions extends Pick<ClientOptions, 'baseUrl' | 'fetch' | 'timeoutMs' | 'headers'> {
  /** Called with the user after a sign-in, and with undefined after `signOut`. */
  readonly onChange?: (user: AccountUser | undefined) => void
}

/** The signed-in user; `api.me()` returns every field. */
export interface AccountUser {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly role: string
  readonly email_verified: boolean
}

/** The values of a sign-in by password. */
export interface PasswordSignIn {
  readonly email: string
  readonly password: string
  /** If omitted, the session ends with the browser. */
  readonly remember?: boolean
}

/** The signed-in user, or `secondFactor`, which completes the sign-in with a one-time code or a recovery code. */
export type SignInResult =
  | { readonly user: AccountUser; readonly secondFactor?: undefined }
  | {
      readonly user?: undefined
      /** After a wrong code, which rejects with `UNAUTHORIZED`, another can be tried. */
      readonly secondFactor: (code: string) => Promise<AccountUser>
    }

interface NewAccount {
  readonly name: string
  readonly email: string
  readonly password: string
}

/** Includes the fields of `users` that have `signUp: true`. Without the model's type, fields may have any name. */
export type SignUpValues<T extends ApiSource = never> = NewAccount &
  ([T] extends [never]
    ? Readonly<Record<string, string | number | boolean>>
    : Partial<Omit<At<CollectionOf<ApiOf<T>, 'users'>, 'create'>, keyof NewAccount | 'role' | 'disabled'>>)

/** What the user does next after a sign-up. */
export interface SignUpResult {
  /** `confirm_address`: a link was sent that creates the account. The result never reveals whether the address is free. */
  readonly next: 'sign_in' | 'confirm_address'
  /** A message for the user. */
  readonly message: string
}

/** What a reset has revoked. */
export interface ResetResult {
  readonly ended: {
    readonly sessions: number
    readonly apps: number
    readonly keys: number
    readonly passkeys: number
    readonly identities: number
    /** Whether one-time codes were required. */
    readonly codes: boolean
  }
}

/**
 * For pages on the service's own origin. Calls reject with an `ApiError`: `UNAUTHORIZED` if the address and password, the
 * code or the passkey is not accepted, `VALIDATION_FAILED` with `details`, `RATE_LIMITED` with `retryAfter`, `FORBIDDEN` for
 * a page on another origin. No call is retried, because attempts are counted.
 */
export interface AccountClient<T extends ApiSource = never> {
  /** Returns undefined if nobody is signed in. */
  user(): Promise<AccountUser | undefined>
  signIn(values: PasswordSignIn): Promise<SignInResult>
  /** The browser asks for a passkey. Rejects with its `NotAllowedError` if the user cancels. */
  signInWithPasskey(): Promise<AccountUser>
  /** Does not sign in. */
  signUp(values: SignUpValues<T>): Promise<SignUpResult>
  /** Ends the session, and the event streams and WebSockets that it has opened. */
  signOut(): Promise<void>
  /** Sends a link if the account exists. Returns a message for the user. */
  requestReset(email: string): Promise<string>
  /** `token`: from the link. Ends every session, and does not sign in. */
  reset(values: { readonly token: string; readonly password: string }): Promise<ResetResult>
}

interface SignedIn {
  readonly user: AccountUser
}

/** A client of the account pages: `createAccountClient<typeof model>()`. Throws a `TypeError` if `baseUrl` is not a valid URL. */
export function createAccountClient<T extends ApiSource = never>(
  options: AccountOptions = {},
): AccountClient<T> {
  const connection = new Connection({ ...options, retries: 0 }, '/account')
  const { onChange = () => undefined } = options

  async function post<T>(path: string, body: object): Promise<T> {
    return (await connection.send({ method: 'POST', path: `/${path}`, body, options: {} })).body as T
  }
  async function signedIn(body: object): Promise<AccountUser> {
    const { user } = await post<SignedIn>('sign-in', body)
    onChange(user)
    return user
  }
  return {
    async user() {
      try {
        const { body } = await connection.send({ method: 'GET', path: '', options: {} })
        return (body as SignedIn).user
      } catch (error) {
        if (error instanceof ApiError && error.code === 'UNAUTHORIZED') return undefined
        throw error
      }
    },
    async signIn({ email, password, remember = false }) {
      const values = { email, password, remember }
      const response = await post<Partial<SignedIn> & { readonly second_factor: string }>('sign-in', values)
      const { user, second_factor } = response
      if (user === undefined) return { secondFactor: code => signedIn({ second_factor, code }) }
      onChange(user)
      return { user }
    },
    async signInWithPasskey() {
      return signedIn({ passkey: await passkeyFor(await post<object>('passkeys/get', {})) })
    },
    signUp: values => post('sign-up', values),
    async signOut() {
      await post('sign-out', {})
      onChange(undefined)
    },
    requestReset: async email => (await post<SignUpResult>('reset', { email })).message,
    reset: ({ token, password }) => post('reset', { token, password }),
  }
}

interface Passkey {
  toJSON(): object
}

/** The part of a browser's API that is used: Web Authentication Level 3, 5.1.8 and 5.1.10. */
interface PasskeyBrowser {
  readonly PublicKeyCredential?: { parseRequestOptionsFromJSON?(options: object): object }
  readonly navigator?: {
    readonly credentials?: { get(options: { readonly publicKey: object }): Promise<Passkey> }
  }
}

async function passkeyFor(options: object): Promise<object> {
  const { PublicKeyCredential: passkeys, navigator } = globalThis as unknown as PasskeyBrowser
  const publicKey = passkeys?.parseRequestOptionsFromJSON?.(options)
  if (publicKey === undefined || !navigator?.credentials)
    throw new TypeError('This browser does not support sign-in with a passkey.')
  return (await navigator.credentials.get({ publicKey })).toJSON()
}
