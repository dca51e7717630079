/**
 * Accounts that are created by a sign-in with a provider. Their addresses are confirmed from the start: the provider has
 * verified the address, or its owner has opened a mailed link and then signed in with the same identity.
 */

import { ApiError } from '../../../base/errors.ts'
import type { Text } from '../../../base/html.ts'
import { system } from '../../../base/principal.ts'
import { writeWith } from '../../../engine/plan/run.ts'
import { createPlan } from '../../../engine/plan/system-plans.ts'
import type { Requester } from '../../mail/mailer.ts'
import type { AccountBase } from '../accounts.ts'
import type { ProviderIdentity } from '../identities.ts'
import type { Profile } from '../providers/provider.ts'
import type { Throttled } from '../sign-in/throttle.ts'
import { findByEmail } from '../users.ts'
import {
  checkedValues,
  isAddressTaken,
  redeemSignUp,
  refusal,
  type SentLink,
  type SignUpValues,
  startSignUp,
} from './sign-up.ts'
import { signUpFields, takenValueFaults } from './sign-up-fields.ts'

/** The input of the page that asks for what the provider has not supplied. */
export interface EnteredAccount {
  readonly name: string
  /** Ignored if the provider has verified one. */
  readonly email: string
  readonly answers?: ReadonlyMap<string, string>
}

export type NewAccountAnswer =
  | { readonly kind: 'created' }
  /** A concurrent sign-up has created an account with the identity or the address. */
  | { readonly kind: 'taken' }
  | SentLink
  | { readonly kind: 'faults'; readonly faults: ReadonlyMap<string, Text> }
  | Throttled

export type ExistingAccount =
  /** The account's address is confirmed too: its owner may link the identity after signing in. */
  | { readonly kind: 'confirmed'; readonly userId: number }
  /** Somebody else may have created the account, so nothing is linked to it before its address is confirmed. */
  | { readonly kind: 'unconfirmed' }

/** The account that has the address of the profile, if the provider has verified the address. */
export async function accountWithAddress(
  { run, addresses }: AccountBase,
  { email, emailVerified }: Profile,
): Promise<ExistingAccount | undefined> {
  const user = email !== undefined && emailVerified ? await findByEmail(run, email) : undefined
  if (!user) return undefined
  const isConfirmed = await addresses.isVerified(user.id, user.email)
  return isConfirmed ? { kind: 'confirmed', userId: user.id } : { kind: 'unconfirmed' }
}

/** The input of a new account, taken from the profile; undefined if something is missing and has to be asked for. */
export function accountFromProfile(
  { model }: AccountBase,
  { name, email, emailVerified }: Profile,
): EnteredAccount | undefined {
  if (name === undefined || email === undefined || !emailVerified) return undefined
  return signUpFields(model).length === 0 ? { name, email } : undefined
}

/** Stores the user, their proven address and their identity in one transaction. */
async function create(
  base: AccountBase,
  values: SignUpValues,
  identity: ProviderIdentity,
): Promise<NewAccountAnswer> {
  const { run, addresses, identities } = base
  let isTaken = false
  const withIdentity = writeWith(function* (id) {
    yield { kind: 'put', record: addresses.signedUpRecord(id, String(values.email), true) }
    isTaken = !(yield { kind: 'add', record: identities.recordOf(id, identity) })
    if (isTaken) throw new ApiError('CONFLICT')
  })
  try {
    await run.write(createPlan('users', values, {}), system, withIdentity)
    return { kind: 'created' }
  } catch (error) {
    if (isTaken || isAddressTaken(error)) return { kind: 'taken' }
    return { kind: 'faults', faults: refusal(error, base) }
  }
}

/** `address`: the one whose attempts are counted. */
export async function signUpByProvider(
  base: AccountBase,
  identity: ProviderIdentity,
  entered: EnteredAccount,
  address: string,
  requester: Requester,
): Promise<NewAccountAnswer> {
  const { profile } = identity
  const verifiedEmail = profile.emailVerified ? profile.email : undefined
  const { values, faults } = checkedValues(base, { ...entered, email: verifiedEmail ?? entered.email })
  if (faults.size > 0) return { kind: 'faults', faults }
  if (verifiedEmail !== undefined) return create(base, values, identity)
  const seconds = await base.signUpMails.take(String(values.email), address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const takenFaults = await takenValueFaults(base, values)
  if (takenFaults.size > 0) return { kind: 'faults', faults: takenFaults }
  return startSignUp(base, values, identity, requester)
}

/** Creates the account of a mailed link, if the same identity requested it. */
export async function finishSignUpByProvider(
  base: AccountBase,
  token: string,
  identity: ProviderIdentity,
): Promise<NewAccountAnswer | undefined> {
  const values = await redeemSignUp(base, token, identity)
  return values && create(base, values, identity)
}
