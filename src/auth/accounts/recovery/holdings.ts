/** What gives access to an account. */

/** The number of each. */
export interface Holdings {
  readonly sessions: number
  /** Third-party apps that the user has granted access. */
  readonly apps: number
  readonly keys: number
  readonly passkeys: number
  /** Accounts at other providers by which the user signs in. */
  readonly identities: number
  /** Whether signing in by password needs a one-time code. */
  readonly codes: boolean
}

/** E.g. `2 passkeys`; an empty list for 0. `one` and `many` name what is counted. */
export function counted(count: number, one: string, many = `${one}s`): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}

/** In English, e.g. `2 sessions, 1 API key`; empty where there is nothing. */
export function listOf({ sessions, apps, keys, passkeys, identities, codes }: Holdings): readonly string[] {
  return [
    ...counted(sessions, 'session'),
    ...counted(apps, 'connected app'),
    ...counted(keys, 'API key'),
    ...counted(passkeys, 'passkey'),
    ...counted(identities, 'sign-in with another provider', 'sign-ins with other providers'),
    ...(codes ? ['one-time codes'] : []),
  ]
}
