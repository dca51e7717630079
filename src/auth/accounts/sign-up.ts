/** Sign-up. */
import { hash } from 'node:crypto'
import { ApiError, type FieldFault } from '../../errors.ts'
import type { JsonValue } from '../../model/fields/type.ts'
import { bodyValidator } from '../../model/validate.ts'
import { writeWith } from '../../plan/run.ts'
import { createPlan } from '../../plan/system-plans.ts'
import { system } from '../../principal.ts'
import type { Asker } from '../mail/mailer.ts'
import { hashPassword, verifyPassword } from '../password.ts'
import type { AccountBase } from './accounts.ts'
import { sendConfirmation } from './addresses/verification.ts'
import type { Linked } from './identities.ts'
import { lifetimeMinutes } from './link-tokens.ts'
import { passwordFault } from './sign-in/password-rules.ts'
import { type SignUpField, signUpFields, takenAnswers, valuesOf } from './sign-up/sign-up-fields.ts'
import { findByEmail, type UserRow } from './users.ts'

export const signUpIsOff = 'Accounts are made by the administrator here.'

export interface NewAccount {
  readonly name: string
  readonly email: string
  readonly password: string
  readonly address: string
  /** Entered texts of the model's further fields, by the name of the field. */
  readonly answers?: ReadonlyMap<string, string>
  readonly asker?: Asker
}

export type SignUpAnswer =
  /** An account with the address exists now. Whether it did before is not revealed. */
  | { readonly kind: 'ready' }
  /** A link was sent, or would have been. Whether an account existed is not revealed. */
  | { readonly kind: 'sent' }
  | { readonly kind: 'faults'; readonly faults: ReadonlyMap<string, string> }
  | { readonly kind: 'throttled'; readonly seconds: number }

export type SignUpValues = Readonly<Record<string, JsonValue>>

/** An account that is created when its link is opened. */
interface Pending {
  readonly values: SignUpValues
  /** The person who opens the link must know the password of this hash, or have the identity `linked`. */
  readonly hashed?: string
  readonly linked?: Linked
}

/** In the order of the form. */
const sentences: ReadonlyMap<string, string> = new Map([
  ['name', 'Enter your name, in at most 100 characters.'],
  ['email', 'Enter an e-mail address, e.g. ada@example.com.'],
])

/** The faults that validation has found, in the order of the form. */
function valueFaults(error: unknown, fields: readonly SignUpField[]): Map<string, string> {
  if (!(error instanceof ApiError) || !error.details) throw error
  return new Map(
    [...modelFaults(error.details, fields)].map(([name, text]) => [name, sentences.get(name) ?? text]),
  )
}

/** In the order of the form. */
function modelFaults(details: readonly FieldFault[], fields: readonly SignUpField[]): Map<string, string> {
  const told = new Map(details.map(({ field, message }) => [field.split('/', 1)[0] ?? field, message]))
  const known = [...sentences.keys()].flatMap((name): [string, string][] => {
    const message = told.get(name)
    return message === undefined ? [] : [[name, message]]
  })
  const asked = fields.flatMap(({ name, label }): [string, string][] => {
    const message = told.get(name)
    return message === undefined ? [] : [[name, `${label}: ${message.replace(`${name} `, '')}`]]
  })
  const names = new Set([...sentences.keys(), ...fields.map(({ name }) => name)])
  const other = [...told].filter(([field]) => !names.has(field)).map(([, message]) => message)
  const faults = [...known, ...asked]
  return new Map(other.length === 0 ? faults : [...faults, ['form', other.join(' ')]])
}

/** In the order of the form; faults of no field come last. */
function inOrder(faults: ReadonlyMap<string, string>, names: readonly string[]): Map<string, string> {
  const known = names.flatMap(name => (faults.has(name) ? [[name, faults.get(name) ?? ''] as const] : []))
  return new Map([...known, ...faults])
}

type WithoutPassword = Pick<NewAccount, 'name' | 'email' | 'answers'>

/** The values of a new account and their faults, checked by the model. Only fields that anybody may set are read. */
export function checkedValues({ model }: AccountBase, account: WithoutPassword) {
  const { name, email, answers = new Map<string, string>() } = account
  const users = model.collections.get('users')
  const fields = signUpFields(model)
  const { values: given, missing } = valuesOf(fields, answers)
  let values: SignUpValues = {}
  let faults = new Map<string, string>()
  try {
    // An empty name is treated as missing: the model would accept it.
    const body = { ...given, ...(name.trim() !== '' && { name: name.trim() }), email: email.trim() }
    if (users) ({ values } = bodyValidator(users).create(body))
  } catch (error) {
    faults = valueFaults(error, fields)
  }
  for (const [field, message] of missing) faults.set(field, message)
  faults = inOrder(faults, [...sentences.keys(), ...fields.map(one => one.name)])
  return { values, faults }
}

function checked(base: AccountBase, account: NewAccount) {
  const { password, email } = account
  const { values, faults } = checkedValues(base, account)
  const fault = passwordFault(password, email.trim())
  if (fault !== undefined) faults.set('password', fault)
  return { values, faults }
}

async function create(
  base: AccountBase,
  values: SignUpValues,
  hashed: string,
  verified: boolean,
): Promise<number> {
  // In one transaction: without the record, the account would be treated as one that an administrator has created.
  const withAddress = writeWith(function* (id) {
    yield { kind: 'put', record: base.addresses.signedUpRecord(id, String(values.email), verified) }
  })
  return (await base.run.write(createPlan('users', values, { password_hash: hashed }), system, withAddress))
    .id
}

export function hasAddress(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    error.code === 'CONFLICT' &&
    error.details?.some(({ field }) => field === 'email') === true
  )
}

/** Why the model refused a new account: by `check`, by a limit, or because a value is taken. Rethrows every other error. */
export function refusal(error: unknown, { model }: AccountBase): ReadonlyMap<string, string> {
  const isRefusal = error instanceof ApiError && ['VALIDATION_FAILED', 'CONFLICT'].includes(error.code)
  if (!isRefusal) throw error
  return error.details ? modelFaults(error.details, signUpFields(model)) : new Map([['form', error.message]])
}

async function sendKnown({ mail, issuer }: AccountBase, user: UserRow, asker?: Asker): Promise<void> {
  const values = { signInLink: `${issuer}/account/sign-in`, resetLink: `${issuer}/account/reset` }
  await mail.sendTemplate('knownAddress', { to: user.email, userId: user.id, asker }, values)
}

/**
 * Known and unknown addresses cause the same reads and commits, so timing reveals nothing. The model refuses both alike: its
 * `check` runs before the database finds that the address is taken.
 */
async function createOpen(
  base: AccountBase,
  values: SignUpValues,
  hashed: string,
  asker?: Asker,
): Promise<SignUpAnswer> {
  const email = String(values.email)
  try {
    const userId = await create(base, values, hashed, false)
    base.background(() => sendConfirmation(base, userId, email, asker))
    return { kind: 'ready' }
  } catch (error) {
    if (!hasAddress(error)) return { kind: 'faults', faults: refusal(error, base) }
  }
  await commitOnce(base, email)
  base.background(async () => {
    const user = await findByEmail(base.run, email)
    if (user) await sendKnown(base, user, asker)
  })
  return { kind: 'ready' }
}

/** Makes a commit without effect in place of the one that creates an account. */
async function commitOnce({ records, now }: AccountBase, email: string): Promise<void> {
  const id = hash('sha256', email, 'base64url')
  await records.put({ kind: 'SignUpAttempt', id, payload: '{}', expiresAt: now() + 60_000 })
}

export async function sendLink(
  base: AccountBase,
  values: SignUpValues,
  proof: string | Linked,
  asker?: Asker,
): Promise<void> {
  const { run, mail, tokens, issuer } = base
  const to = String(values.email)
  const user = await findByEmail(run, to)
  if (user) return sendKnown(base, user, asker)
  const pending: Pending = typeof proof === 'string' ? { values, hashed: proof } : { values, linked: proof }
  const link = `${issuer}/account/verify?account=${await tokens.issue('PendingAccount', pending)}`
  const minutes = lifetimeMinutes('PendingAccount')
  return mail.sendTemplate('finishSignUp', { to, asker }, { link, minutes })
}

export async function signUp(base: AccountBase, account: NewAccount): Promise<SignUpAnswer> {
  if (base.signUp === 'off') throw new ApiError('NOT_FOUND', signUpIsOff)
  const { values, faults } = checked(base, account)
  if (faults.size > 0) return { kind: 'faults', faults }
  const seconds = await base.signUpMails.take(String(values.email), account.address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  const hashed = await hashPassword(account.password)
  const taken = await takenAnswers(base, values)
  if (taken.size > 0) return { kind: 'faults', faults: taken }
  if (base.signUp === 'open') return createOpen(base, values, hashed, account.asker)
  base.background(() => sendLink(base, values, hashed, account.asker))
  return { kind: 'sent' }
}

/** The address to which a link for a new account was sent. `provider`: its id; undefined: the account gets a password. */
export async function pendingSignUp({ tokens }: AccountBase, token: string) {
  const pending = await tokens.peek<Pending>('PendingAccount', token)
  return pending && { email: String(pending.values.email), provider: pending.linked?.provider }
}

/** The values of the account that is pending for this identity. Consumes the link. */
export async function redeemSignUp(
  { tokens }: AccountBase,
  token: string,
  { provider, profile }: Linked,
): Promise<SignUpValues | undefined> {
  const waiting = await tokens.peek<Pending>('PendingAccount', token)
  const wanted = waiting?.linked
  const isSame =
    wanted?.provider === provider &&
    wanted.profile.issuer === profile.issuer &&
    wanted.profile.subject === profile.subject
  if (!isSame) return undefined
  return (await tokens.redeem<Pending>('PendingAccount', token))?.values
}

export type FinishAnswer =
  | { readonly kind: 'made'; readonly userId: number }
  | { readonly kind: 'wrong' }
  /** The link is used or expired, or the address was taken in the meantime. */
  | { readonly kind: 'over' }
  /** The model has refused the account for these reasons. */
  | { readonly kind: 'refused'; readonly messages: readonly string[] }
  | { readonly kind: 'throttled'; readonly seconds: number }

/**
 * Creates the account when its link is opened and the password of the sign-up is entered. Without the password, the recipient
 * of the mail would create an account to which the sender of the form could sign in.
 */
export async function finishSignUp(
  base: AccountBase,
  token: string,
  password: string,
  address: string,
): Promise<FinishAnswer> {
  const { tokens, attempts } = base
  const waiting = await tokens.peek<Pending>('PendingAccount', token)
  const hashed = waiting?.hashed
  if (!waiting || hashed === undefined) return { kind: 'over' }
  const key = `pending:${String(waiting.values.email)}`
  const seconds = await attempts.take(key, address)
  if (seconds !== undefined) return { kind: 'throttled', seconds }
  if (!(await verifyPassword(password, hashed))) return { kind: 'wrong' }
  const pending = await tokens.redeem<Pending>('PendingAccount', token)
  if (!pending) return { kind: 'over' }
  attempts.succeed(key, address)
  try {
    return { kind: 'made', userId: await create(base, pending.values, hashed, true) }
  } catch (error) {
    if (hasAddress(error)) return { kind: 'over' }
    return { kind: 'refused', messages: [...refusal(error, base).values()] }
  }
}
