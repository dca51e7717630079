/** Sign-up. */

import { hash } from 'node:crypto'
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import type { Text } from '../../../base/html.ts'
import { system } from '../../../base/principal.ts'
import { writeWith } from '../../../engine/plan/run.ts'
import { createPlan } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import { bodyValidator } from '../../../model/validate.ts'
import type { Requester } from '../../mail/mailer.ts'
import { hashPassword, verifyPassword } from '../../password.ts'
import type { AccountBase } from '../accounts.ts'
import { sendConfirmation } from '../addresses/verification.ts'
import type { ProviderIdentity } from '../identities.ts'
import { lifetimeMinutes } from '../link-tokens.ts'
import { passwordFault } from '../sign-in/password-rules.ts'
import type { Throttled } from '../sign-in/throttle.ts'
import { findByEmail, type UserRow } from '../users.ts'
import { type EnteredField, signUpFields, takenValueFaults, valuesOf } from './sign-up-fields.ts'

export const signUpIsOff = 'Accounts are created by an administrator here.'

export interface NewAccount {
  readonly name: string
  readonly email: string
  readonly password: string
  readonly address: string
  /** The entered texts of the model's further fields, by field name. */
  readonly answers?: ReadonlyMap<string, string>
  readonly requester?: Requester
}

/** A link was sent, unless an account exists already, which the answer does not reveal. */
export interface SentLink {
  readonly kind: 'sent'
  readonly email: string
  /** The token for `sendLinkAgain`. */
  readonly again: string
}

export type SignUpAnswer =
  /** An account with the address exists now. The answer does not reveal whether one existed before. */
  | { readonly kind: 'ready' }
  | SentLink
  | { readonly kind: 'faults'; readonly faults: ReadonlyMap<string, Text> }
  | Throttled

export type SignUpValues = Readonly<Record<string, JsonValue>>

/** The stored payload of an account that is created when its link is opened. */
interface PendingSignUp {
  readonly values: SignUpValues
  /** The hash of the password. The person who opens the link must enter it, or have the identity `linked`. */
  readonly hashed?: string
  readonly linked?: ProviderIdentity
}

/** The messages for the fields of every account, in the order of the form. */
const fieldMessages: ReadonlyMap<string, string> = new Map([
  ['name', 'Enter your name, in at most 100 characters.'],
  ['email', 'Enter an e-mail address, e.g. ada@example.com.'],
])

/** The faults that validation found, in the order of the form. */
function valueFaults(error: unknown, fields: readonly EnteredField[]): Map<string, Text> {
  if (!(error instanceof ApiError) || !error.details) throw error
  return new Map(
    [...modelFaults(error.details, fields)].map(([name, message]) => [
      name,
      fieldMessages.get(name) ?? message,
    ]),
  )
}

/** The messages by the name of the form's field, in the order of the form. Those of other fields are joined as `form`. */
function modelFaults(details: readonly FieldFault[], fields: readonly EnteredField[]): Map<string, Text> {
  const messages = new Map(details.map(({ field, message }) => [field.split('/', 1)[0] ?? field, message]))
  const accountFaults = [...fieldMessages.keys()].flatMap((name): [string, string][] => {
    const message = messages.get(name)
    return message === undefined ? [] : [[name, message]]
  })
  const signUpFaults = fields.flatMap(({ name, label }): [string, string][] => {
    const message = messages.get(name)
    return message === undefined ? [] : [[name, `${label}: ${message.replace(`${name} `, '')}`]]
  })
  const names = new Set([...fieldMessages.keys(), ...fields.map(({ name }) => name)])
  const otherMessages = [...messages].filter(([field]) => !names.has(field)).map(([, message]) => message)
  const faults = [...accountFaults, ...signUpFaults]
  return new Map(otherMessages.length === 0 ? faults : [...faults, ['form', otherMessages.join(' ')]])
}

/** The faults in the order of the form. Those that belong to no field come last. */
function inOrder(faults: ReadonlyMap<string, Text>, names: readonly string[]): Map<string, Text> {
  const ofFields = names.flatMap(name => (faults.has(name) ? [[name, faults.get(name) ?? ''] as const] : []))
  return new Map([...ofFields, ...faults])
}

type WithoutPassword = Pick<NewAccount, 'name' | 'email' | 'answers'>

/** The values of a new account and their faults, checked by the model. Only fields that any caller can set are read. */
export function checkedValues({ model }: AccountBase, account: WithoutPassword) {
  const { name, email, answers = new Map<string, string>() } = account
  const users = model.collections.get('users')
  const fields = signUpFields(model)
  const { values: entered, missing } = valuesOf(fields, answers)
  let values: SignUpValues = {}
  let faults = new Map<string, Text>()
  try {
    // An empty name counts as missing: the model would accept it.
    const body = { ...entered, ...(name.trim() !== '' && { name: name.trim() }), email: email.trim() }
    if (users) ({ values } = bodyValidator(users).create(body))
  } catch (error) {
    faults = valueFaults(error, fields)
  }
  for (const [field, message] of missing) faults.set(field, message)
  faults = inOrder(faults, [...fieldMessages.keys(), ...fields.map(({ name }) => name)])
  return { values, faults }
}

function checkedAccount(base: AccountBase, account: NewAccount) {
  const { password, email } = account
  const { values, faults } = checkedValues(base, account)
  const fault = passwordFault(password, email.trim())
  if (fault !== undefined) faults.set('password', fault)
  return { values, faults }
}

async function create(
  base: AccountBase,
  values: SignUpValues,
  passwordHash: string,
  verified: boolean,
): Promise<number> {
  // In one transaction: without the record, the account would be treated as one that an administrator has created.
  const withAddress = writeWith(function* (id) {
    yield { kind: 'put', record: base.addresses.signedUpRecord(id, String(values.email), verified) }
  })
  return (
    await base.run.write(createPlan('users', values, { password_hash: passwordHash }), system, withAddress)
  ).id
}

/** Whether a write was refused because another account has the address. */
export function isAddressTaken(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.code === 'CONFLICT' &&
    error.details?.some(({ field }) => field === 'email') === true
  )
}

/** The messages of the model's refusal: by `check`, by a limit, or because a value is taken. Rethrows every other error. */
export function refusal(error: unknown, { model }: AccountBase): ReadonlyMap<string, Text> {
  const isRefusal = error instanceof ApiError && ['VALIDATION_FAILED', 'CONFLICT'].includes(error.code)
  if (!isRefusal) throw error
  return error.details ? modelFaults(error.details, signUpFields(model)) : new Map([['form', error.message]])
}

async function sendKnownAddress(
  { mail, issuer }: AccountBase,
  user: UserRow,
  requester?: Requester,
): Promise<void> {
  const values = { signInLink: `${issuer}/account/sign-in`, resetLink: `${issuer}/account/reset` }
  await mail.sendTemplate('knownAddress', { to: user.email, userId: user.id, requester }, values)
}

/**
 * Known and unknown addresses cause the same reads and commits, so timing reveals nothing. The model's `check` runs before the
 * database finds that the address is taken, so its refusals reveal nothing either.
 */
async function createOpen(
  base: AccountBase,
  values: SignUpValues,
  passwordHash: string,
  requester?: Requester,
): Promise<SignUpAnswer> {
  const email = String(values.email)
  try {
    const userId = await create(base, values, passwordHash, false)
    base.background(() => sendConfirmation(base, userId, email, requester))
    return { kind: 'ready' }
  } catch (error) {
    if (!isAddressTaken(error)) return { kind: 'faults', faults: refusal(error, base) }
  }
  await commitOnce(base, email)
  base.background(async () => {
    const user = await findByEmail(base.run, email)
    if (user) await sendKnownAddress(base, user, requester)
  })
  return { kind: 'ready' }
}

/** Commits a record without effect, in place of the commit that creates an account. */
async function commitOnce({ records, now }: AccountBase, email: string): Promise<void> {
  const id = hash('sha256', email, 'base64url')
  await records.put({ kind: 'SignUpAttempt', id, payload: '{}', expiresAt: now() + 60_000 })
}

/**
 * Mails the link that creates the account, or tells the owner of an existing account of the attempt. `proof`: the
 * hash of the password, or the identity.
 */
export async function startSignUp(
  base: AccountBase,
  values: SignUpValues,
  proof: string | ProviderIdentity,
  requester?: Requester,
): Promise<SentLink> {
  const pending: PendingSignUp =
    typeof proof === 'string' ? { values, hashed: proof } : { values, linked: proof }
  // For every address alike: whether there is an account is found out in the background only.
  const again = await base.tokens.issue('SignUpAgain', pending)
  base.background(() => sendLink(base, pending, requester))
  return { kind: 'sent', email: String(values.email), again }
}

/** Sends the link of a sign-up once more. `token`: `again` of its answer. */
export async function sendLinkAgain(
  base: AccountBase,
  token: string,
  address: string,
  requester?: Requester,
): Promise<SentLink | { readonly kind: 'over' } | Throttled> {
  const pending = await base.tokens.peek<PendingSignUp>('SignUpAgain', token)
  if (!pending) return { kind: 'over' }
  const email = String(pending.values.email)
  const seconds = await base.signUpMails.take(email, address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  base.background(() => sendLink(base, pending, requester))
  return { kind: 'sent', email, again: token }
}

/** What was entered in the sign-up, to be corrected; undefined if the token is wrong or has expired. */
export async function enteredSignUp({ tokens }: AccountBase, token: string) {
  const pending = await tokens.peek<PendingSignUp>('SignUpAgain', token)
  if (!pending) return undefined
  const { name, email, ...others } = pending.values
  // As the form has them: any text but an empty one checks a checkbox.
  const textOf = (value: JsonValue | undefined) => (value === false ? '' : String(value ?? ''))
  const answers = new Map(Object.entries(others).map(([field, value]) => [field, textOf(value)]))
  return { name: String(name ?? ''), email: String(email), answers }
}

async function sendLink(base: AccountBase, pending: PendingSignUp, requester?: Requester): Promise<void> {
  const { run, mail, tokens, issuer } = base
  const to = String(pending.values.email)
  const user = await findByEmail(run, to)
  if (user) return sendKnownAddress(base, user, requester)
  const link = `${issuer}/account/verify?account=${await tokens.issue('PendingAccount', pending)}`
  const minutes = lifetimeMinutes('PendingAccount')
  return mail.sendTemplate('finishSignUp', { to, requester }, { link, minutes })
}

/** Signs up by a password. Throws NOT_FOUND if sign-up is off. */
export async function signUp(base: AccountBase, account: NewAccount): Promise<SignUpAnswer> {
  if (base.signUp === 'off') throw new ApiError('NOT_FOUND', signUpIsOff)
  const { values, faults } = checkedAccount(base, account)
  if (faults.size > 0) return { kind: 'faults', faults }
  const seconds = await base.signUpMails.take(String(values.email), account.address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const passwordHash = await hashPassword(account.password)
  const takenFaults = await takenValueFaults(base, values)
  if (takenFaults.size > 0) return { kind: 'faults', faults: takenFaults }
  if (base.signUp === 'open') return createOpen(base, values, passwordHash, account.requester)
  return startSignUp(base, values, passwordHash, account.requester)
}

/** The address to which the link was sent. `provider`: its id; undefined if the account gets a password. */
export async function pendingSignUp({ tokens }: AccountBase, token: string) {
  const pending = await tokens.peek<PendingSignUp>('PendingAccount', token)
  return pending && { email: String(pending.values.email), provider: pending.linked?.provider }
}

/** Consumes the link. Returns the values of its account, if the account is pending for this identity. */
export async function redeemSignUp(
  { tokens }: AccountBase,
  token: string,
  { provider, profile }: ProviderIdentity,
): Promise<SignUpValues | undefined> {
  const expected = (await tokens.peek<PendingSignUp>('PendingAccount', token))?.linked
  const isSame =
    expected?.provider === provider &&
    expected.profile.issuer === profile.issuer &&
    expected.profile.subject === profile.subject
  if (!isSame) return undefined
  return (await tokens.redeem<PendingSignUp>('PendingAccount', token))?.values
}

export type FinishAnswer =
  | { readonly kind: 'created'; readonly userId: number }
  | { readonly kind: 'wrong' }
  /** The link was used or has expired, or the address was taken in the meantime. */
  | { readonly kind: 'over' }
  /** The model has refused the account, with these messages. */
  | { readonly kind: 'refused'; readonly messages: readonly Text[] }
  | Throttled

/**
 * Creates the account when its link is opened and the password of the sign-up is entered. If the password were not required,
 * the recipient of the mail could create an account to which the sender of the form can sign in.
 */
export async function finishSignUp(
  base: AccountBase,
  token: string,
  password: string,
  address: string,
): Promise<FinishAnswer> {
  const { tokens, attempts } = base
  const stored = await tokens.peek<PendingSignUp>('PendingAccount', token)
  const passwordHash = stored?.hashed
  if (!stored || passwordHash === undefined) return { kind: 'over' }
  const key = `pending:${String(stored.values.email)}`
  const seconds = await attempts.take(key, address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  if (!(await verifyPassword(password, passwordHash))) return { kind: 'wrong' }
  const pending = await tokens.redeem<PendingSignUp>('PendingAccount', token)
  if (!pending) return { kind: 'over' }
  attempts.succeed(key, address)
  try {
    return { kind: 'created', userId: await create(base, pending.values, passwordHash, true) }
  } catch (error) {
    if (isAddressTaken(error)) return { kind: 'over' }
    return { kind: 'refused', messages: [...refusal(error, base).values()] }
  }
}
