/** Sign-in, sign-up, reset and sign-out as JSON operations, for the pages of an app of the same origin. */
import type { Reply } from '../../../call.ts'
import { ApiError } from '../../../errors.ts'
import { requestReset, reset } from '../recovery/reset.ts'
import { type SignInAnswer, signInByCode, signInByPasskey, signInByPassword } from '../sign-in.ts'
import { signUpFields } from '../sign-up/sign-up-fields.ts'
import { signUp } from '../sign-up.ts'
import { findUser, type UserRow } from '../users.ts'
import { askerOf } from './asker.ts'
import { type RouteParts, signedIn, type Visit } from './context.ts'
import { invalid, JsonBody } from './json-body.ts'
import { requestOptions } from './security.ts'
import { fromOf, rememberDevice } from './sign-in/device-cookie.ts'
import { messages } from './sign-in.ts'

/** `body`: parsed. */
type Operation = (parts: RouteParts, visit: Visit, body: unknown) => Promise<Reply>

function answer(status: number, value: object): Reply {
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store', 'Vary', 'Cookie, Accept']
  return { status, headers, body: JSON.stringify(value) }
}

function tooMany(seconds: number): ApiError {
  return new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': String(seconds) } })
}

/** `field` is omitted if the answer must not reveal which one is wrong. */
function refused(message: string, field?: string): ApiError {
  const details = field === undefined ? {} : { details: [{ field, code: 'not_accepted', message }] }
  return new ApiError('UNAUTHORIZED', message, details)
}

async function userReply({ base }: RouteParts, { id, name, email, role }: UserRow): Promise<Reply> {
  const email_verified = await base.addresses.isVerified(id, email)
  return answer(200, { user: { id, name, email, role, email_verified } })
}

async function settled(
  parts: RouteParts,
  visit: Visit,
  given: SignInAnswer | { readonly kind: 'over' },
  wrong: ApiError,
): Promise<Reply> {
  if (given.kind === 'throttled') throw tooMany(given.seconds)
  if (given.kind === 'second-factor') return answer(200, { second_factor: given.token })
  if (given.kind === 'over') throw refused(messages.over, 'second_factor')
  if (given.kind === 'wrong') throw wrong
  const { kind: _proven, ...proof } = given
  const { req, res, address } = visit
  visit.userId = proof.userId
  await parts.server.signIn(req, res, { ...proof, address })
  await rememberDevice(parts, visit, proof.userId)
  const user = await findUser(parts.base.run, proof.userId)
  if (!user) throw new ApiError('UNAUTHORIZED')
  return userReply(parts, user)
}

const signInOperation: Operation = async (parts, visit, given) => {
  const from = fromOf(parts, visit)
  const body = new JsonBody(given, {
    ...{ email: 'text', password: 'text', remember: 'flag' },
    ...{ second_factor: 'text', code: 'text', passkey: 'object' },
  })
  if (body.has('second_factor')) {
    body.require('second_factor', 'code')
    const by = await signInByCode(parts.base, body.text('second_factor'), body.text('code'), from)
    return settled(parts, visit, by, refused(messages.code, 'code'))
  }
  if (body.has('passkey')) {
    const by = await signInByPasskey(parts.base, parts.passkeys, JSON.stringify(body.get('passkey')), from)
    return settled(parts, visit, by, refused(messages.passkey, 'passkey'))
  }
  body.require('email', 'password')
  const [email, password] = [body.text('email'), body.text('password')]
  const remember = body.get('remember') === true
  const by = await signInByPassword(parts.base, { email, password, remember, ...from })
  return settled(parts, visit, by, refused(messages.wrong))
}

/** A value as the form of the sign-up page sends it. */
function formText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : ''
  return value === undefined ? '' : String(value)
}

const signUpOperation: Operation = async (parts, visit, given) => {
  const { base } = parts
  const names = signUpFields(base.model).map(({ name }) => name)
  const body = new JsonBody(given, {
    ...Object.fromEntries(names.map(name => [name, 'value'] as const)),
    ...{ name: 'text', email: 'text', password: 'text' },
  })
  const made = await signUp(base, {
    name: body.text('name'),
    email: body.text('email'),
    password: body.text('password'),
    address: parts.throttleAddress(visit.address),
    asker: askerOf(visit),
    answers: new Map(names.map(name => [name, formText(body.get(name))])),
  })
  if (made.kind === 'throttled') throw tooMany(made.seconds)
  if (made.kind === 'faults') {
    throw invalid([...made.faults].map(([field, message]) => ({ field, code: 'not_accepted', message })))
  }
  const next = made.kind === 'sent' ? 'confirm_address' : 'sign_in'
  return answer(202, { next, message: made.kind === 'sent' ? messages.sent : messages.ready })
}

const resetOperation: Operation = async (parts, visit, given) => {
  const { base } = parts
  const body = new JsonBody(given, { email: 'text', token: 'text', password: 'text' })
  if (!body.has('token')) {
    body.require('email')
    const { address, secrets } = fromOf(parts, visit)
    const seconds = await requestReset(
      base,
      body.text('email').slice(0, 300),
      address,
      secrets,
      askerOf(visit),
    )
    if (seconds !== undefined) throw tooMany(seconds)
    return answer(202, { message: messages.resetSent })
  }
  body.require('token', 'password')
  const set = await reset(base, body.text('token'), body.text('password'), askerOf(visit))
  if (set.kind === 'over') {
    throw invalid([{ field: 'token', code: 'expired', message: messages.linkOver }])
  }
  if (set.kind === 'fault') {
    throw invalid([{ field: set.field, code: 'not_accepted', message: set.message }])
  }
  await rememberDevice(parts, visit, set.userId)
  return answer(200, { ended: set.ended.ended })
}

const signOutOperation: Operation = async ({ server }, { req, res }, given) => {
  new JsonBody(given, {})
  await server.signOut(req, res)
  return { status: 204, headers: ['Cache-Control', 'no-store'], body: null }
}

const passkeyOperation: Operation = async (parts, visit, given) => {
  new JsonBody(given, {})
  return answer(200, await requestOptions(parts, visit))
}

const operations: ReadonlyMap<string, Operation> = new Map([
  ['/account/sign-in', signInOperation],
  ['/account/sign-up', signUpOperation],
  ['/account/sign-out', signOutOperation],
  ['/account/reset', resetOperation],
  ['/account/passkeys/get', passkeyOperation],
])

/** The user who is signed in. Throws UNAUTHORIZED if there is none, or for other origins. */
async function currentUser(parts: RouteParts, visit: Visit): Promise<Reply> {
  const who = parts.csrf.isOwnPage(visit) ? await signedIn(parts, visit) : undefined
  if (!who) throw new ApiError('UNAUTHORIZED', 'Nobody is signed in.')
  return userReply(parts, who.user)
}

/** For calls for which `isJsonCall` is true. Throws errors, which the caller formats like those of the API. */
export async function answerJson(parts: RouteParts, visit: Visit): Promise<Reply> {
  if (visit.method !== 'POST' && visit.path === '/account') return currentUser(parts, visit)
  if (visit.method !== 'POST') throw new ApiError('NOT_ACCEPTABLE', 'This is a page: accept `text/html`.')
  const operation = operations.get(visit.path)
  if (!operation) throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'This page takes forms, not JSON.')
  if (!parts.csrf.isOwnPage(visit)) {
    throw new ApiError(
      'FORBIDDEN',
      'Only pages of this origin may send this: `Origin` must be the service’s own.',
    )
  }
  return operation(parts, visit, parts.readJson(visit))
}
