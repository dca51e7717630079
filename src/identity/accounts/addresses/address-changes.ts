/**
 * Changes of an account's e-mail address through the API. Write access to an account must not be enough to take it over: the
 * old address stays until the new one is proven by a link that requires the owner's password. Only an administrator's change
 * of another account takes effect at once.
 */

import { ApiError } from '../../../base/errors.ts'
import { isAdministrator, type Principal } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import type { RateCounters } from '../../../engine/cluster/cluster.ts'
import type { CreateShape, Plan, UpdateShape } from '../../../engine/plan/plan.ts'
import { requireRecentSignIn } from '../../../engine/plan/recent-sign-in.ts'
import { type Run, type WriteSteps, writeWith } from '../../../engine/plan/run.ts'
import { canonicalEmail } from '../../../model/fields/email.ts'
import type { Background } from '../../background.ts'
import type { Mailer } from '../../mail/mailer.ts'
import { createTokens } from '../link-tokens.ts'
import { notifyOfAddress } from '../notifications.ts'
import { createThrottle, mailAllowances } from '../sign-in/throttle.ts'
import { findUser, type UserRow } from '../users.ts'
import { createAddresses } from './addresses.ts'
import { sendNewAddress } from './verification.ts'

export interface AddressChangeParts {
  readonly run: Run
  readonly records: Records
  readonly counters: RateCounters
  readonly mail: Mailer
  /** The service's own address, for links. */
  readonly issuer: () => string
  readonly background: Background
  readonly now?: () => number
}

/** The caller of a write, and further steps of its transaction. */
interface WriteContext {
  readonly principal: Principal
  readonly steps: WriteSteps | undefined
}

/** The pending change of an address, and the links that were sent to the previous one. */
const kindsOfPreviousAddress = ['PendingAddress', 'AddressVerification', 'PasswordReset']

/** Wraps the writes of users that set `email`. Throws RATE_LIMITED if too many mails would be sent. */
export function addressChanges(parts: AddressChangeParts): Run['write'] {
  const { run, records, counters, background, mail, now = Date.now } = parts
  const addresses = createAddresses(records, now)
  const mails = createThrottle({ name: 'mail-address', allowances: mailAllowances, counters, now })
  const sender = () => ({
    run,
    mail,
    background,
    issuer: parts.issuer(),
    tokens: createTokens(records, now),
  })

  /** Takes one attempt. Returns the seconds to wait before the mails may be sent; undefined: they may be sent now. */
  const takeAttempt = ({ userId }: Principal, email: string) => mails.take(email, `user:${userId}`)
  const create = async ({ principal, steps }: WriteContext, plan: Plan<CreateShape>, email: string) => {
    if (isAdministrator(principal.access)) return run.write(plan, principal, steps)
    // Nobody has proven the address, as after a sign-up.
    const withAddress = writeWith(function* (id) {
      yield { kind: 'put', record: addresses.signedUpRecord(id, canonicalEmail(email), false) }
    }, steps)
    return run.write(plan, principal, withAddress)
  }
  const assign = async (
    { principal, steps }: WriteContext,
    plan: Plan<UpdateShape>,
    user: UserRow,
    email: string,
  ) => {
    // The owner of the new address can reset the password.
    requireRecentSignIn(principal)
    const record = await addresses.assignedRecord(user.id, email)
    const withAddress = writeWith(function* () {
      yield { kind: 'put', record }
      yield { kind: 'deleteOwned', owner: String(user.id), kinds: kindsOfPreviousAddress }
    }, steps)
    const answer = await run.write(plan, principal, withAddress)
    notifyOfAddress(sender(), user, { kind: 'changed', address: email, by: 'administrator' })
    return answer
  }
  const requestChange = async (
    { principal, steps }: WriteContext,
    plan: Plan<UpdateShape>,
    user: UserRow,
    email: string,
  ) => {
    const isOwn = principal.userId === user.id
    if (isOwn) requireAttempt(await takeAttempt(principal, email))
    const answer = await run.write({ ...plan, shape: withoutEmail(plan.shape) }, principal, steps)
    // After the write: callers who may not change the account must not learn that it exists, or use up its mails.
    if (!isOwn && (await takeAttempt(principal, email)) !== undefined) return answer
    await addresses.setPending(user.id, email)
    notifyOfAddress(sender(), user, { kind: 'requested', address: email })
    background(() => sendNewAddress(sender(), user.id, email))
    return answer
  }
  return async (plan, principal, steps) => {
    const { shape, args } = plan
    const context = { principal, steps }
    if (shape.kind === 'delete') return run.write(plan, principal, steps)
    const param = shape.set.find(({ field }) => field === 'email')?.param
    const email = param === undefined ? undefined : args[param]
    if (typeof email !== 'string') return run.write(plan, principal, steps)
    if (shape.kind === 'create') return create(context, { shape, args }, email)
    const user = await findUser(run, Number(args[shape.id]))
    if (!user || user.email === email) return run.write(plan, principal, steps)
    const isOther = isAdministrator(principal.access) && principal.userId !== user.id
    return (isOther ? assign : requestChange)(context, { shape, args }, user, email)
  }
}

/** `seconds`: the waiting time. Throws RATE_LIMITED if there is one. */
function requireAttempt(seconds: number | undefined): void {
  if (seconds === undefined) return
  const headers = { 'Retry-After': String(seconds) }
  throw new ApiError('RATE_LIMITED', 'The address was changed too often. Try again later.', { headers })
}

const withheldShapes = new WeakMap<UpdateShape, UpdateShape>()

/** The shape without the e-mail address. One object per shape, because each shape is compiled once. */
function withoutEmail(shape: UpdateShape): UpdateShape {
  const cached = withheldShapes.get(shape)
  if (cached) return cached
  const withheldShape = { ...shape, withheld: ['email'] }
  withheldShapes.set(shape, withheldShape)
  return withheldShape
}
