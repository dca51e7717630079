/** The parts that all operations on accounts share. The pages are in `web/pages/`. */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { Records } from '../../base/records.ts'
import type { RateCounters } from '../../engine/cluster/cluster.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'
import type { Model } from '../../model/model.ts'
import type { BackgroundWork } from '../background.ts'
import type { Mailer } from '../mail/mailer.ts'
import type { AccountClaims } from '../server/server.ts'
import { type Addresses, createAddresses } from './addresses/addresses.ts'
import { createIdentities, type Identities } from './identities.ts'
import { createTokens, type LinkTokens } from './link-tokens.ts'
import { createDevices, type Devices } from './sign-in/known-devices.ts'
import { createOneTimeCodes, type OneTimeCodes } from './sign-in/one-time-codes.ts'
import {
  type Allowances,
  codeAllowances,
  createThrottle,
  exportAllowances,
  mailAllowances,
  passkeyAllowances,
  resetAllowances,
  signInAllowances,
  type Throttle,
} from './sign-in/throttle.ts'
import { findUser, type UserRow } from './users.ts'

/** `confirmed`: an account is created when the link sent to its address is opened. */
export type SignUpMode = 'off' | 'open' | 'confirmed'

export interface AccountParts {
  readonly model: Model
  readonly run: Run
  readonly records: Records
  readonly mail: Mailer
  /** Count attempts. Shared by all nodes. */
  readonly counters: RateCounters
  /** The service's own address, for links. It never comes from a request. */
  readonly issuer: string
  /** The name of the service. */
  readonly name: string
  readonly signUp: SignUpMode
  /** After a reset or a new password: see `AuthorizationServer.revokeAll`. */
  readonly revokeAll: (userId: number, exceptSession?: string) => Promise<void>
  /** After the first proof of an address: see `AuthorizationServer.revokeOthers`. */
  readonly revokeOthers: (userId: number, session: string) => Promise<void>
  readonly work: BackgroundWork
  readonly now?: () => number
}

/** The shared parts, with the tokens, counters and records that are created from them. */
export interface AccountBase extends AccountParts, BackgroundWork {
  readonly now: () => number
  /** Whether the mails of the service reach anybody. Otherwise no page may say that a link was sent. */
  readonly mailArrives: boolean
  readonly tokens: LinkTokens
  readonly addresses: Addresses
  readonly codes: OneTimeCodes
  readonly devices: Devices
  readonly identities: Identities
  /** Attempts to enter a password. */
  readonly attempts: Throttle
  readonly codeAttempts: Throttle
  readonly passkeyAttempts: Throttle
  /** Starts of sign-ins with a provider. */
  readonly providerStarts: Throttle
  /** Requests for a new password. */
  readonly resets: Throttle
  /** Each purpose has its own throttle, so that strangers who use up the attempts for one do not block the other. */
  readonly signUpMails: Throttle
  readonly confirmationMails: Throttle
  readonly exports: Throttle
}

/** Creates the tokens, counters and records that all account operations share. */
export function createAccountBase(parts: AccountParts): AccountBase {
  const { records, counters, now = Date.now, work } = parts
  const throttle = (name: string, allowances: Allowances) =>
    createThrottle({ name, allowances, counters, now })
  return {
    ...parts,
    now,
    mailArrives: parts.mail.delivers || parts.mail.isShown === true,
    tokens: createTokens(records, now),
    addresses: createAddresses(records, now),
    codes: createOneTimeCodes(records, now),
    devices: createDevices(records, now),
    identities: createIdentities(records, now),
    attempts: throttle('attempt', signInAllowances),
    codeAttempts: throttle('code', codeAllowances),
    passkeyAttempts: throttle('passkey', passkeyAllowances),
    providerStarts: throttle('provider', passkeyAllowances),
    resets: throttle('reset', resetAllowances),
    signUpMails: throttle('mail-sign-up', mailAllowances),
    confirmationMails: throttle('mail-confirm', mailAllowances),
    exports: throttle('export', exportAllowances),
    ...work,
  }
}

const disabledById = itemShape('users', ['disabled'])

/** Returns a function that tests whether an account exists and is enabled. */
export function createAccountCheck(run: Run) {
  return (userId: number): Awaitable<boolean> =>
    then(
      readItem<Pick<UserRow, 'disabled'>>(run, disabledById, userId),
      user => user !== undefined && !user.disabled,
    )
}

/** Reads the `profile` and `email` claims of an account (OpenID Connect Core, 5.1); undefined if it was deleted. */
export function claimsReader(run: Run, records: Records) {
  const addresses = createAddresses(records)
  return async (userId: number): Promise<AccountClaims | undefined> => {
    const user = await findUser(run, userId)
    if (!user) return undefined
    const { name, email } = user
    return { name, email, emailVerified: await addresses.isVerified(userId, email) }
  }
}
