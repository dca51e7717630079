/** Passwords, hashed by argon2id (RFC 9106) with OWASP's parameters, as a PHC string. */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isMainThread } from 'node:worker_threads'
import { temporaryRefusal } from '../base/errors.ts'
import { isLongerThan, normalize } from '../base/unicode.ts'

/** In Unicode code points. A longer password is always wrong. */
export const maxPasswordCharacters = 256

/** Whether a password has more than `maxPasswordCharacters` code points. */
export function isPasswordTooLong(password: string): boolean {
  return isLongerThan(password, maxPasswordCharacters)
}

/** The cost of a hash. */
export interface HashParameters {
  /** In KiB. */
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
  readonly tagLength: number
}

const parameters: HashParameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const saltBytes = 16
const derive = promisify(argon2)

/**
 * Each hash occupies a thread of libuv's pool, which file access and name resolution also need, and which all workers share.
 */
const maxParallelHashes = isMainThread ? 2 : 1
/** In a longer queue, users would give up before their turn. */
const maxQueuedHashes = 200

let runningHashes = 0
const waitingHashes: (() => void)[] = []

/** Runs `work` when a slot is free. Throws UNAVAILABLE if too many are waiting already. */
async function withHashSlot<T>(work: () => Promise<T>): Promise<T> {
  if (runningHashes >= maxParallelHashes) {
    if (waitingHashes.length >= maxQueuedHashes) {
      throw temporaryRefusal('Too many people sign in at once.', { 'Retry-After': '3' })
    }
    await new Promise<void>(resolve => waitingHashes.push(resolve))
  } else runningHashes++
  try {
    return await work()
  } finally {
    const next = waitingHashes.shift()
    if (next) next()
    else runningHashes--
  }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function tagOf(password: string, nonce: Buffer, cost: HashParameters): Promise<Buffer> {
  const message = Buffer.from(normalize(password, 'NFC'))
  return withHashSlot(() => derive('argon2id', { message, nonce, ...cost }))
}

/**
 * Returns `$argon2id$v=19$m=…,t=…,p=…$salt$tag`. Takes 20 ms of a thread of the pool. Throws a `RangeError` if the password is
 * too long to sign in with. `cost` is stored in the hash, and so applies to every later comparison.
 */
export async function hashPassword(password: string, cost = parameters): Promise<string> {
  if (isPasswordTooLong(password)) {
    throw new RangeError(`A password may have at most ${maxPasswordCharacters} characters.`)
  }
  const salt = randomBytes(saltBytes)
  const tag = await tagOf(password, salt, cost)
  const { memory, passes, parallelism } = cost
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

const phc =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/

/** Compared if an account has no password, so that this takes as long as a real comparison. */
const dummyHash = `$argon2id$v=19$m=${parameters.memory},t=${parameters.passes},p=1$${unpadded(randomBytes(saltBytes))}$${unpadded(randomBytes(parameters.tagLength))}`

/**
 * Whether the password matches the hash. Without a hash it is false after the same work, so timing does not reveal whether
 * an account exists. A password that is too long never matches.
 */
export async function verifyPassword(password: string, hashed: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt = '', tag = ''] =
    phc.exec(hashed ?? dummyHash) ?? phc.exec(dummyHash) ?? []
  const expected = Buffer.from(tag, 'base64')
  const isTooLong = isPasswordTooLong(password)
  const computed = await tagOf(isTooLong ? '' : password, Buffer.from(salt, 'base64'), {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(computed, expected) && hashed !== undefined && !isTooLong
}
