/** Sign-in by password or by a provider, with a one-time code if codes are on, or by passkey. */

import { canonicalEmail } from '../../../model/fields/email.ts'
import { verifyPassword } from '../../password.ts'
import { signInTime } from '../../server/sessions/session-ends.ts'
import type { AccountBase } from '../accounts.ts'
import type { Profile } from '../providers/provider.ts'
import { findByEmail, findUser, hasSamePassword } from '../users.ts'
import type { Passkeys } from './passkeys.ts'
import type { Throttled } from './throttle.ts'

/** The successful authentication of a user. `methods`: see RFC 8176. */
export interface Authentication {
  readonly kind: 'authenticated'
  readonly userId: number
  readonly remember: boolean
  readonly methods: readonly string[]
  /** Seconds since 1970: see `signInTime`. */
  readonly at: number
}

export type SignInAnswer =
  | Authentication
  /** The password or the provider was right and a one-time code is needed; `token` proves the first step. */
  | { readonly kind: 'second-factor'; readonly token: string }
  | { readonly kind: 'wrong' }
  | Throttled

/** Where an attempt comes from: limits are counted by address and by known device. */
export interface AttemptOrigin {
  readonly address: string
  /** The secrets in the browser's cookie: see `Devices`. */
  readonly secrets?: readonly string[]
}

export interface PasswordAttempt extends AttemptOrigin {
  readonly email: string
  readonly password: string
  readonly remember: boolean
}

interface PendingSignIn {
  readonly userId: number
  readonly remember: boolean
  /** The methods (RFC 8176) unless the first step was a password. */
  readonly methods?: readonly string[]
  readonly at: number
}

const wrong = { kind: 'wrong' } as const

/** An unknown address and a wrong password cause the same work and get the same answer. */
export async function signInByPassword(base: AccountBase, attempt: PasswordAttempt): Promise<SignInAnswer> {
  const { run, records, attempts, addresses, codes, tokens, devices, now } = base
  const { password, remember, address, secrets = [] } = attempt
  const email = canonicalEmail(attempt.email.trim())
  const user = await findByEmail(run, email)
  const device = await devices.find(secrets, user?.id ?? 0)
  // With a prefix, because users can enter any text as an address, e.g. `confirm:7`.
  const key = `sign-in:${email}`
  const seconds = await attempts.take(key, address, device)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const at = await signInTime(records, user?.id ?? 0, now())
  const isRight = await verifyPassword(password, user?.password_hash ?? undefined)
  if (!user || !isRight || !(await hasSamePassword(run, user))) return wrong
  attempts.succeed(key, address, device)
  if (await codes.isOn(user.id)) {
    const pending: PendingSignIn = { userId: user.id, remember, at }
    return {
      kind: 'second-factor',
      token: await tokens.issue('SecondFactor', pending, { owner: String(user.id) }),
    }
  }
  await addresses.remember(user.id, user.email)
  return { kind: 'authenticated', userId: user.id, remember, methods: ['pwd'], at }
}

/**
 * Signs in the user who has the identity, found by issuer and subject alone; undefined if nobody has it. It is unknown how the
 * provider authenticated the user, so no method (RFC 8176) is stated, and a one-time code is required as after a password.
 */
export async function signInByProvider(
  { run, identities, codes, tokens }: AccountBase,
  profile: Profile,
): Promise<SignInAnswer | undefined> {
  const proof = await identities.find(profile)
  if (!proof) return undefined
  const { userId, at } = proof
  if (!(await findUser(run, userId))) {
    // The record of a deleted user, which has not been removed yet.
    await identities.forget(profile)
    return undefined
  }
  const remember = true
  if (!(await codes.isOn(userId))) return { kind: 'authenticated', userId, remember, methods: [], at }
  const pending: PendingSignIn = { userId, remember, at, methods: ['otp'] }
  return {
    kind: 'second-factor',
    token: await tokens.issue('SecondFactor', pending, { owner: String(userId) }),
  }
}

/** Verifies the password of a user who is signed in already. Undefined if it is right. */
export async function confirmPassword(
  { run, attempts, devices }: AccountBase,
  userId: number,
  password: string,
  { address, secrets = [] }: AttemptOrigin,
): Promise<Exclude<SignInAnswer, Authentication> | undefined> {
  const key = `confirm:${userId}`
  const device = await devices.find(secrets, userId)
  const seconds = await attempts.take(key, address, device)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const user = await findUser(run, userId)
  const isRight = await verifyPassword(password, user?.password_hash ?? undefined)
  if (!user || !isRight || !(await hasSamePassword(run, user))) return wrong
  attempts.succeed(key, address, device)
  return undefined
}

/** `token`: from the answer `second-factor`. */
export async function signInByCode(
  { tokens, codes, codeAttempts, devices, run }: AccountBase,
  token: string,
  code: string,
  { address, secrets = [] }: AttemptOrigin,
): Promise<SignInAnswer | { readonly kind: 'over' }> {
  const pending = await tokens.peek<PendingSignIn>('SecondFactor', token)
  const user = pending && (await findUser(run, pending.userId))
  if (!pending || !user) return { kind: 'over' }
  const key = `code:${user.id}`
  const device = await devices.find(secrets, user.id)
  const seconds = await codeAttempts.take(key, address, device)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  if (!(await codes.check(user.id, code))) return wrong
  if (!(await tokens.redeem('SecondFactor', token))) return { kind: 'over' }
  codeAttempts.succeed(key, address, device)
  const { remember, at, methods = ['pwd', 'otp', 'mfa'] } = pending
  return { kind: 'authenticated', userId: user.id, remember, methods, at }
}

/** The key by which requests for a challenge are counted. */
function optionsKey(address: string): string {
  return `options:${address}`
}

/** The options for a passkey sign-in, or the seconds to wait after too many requests. */
export async function passkeyOptions(
  { passkeyAttempts, devices }: AccountBase,
  passkeys: Passkeys,
  { address, secrets = [] }: AttemptOrigin,
): Promise<object | number> {
  const device = await devices.findAny(secrets)
  const seconds = await passkeyAttempts.take(optionsKey(address), address, device && `options:${device}`)
  return seconds ?? passkeys.requestOptions()
}

/** Authenticators verify the user, so a passkey counts as two factors and no code is required. */
export async function signInByPasskey(
  { run, records, passkeyAttempts, devices, now }: AccountBase,
  passkeys: Passkeys,
  response: string,
  { address, secrets = [] }: AttemptOrigin,
): Promise<SignInAnswer> {
  // Only the response names the account, so attempts are counted by address.
  const key = `answer:${address}`
  const device = await devices.findAny(secrets)
  const seconds = await passkeyAttempts.take(key, address, device)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const proof = await passkeys.verify(response, id => signInTime(records, id, now()))
  if (proof === undefined || !(await findUser(run, proof.userId))) return wrong
  passkeyAttempts.succeed(key, address, device)
  passkeyAttempts.succeed(optionsKey(address), address, device && `options:${device}`)
  return {
    kind: 'authenticated',
    userId: proof.userId,
    remember: true,
    methods: ['hwk', 'user', 'mfa'],
    at: proof.at,
  }
}
