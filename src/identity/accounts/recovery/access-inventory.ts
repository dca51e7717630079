/** What gives access to an account: the number of each. */
export interface AccessInventory {
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

/** E.g. `2 passkeys`; an empty list for 0. */
export function counted(count: number, singular: string, plural = `${singular}s`): string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? singular : plural}`]
}

/** A text for each in English, e.g. `2 sessions`; empty if there is nothing. */
export function listOf({
  sessions,
  apps,
  keys,
  passkeys,
  identities,
  codes,
}: AccessInventory): readonly string[] {
  return [
    ...counted(sessions, 'session'),
    ...counted(apps, 'connected app'),
    ...counted(keys, 'API key'),
    ...counted(passkeys, 'passkey'),
    ...counted(identities, 'sign-in with another provider', 'sign-ins with other providers'),
    ...(codes ? ['one-time codes'] : []),
  ]
}
