/**
 * Accounts that are created by a sign-in with a provider. Each has a confirmed address from the start: the provider has
 * verified it, or its owner has opened a link and then proven the same identity.
 */
import { ApiError } from '../../../errors.ts'
import { writeWith } from '../../../plan/run.ts'
import { createPlan } from '../../../plan/system-plans.ts'
import { system } from '../../../principal.ts'
import type { Asker } from '../../mail/mailer.ts'
import type { AccountBase } from '../accounts.ts'
import type { Linked } from '../identities.ts'
import type { Profile } from '../providers/provider.ts'
import { checkedValues, hasAddress, redeemSignUp, refusal, type SignUpValues, sendLink } from '../sign-up.ts'
import { findByEmail } from '../users.ts'
import { signUpFields, takenAnswers } from './sign-up-fields.ts'

/** What was entered on the page that asks for what the provider has not supplied. */
export interface Entered {
  readonly name: string
  /** Ignored where the provider has verified one. */
  readonly email: string
  readonly answers?: ReadonlyMap<string, string>
}

export type NewAccountAnswer =
  | { readonly kind: 'made' }
  /** A concurrent sign-up has created an account with the identity or the address. */
  | { readonly kind: 'taken' }
  /** A link was sent, or would have been. Whether an account existed is not revealed. */
  | { readonly kind: 'sent' }
  | { readonly kind: 'faults'; readonly faults: ReadonlyMap<string, string> }
  | { readonly kind: 'throttled'; readonly seconds: number }

export type KnownAddress =
  /** The account's address is confirmed too: its owner may link the identity after signing in. */
  | { readonly kind: 'confirmed'; readonly userId: number }
  /** Somebody else may have created the account, so nothing is linked to it before its address is confirmed. */
  | { readonly kind: 'unconfirmed' }

/** The account with the address that the provider has verified. */
export async function accountOfAddress(
  { run, addresses }: AccountBase,
  { email, emailVerified }: Profile,
): Promise<KnownAddress | undefined> {
  const user = email !== undefined && emailVerified ? await findByEmail(run, email) : undefined
  if (!user) return undefined
  const isConfirmed = await addresses.isVerified(user.id, user.email)
  return isConfirmed ? { kind: 'confirmed', userId: user.id } : { kind: 'unconfirmed' }
}

/** The values of an account, if nothing has to be asked; undefined if something is missing. */
export function enoughFor(
  { model }: AccountBase,
  { name, email, emailVerified }: Profile,
): Entered | undefined {
  if (name === undefined || email === undefined || !emailVerified) return undefined
  return signUpFields(model).length === 0 ? { name, email } : undefined
}

const taken = { kind: 'taken' } as const

/** Stores the user, their proven address and their identity in one transaction. */
async function create(base: AccountBase, values: SignUpValues, linked: Linked): Promise<NewAccountAnswer> {
  const { run, addresses, identities } = base
  let isTaken = false
  const withIdentity = writeWith(function* (id) {
    yield { kind: 'put', record: addresses.signedUpRecord(id, String(values.email), true) }
    isTaken = !(yield { kind: 'add', record: identities.recordOf(id, linked) })
    if (isTaken) throw new ApiError('CONFLICT')
  })
  try {
    await run.write(createPlan('users', values, {}), system, withIdentity)
    return { kind: 'made' }
  } catch (error) {
    if (isTaken || hasAddress(error)) return taken
    return { kind: 'faults', faults: refusal(error, base) }
  }
}

/** `address`: whose attempts are counted. */
export async function signUpByProvider(
  base: AccountBase,
  linked: Linked,
  entered: Entered,
  address: string,
  asker: Asker,
): Promise<NewAccountAnswer> {
  const { profile } = linked
  const proven = profile.emailVerified ? profile.email : undefined
  const { values, faults } = checkedValues(base, { ...entered, email: proven ?? entered.email })
  if (faults.size > 0) return { kind: 'faults', faults }
  if (proven !== undefined) return create(base, values, linked)
  const seconds = await base.signUpMails.take(String(values.email), address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const others = await takenAnswers(base, values)
  if (others.size > 0) return { kind: 'faults', faults: others }
  base.background(() => sendLink(base, values, linked, asker))
  return { kind: 'sent' }
}

/** Creates the account whose link was opened, if the same identity has asked for it. */
export async function finishByProvider(
  base: AccountBase,
  token: string,
  linked: Linked,
): Promise<NewAccountAnswer | undefined> {
  const values = await redeemSignUp(base, token, linked)
  return values && create(base, values, linked)
}
