/** Passwords, hashed by argon2id (RFC 9106) with OWASP's parameters, as a PHC string. */
import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const parameters = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const SALT = 16
const derive = promisify(argon2)

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

function tagOf(password: string, nonce: Buffer): Promise<Buffer> {
  return derive('argon2id', { message: Buffer.from(password.normalize('NFC')), nonce, ...parameters })
}

/** `$argon2id$v=19$m=…,t=…,p=…$salt$tag`. Takes 20 ms of a thread of the pool. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT)
  const tag = await tagOf(password, salt)
  const { memory, passes, parallelism } = parameters
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}
