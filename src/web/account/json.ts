/** Sign-in, sign-up, reset and sign-out as JSON operations, for the pages of an app of the same origin. */
import type { Reply } from '../../base/call.ts'
import { ApiError } from '../../base/errors.ts'
import type { Text } from '../../base/html.ts'
import { requestReset, reset } from '../../identity/accounts/recovery/reset.ts'
import {
  type SignInAnswer,
  signInByCode,
  signInByPasskey,
  signInByPassword,
} from '../../identity/accounts/sign-in/sign-in.ts'
import { signUp } from '../../identity/accounts/sign-up/sign-up.ts'
import { signUpFields } from '../../identity/accounts/sign-up/sign-up-fields.ts'
import { findUser, type UserRow } from '../../identity/accounts/users.ts'
import { findViewer, noMail, type RouteParts, rateLimited, type Visit } from './context.ts'
import { invalid, JsonBody } from './json-body.ts'
import { requesterOf } from './requester.ts'
import { requestOptions } from './security.ts'
import { attemptOrigin, rememberDevice } from './sign-in/device-cookie.ts'
import { messages } from './sign-in/sign-in.ts'

/** `body`: the parsed JSON. */
type JsonOperation = (parts: RouteParts, visit: Visit, body: unknown) => Promise<Reply>

function jsonReply(status: number, value: object): Reply {
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-store', 'Vary', 'Cookie, Accept']
  return { status, headers, body: JSON.stringify(value) }
}

/** `field` is omitted if the answer must not reveal which field is wrong. */
function refused(text: Text, field?: string): ApiError {
  const message = String(text)
  const details = field === undefined ? {} : { details: [{ field, code: 'not_accepted', message }] }
  return new ApiError('UNAUTHORIZED', message, details)
}

async function userReply({ base }: RouteParts, { id, name, email, role }: UserRow): Promise<Reply> {
  const email_verified = await base.addresses.isVerified(id, email)
  return jsonReply(200, { user: { id, name, email, role, email_verified } })
}

async function finishSignIn(
  parts: RouteParts,
  visit: Visit,
  answer: SignInAnswer | { readonly kind: 'over' },
  wrong: ApiError,
): Promise<Reply> {
  if (answer.kind === 'throttled') throw rateLimited(answer.seconds)
  if (answer.kind === 'second-factor') return jsonReply(200, { second_factor: answer.token })
  if (answer.kind === 'over') throw refused(messages.over, 'second_factor')
  if (answer.kind === 'wrong') throw wrong
  const { kind: _kind, ...authentication } = answer
  const { req, res, address } = visit
  visit.userId = authentication.userId
  await parts.server.signIn(req, res, { ...authentication, address })
  await rememberDevice(parts, visit, authentication.userId)
  const user = await findUser(parts.base.run, authentication.userId)
  if (!user) throw new ApiError('UNAUTHORIZED')
  return userReply(parts, user)
}

const signInOperation: JsonOperation = async (parts, visit, value) => {
  const origin = attemptOrigin(parts, visit)
  const body = new JsonBody(value, {
    ...{ email: 'text', password: 'text', remember: 'flag' },
    ...{ second_factor: 'text', code: 'text', passkey: 'object' },
  })
  if (body.has('second_factor')) {
    body.require('second_factor', 'code')
    const answer = await signInByCode(parts.base, body.text('second_factor'), body.text('code'), origin)
    return finishSignIn(parts, visit, answer, refused(messages.code, 'code'))
  }
  if (body.has('passkey')) {
    const answer = await signInByPasskey(
      parts.base,
      parts.passkeys,
      JSON.stringify(body.get('passkey')),
      origin,
    )
    return finishSignIn(parts, visit, answer, refused(messages.passkey, 'passkey'))
  }
  body.require('email', 'password')
  const [email, password] = [body.text('email'), body.text('password')]
  const remember = body.get('remember') === true
  const answer = await signInByPassword(parts.base, { email, password, remember, ...origin })
  return finishSignIn(parts, visit, answer, refused(messages.wrong))
}

/** A value as the form of the sign-up page sends it. */
function formText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : ''
  return value === undefined ? '' : String(value)
}

const signUpOperation: JsonOperation = async (parts, visit, value) => {
  const { base } = parts
  const names = signUpFields(base.model).map(({ name }) => name)
  const body = new JsonBody(value, {
    ...Object.fromEntries(names.map(name => [name, 'value'] as const)),
    ...{ name: 'text', email: 'text', password: 'text' },
  })
  const answer = await signUp(base, {
    name: body.text('name'),
    email: body.text('email'),
    password: body.text('password'),
    address: parts.throttleAddress(visit.address),
    requester: requesterOf(visit),
    answers: new Map(names.map(name => [name, formText(body.get(name))])),
  })
  if (answer.kind === 'throttled') throw rateLimited(answer.seconds)
  if (answer.kind === 'faults') {
    throw invalid(
      [...answer.faults].map(([field, message]) => ({
        field,
        code: 'not_accepted',
        message: String(message),
      })),
    )
  }
  if (answer.kind === 'sent' && !base.mailArrives) throw new ApiError('NOT_FOUND', String(noMail))
  const next = answer.kind === 'sent' ? 'confirm_address' : 'sign_in'
  return jsonReply(202, { next, message: String(answer.kind === 'sent' ? messages.sent : messages.ready) })
}

const resetOperation: JsonOperation = async (parts, visit, value) => {
  const { base } = parts
  const body = new JsonBody(value, { email: 'text', token: 'text', password: 'text' })
  if (!body.has('token')) {
    body.require('email')
    if (!base.mailArrives) throw new ApiError('NOT_FOUND', String(noMail))
    const { address, secrets } = attemptOrigin(parts, visit)
    const seconds = await requestReset(
      base,
      body.text('email').slice(0, 300),
      address,
      secrets,
      requesterOf(visit),
    )
    if (seconds !== undefined) throw rateLimited(seconds)
    return jsonReply(202, { message: String(messages.resetSent) })
  }
  body.require('token', 'password')
  const answer = await reset(base, body.text('token'), body.text('password'), requesterOf(visit))
  if (answer.kind === 'over') {
    throw invalid([{ field: 'token', code: 'expired', message: String(messages.linkOver) }])
  }
  if (answer.kind === 'fault') {
    throw invalid([{ field: answer.field, code: 'not_accepted', message: String(answer.message) }])
  }
  await rememberDevice(parts, visit, answer.userId)
  return jsonReply(200, { ended: answer.outcome.ended })
}

const signOutOperation: JsonOperation = async ({ server }, { req, res }, value) => {
  new JsonBody(value, {})
  await server.signOut(req, res)
  return { status: 204, headers: ['Cache-Control', 'no-store'], body: null }
}

const passkeyOperation: JsonOperation = async (parts, visit, value) => {
  new JsonBody(value, {})
  return jsonReply(200, await requestOptions(parts, visit))
}

const operations: ReadonlyMap<string, JsonOperation> = new Map([
  ['/account/sign-in', signInOperation],
  ['/account/sign-up', signUpOperation],
  ['/account/sign-out', signOutOperation],
  ['/account/reset', resetOperation],
  ['/account/passkeys/get', passkeyOperation],
])

/** The user who is signed in. Throws UNAUTHORIZED if there is none, or for other origins. */
async function currentUser(parts: RouteParts, visit: Visit): Promise<Reply> {
  const viewer = parts.csrf.isOwnPage(visit) ? await findViewer(parts, visit) : undefined
  if (!viewer) throw new ApiError('UNAUTHORIZED', 'Nobody is signed in.')
  return userReply(parts, viewer.user)
}

/** For calls for which `isJsonCall` is true. Throws errors, which the caller formats like those of the API. */
export async function answerJson(parts: RouteParts, visit: Visit): Promise<Reply> {
  if (visit.method !== 'POST' && visit.path === '/account') return currentUser(parts, visit)
  if (visit.method !== 'POST')
    throw new ApiError('NOT_ACCEPTABLE', 'This path is a page: accept `text/html`.')
  const operation = operations.get(visit.path)
  if (!operation) throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'This page accepts forms, not JSON.')
  if (!parts.csrf.isOwnPage(visit)) {
    throw new ApiError(
      'FORBIDDEN',
      'Only pages of this origin may send this request: `Origin` must be the service’s own.',
    )
  }
  return operation(parts, visit, parts.readJson(visit))
}
