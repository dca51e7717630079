/** Passkeys (Web Authentication Level 3), by a library; what is kept of them are records. */
import { hash } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { NewRecord, Records } from '../../records.ts'
import type { Tokens } from './tokens.ts'

const kind = 'Passkey'
const MAX_PASSKEYS = 20
const MAX_RESPONSE = 16_384
/** EdDSA, ES256 and RS256 (COSE, RFC 9053): what authenticators have. */
const algorithms = [-8, -7, -257]

interface Stored {
  readonly userId: number
  readonly name: string
  /** Missing where it was made before ids were kept. */
  readonly credentialId?: string
  /** Base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly transports: readonly string[]
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface Passkey {
  /** Safe in a form: a hash of the credential's id. */
  readonly id: string
  readonly name: string
  readonly createdAt: number
}

interface Challenge {
  /** Null: to sign in. */
  readonly userId: number | null
}

export interface PasskeyOwner {
  readonly userId: number
  readonly email: string
  readonly name: string
}

export interface Passkeys {
  list(userId: number): Promise<readonly Passkey[]>
  remove(userId: number, id: string): Promise<boolean>
  /** What a browser needs to make one. */
  creationOptions(owner: PasskeyOwner): Promise<object>
  /** Whether what the browser made is good, and now kept. */
  add(userId: number, name: string, response: string): Promise<boolean>
  /** What a browser needs to sign in with any of its passkeys. */
  requestOptions(): Promise<object>
  /** Whose passkey has answered; undefined when the answer is wrong. */
  verify(response: string): Promise<number | undefined>
}

interface PasskeySettings {
  readonly records: Records
  readonly tokens: Tokens
  /** The service's own address: its origin must have answered, its host name is the relying party. */
  readonly issuer: string
  readonly rpName: string
  readonly now?: () => number
}

function idOf(credentialId: string): string {
  return hash('sha256', credentialId, 'base64url')
}

interface Answered {
  readonly id: string
  readonly response: { readonly clientDataJSON: string }
}

/** As much of the form as is needed before the library looks at it. */
function parsed<T extends Answered>(text: string): T | undefined {
  if (text.length > MAX_RESPONSE) return undefined
  try {
    const value = JSON.parse(text)
    const right = typeof value?.id === 'string' && typeof value.response?.clientDataJSON === 'string'
    return right ? value : undefined
  } catch {
    return undefined
  }
}

function challengeOf({ response }: Answered): string | undefined {
  try {
    const data = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    return typeof data?.challenge === 'string' ? data.challenge : undefined
  } catch {
    return undefined
  }
}

const library = () => import('@simplewebauthn/server')

/** What the ways of using a passkey share. */
interface Desk {
  readonly records: Records
  readonly tokens: Tokens
  readonly now: () => number
  readonly rpName: string
  readonly rpID: string
  /** What the browser must have done it for. */
  readonly expected: {
    readonly expectedOrigin: string
    readonly expectedRPID: string
    readonly requireUserVerification: true
  }
}

function storedIn(payload: string): Stored {
  return JSON.parse(payload)
}

function owned({ records }: Desk, userId: number) {
  return records.byOwner(kind, String(userId))
}

function recordOf(id: string, stored: Stored): NewRecord {
  return { kind, id, payload: JSON.stringify(stored), expiresAt: null, owner: String(stored.userId) }
}

/** The challenge that the browser has answered, if we asked it, for this, and only once. */
async function redeem(
  { tokens }: Desk,
  answered: Answered,
  userId: number | null,
): Promise<string | undefined> {
  const challenge = challengeOf(answered)
  const found = await tokens.redeem<Challenge>('PasskeyChallenge', challenge)
  return found && found.userId === userId ? challenge : undefined
}

async function list(desk: Desk, userId: number): Promise<readonly Passkey[]> {
  const found = await owned(desk, userId)
  return found
    .map(({ id, payload }) => ({ id, stored: storedIn(payload) }))
    .map(({ id, stored: { name, createdAt } }) => ({ id, name, createdAt }))
    .sort((a, b) => a.createdAt - b.createdAt)
}

async function creationOptions(desk: Desk, owner: PasskeyOwner): Promise<object> {
  const { tokens, rpName, rpID } = desk
  const { userId, email, name } = owner
  const known = (await owned(desk, userId)).map(({ payload }) => storedIn(payload))
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName,
    rpID,
    userName: email,
    userDisplayName: name,
    userID: Buffer.from(String(userId)),
    attestationType: 'none',
    supportedAlgorithmIDs: algorithms,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    // An authenticator keeps one for each account: a second one would replace the first.
    excludeCredentials: known.flatMap(({ credentialId: id }) => (id === undefined ? [] : [{ id }])),
  })
  await tokens.issue('PasskeyChallenge', { userId }, { owner: String(userId), token: options.challenge })
  return options
}

async function add(desk: Desk, userId: number, name: string, text: string): Promise<boolean> {
  const response = parsed<RegistrationResponseJSON>(text)
  const challenge = response && (await redeem(desk, response, userId))
  if (!response || challenge === undefined || (await owned(desk, userId)).length >= MAX_PASSKEYS) return false
  const { verifyRegistrationResponse } = await library()
  const checked = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    supportedAlgorithmIDs: algorithms,
    ...desk.expected,
  }).catch(() => undefined)
  if (!checked?.verified) return false
  const { id, publicKey, counter, transports = [] } = checked.registrationInfo.credential
  const key = Buffer.from(publicKey).toString('base64url')
  const createdAt = desk.now()
  const stored: Stored = { userId, name, credentialId: id, publicKey: key, counter, transports, createdAt }
  return desk.records.add(recordOf(idOf(id), stored))
}

async function requestOptions({ tokens, rpID }: Desk): Promise<object> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' })
  await tokens.issue('PasskeyChallenge', { userId: null }, { token: options.challenge })
  return options
}

async function verify(desk: Desk, text: string): Promise<number | undefined> {
  const response = parsed<AuthenticationResponseJSON>(text)
  const challenge = response && (await redeem(desk, response, null))
  const record = response && (await desk.records.get(kind, idOf(response.id)))
  if (!response || challenge === undefined || !record) return undefined
  const stored = storedIn(record.payload)
  const { verifyAuthenticationResponse } = await library()
  const publicKey = new Uint8Array(Buffer.from(stored.publicKey, 'base64url'))
  const checked = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    ...desk.expected,
    credential: { id: response.id, publicKey, counter: stored.counter },
  }).catch(() => undefined)
  if (!checked?.verified) return undefined
  const { newCounter } = checked.authenticationInfo
  const counted = { ...stored, counter: newCounter }
  // Not one that its owner has removed meanwhile, nor one whose copy was faster.
  const isHere =
    newCounter === stored.counter ||
    (await desk.records.swap(record, record.payload, JSON.stringify(counted)))
  return isHere ? stored.userId : undefined
}

export function createPasskeys({
  records,
  tokens,
  issuer,
  rpName,
  now = Date.now,
}: PasskeySettings): Passkeys {
  const { origin, hostname: rpID } = new URL(issuer)
  const expected = { expectedOrigin: origin, expectedRPID: rpID, requireUserVerification: true } as const
  const desk: Desk = { records, tokens, now, rpName, rpID, expected }
  return {
    list: userId => list(desk, userId),
    async remove(userId, id) {
      const record = await records.get(kind, id)
      return record?.owner === String(userId) && records.delete(kind, id)
    },
    creationOptions: owner => creationOptions(desk, owner),
    add: (userId, name, response) => add(desk, userId, name, response),
    requestOptions: () => requestOptions(desk),
    verify: response => verify(desk, response),
  }
}
