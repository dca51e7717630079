/** Passkeys (Web Authentication Level 3), verified by a library and stored as records. */

import { hash } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { NewRecord, Records } from '../../../base/records.ts'
import { addBounded } from '../bounded-records.ts'
import type { LinkTokens } from '../link-tokens.ts'

export const passkeyKind = 'Passkey'
const maxPasskeys = 20
const maxResponseCharacters = 16_384
/** EdDSA, ES256 and RS256 (COSE, RFC 9053), which authenticators support. */
const algorithms = [-8, -7, -257]

interface StoredPasskey {
  readonly userId: number
  readonly name: string
  readonly credentialId: string
  /** Base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly transports: readonly string[]
  readonly createdAt: EpochMs
  /** The session in which it was created. */
  readonly session?: string
}

export interface Passkey {
  /** A hash of the credential's id, which forms may contain. */
  readonly id: string
  readonly name: string
  readonly createdAt: EpochMs
}

export interface PasskeyProof {
  readonly userId: number
  /** Seconds since 1970: see `signInTime`. */
  readonly at: number
}

interface Challenge {
  /** Null for a sign-in. */
  readonly userId: number | null
}

export interface PasskeyOwner {
  readonly userId: number
  readonly email: string
  readonly name: string
}

/** The user who creates a passkey, and their session. */
export interface PasskeyCreator {
  readonly userId: number
  readonly session: string
}

export interface Passkeys {
  list(userId: number): Promise<readonly Passkey[]>
  /** Deletes a passkey, even the last sign-in method: see `removeSignInMethod`. */
  remove(id: string): Promise<void>
  /** The options for `navigator.credentials.create()`. */
  creationOptions(owner: PasskeyOwner): Promise<object>
  /** Stores the passkey that the browser has created, and returns its id; undefined if the response is not valid. */
  add(creator: PasskeyCreator, name: string, response: string): Promise<string | undefined>
  /** The options for `navigator.credentials.get()` with any passkey. */
  requestOptions(): Promise<object>
  /** The user whose passkey has signed the response; undefined if it is invalid. Calls `timeOf` before it checks the response. */
  verify(response: string, timeOf: (userId: number) => Promise<number>): Promise<PasskeyProof | undefined>
}

interface PasskeySettings {
  readonly records: Records
  readonly tokens: LinkTokens
  /** The service's own address: its origin is the expected one, its host name the relying party id. */
  readonly issuer: string
  readonly rpName: string
  readonly now?: () => number
}

function idOf(credentialId: string): string {
  return hash('sha256', credentialId, 'base64url')
}

interface CredentialResponse {
  readonly id: string
  readonly response: { readonly clientDataJSON: string }
}

/** Parses a response. Checks only the members that are read before the library verifies it. */
function parseResponse<T extends CredentialResponse>(text: string): T | undefined {
  if (text.length > maxResponseCharacters) return undefined
  try {
    const value = JSON.parse(text)
    const isValid = typeof value?.id === 'string' && typeof value.response?.clientDataJSON === 'string'
    return isValid ? value : undefined
  } catch {
    return undefined
  }
}

function challengeOf({ response }: CredentialResponse): string | undefined {
  try {
    const data = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'))
    return typeof data?.challenge === 'string' ? data.challenge : undefined
  } catch {
    return undefined
  }
}

const library = () => import('@simplewebauthn/server')

/** The parts that creating and using passkeys share. */
interface PasskeyContext {
  readonly records: Records
  readonly tokens: LinkTokens
  readonly now: () => number
  readonly rpName: string
  readonly rpID: string
  /** The origin and relying party for which the browser must have created or used the passkey. */
  readonly expected: {
    readonly expectedOrigin: string
    readonly expectedRPID: string
    readonly requireUserVerification: true
  }
}

function storedIn(payload: string): StoredPasskey {
  return JSON.parse(payload)
}

function passkeysOf({ records }: PasskeyContext, userId: number) {
  return records.byOwner(passkeyKind, String(userId))
}

function recordOf(id: string, stored: StoredPasskey): NewRecord & { readonly owner: string } {
  return {
    kind: passkeyKind,
    id,
    payload: JSON.stringify(stored),
    expiresAt: null,
    owner: String(stored.userId),
  }
}

/** Consumes the challenge of a response. Undefined unless it was issued for this user, or for a sign-in if `userId` is null. */
async function redeemChallenge(
  { tokens }: PasskeyContext,
  response: CredentialResponse,
  userId: number | null,
): Promise<string | undefined> {
  const challenge = challengeOf(response)
  const issued = await tokens.redeem<Challenge>('PasskeyChallenge', challenge)
  return issued && issued.userId === userId ? challenge : undefined
}

async function list(context: PasskeyContext, userId: number): Promise<readonly Passkey[]> {
  const passkeys = (await passkeysOf(context, userId)).map(({ id, payload }) => {
    const { name, createdAt } = storedIn(payload)
    return { id, name, createdAt }
  })
  return passkeys.sort((a, b) => a.createdAt - b.createdAt)
}

async function creationOptions(context: PasskeyContext, owner: PasskeyOwner): Promise<object> {
  const { tokens, rpName, rpID } = context
  const { userId, email, name } = owner
  const existing = (await passkeysOf(context, userId)).map(({ payload }) => storedIn(payload))
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
    // An authenticator stores one passkey per account: a second one would replace the first.
    excludeCredentials: existing.map(({ credentialId: id }) => ({ id })),
  })
  await tokens.issue('PasskeyChallenge', { userId }, { owner: String(userId), token: options.challenge })
  return options
}

async function add(
  context: PasskeyContext,
  { userId, session }: PasskeyCreator,
  name: string,
  text: string,
): Promise<string | undefined> {
  const response = parseResponse<RegistrationResponseJSON>(text)
  const challenge = response && (await redeemChallenge(context, response, userId))
  if (!response || challenge === undefined) return undefined
  const { verifyRegistrationResponse } = await library()
  const verification = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    supportedAlgorithmIDs: algorithms,
    ...context.expected,
  }).catch(() => undefined)
  if (!verification?.verified) return undefined
  const { id, publicKey, counter, transports = [] } = verification.registrationInfo.credential
  const stored: StoredPasskey = {
    userId,
    name,
    credentialId: id,
    publicKey: Buffer.from(publicKey).toString('base64url'),
    counter,
    transports,
    createdAt: context.now(),
    session,
  }
  const outcome = await addBounded(context.records, recordOf(idOf(id), stored), maxPasskeys)
  return outcome === 'added' ? idOf(id) : undefined
}

async function requestOptions({ tokens, rpID }: PasskeyContext): Promise<object> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' })
  await tokens.issue('PasskeyChallenge', { userId: null }, { token: options.challenge })
  return options
}

async function verify(
  context: PasskeyContext,
  text: string,
  timeOf: (userId: number) => Promise<number>,
): Promise<PasskeyProof | undefined> {
  const response = parseResponse<AuthenticationResponseJSON>(text)
  const challenge = response && (await redeemChallenge(context, response, null))
  const owner = response && (await context.records.get(passkeyKind, idOf(response.id)))?.owner
  if (!response || challenge === undefined || !owner) return undefined
  const at = await timeOf(Number(owner))
  const record = await context.records.get(passkeyKind, idOf(response.id))
  if (!record) return undefined
  const stored = storedIn(record.payload)
  const { verifyAuthenticationResponse } = await library()
  const publicKey = new Uint8Array(Buffer.from(stored.publicKey, 'base64url'))
  const verification = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    ...context.expected,
    credential: { id: response.id, publicKey, counter: stored.counter },
  }).catch(() => undefined)
  if (!verification?.verified) return undefined
  const { newCounter } = verification.authenticationInfo
  const updated = { ...stored, counter: newCounter }
  // Fails if the owner has removed the passkey in the meantime, or if a copy of it was used concurrently.
  const isCurrent =
    newCounter === stored.counter ||
    (await context.records.swap(record, record.payload, JSON.stringify(updated)))
  return isCurrent ? { userId: stored.userId, at } : undefined
}

/** Passkeys by Web Authentication Level 3. `issuer`: its host is the relying party’s id. */
export function createPasskeys({
  records,
  tokens,
  issuer,
  rpName,
  now = Date.now,
}: PasskeySettings): Passkeys {
  const { origin, hostname: rpID } = new URL(issuer)
  const expected = { expectedOrigin: origin, expectedRPID: rpID, requireUserVerification: true } as const
  const context: PasskeyContext = { records, tokens, now, rpName, rpID, expected }
  return {
    list: userId => list(context, userId),
    async remove(id) {
      await records.delete(passkeyKind, id)
    },
    creationOptions: owner => creationOptions(context, owner),
    add: (creator, name, response) => add(context, creator, name, response),
    requestOptions: () => requestOptions(context),
    verify: (response, timeOf) => verify(context, response, timeOf),
  }
}
