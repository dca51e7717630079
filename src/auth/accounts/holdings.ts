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
