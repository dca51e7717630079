/** Encryption at rest: AES-256-GCM (NIST SP 800-38D), with keys that are not in the database. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** The keys and the id that are derived from a key's text. None reveals another one, or the text. */
export interface SecretKey {
  /** Part of every payload that the key has encrypted. */
  readonly id: string
  readonly cipher: Buffer
  readonly mac: Buffer
}

/** Supplies the keys; the first one encrypts. They may change while the service runs. */
export interface KeySource {
  keys(): readonly SecretKey[]
}

/** An encrypted value cannot be decrypted, or there is no key. The message is for operators. */
export class EncryptionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'EncryptionError'
  }
}

const encryptedPayload = /^"e1\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{38,})"$/
const ivBytes = 12
const tagBytes = 16

/** `text`: at least 32 random characters. */
export function secretKey(text: string): SecretKey {
  const derive = (purpose: string, length: number) =>
    Buffer.from(hkdfSync('sha256', text, '', `portico ${purpose}`, length))
  return {
    id: derive('key id', 6).toString('base64url'),
    cipher: derive('encryption', 32),
    mac: derive('names', 32),
  }
}

/** A random text for `secretKey`, with 256 random bits. */
export function newKeyText(): string {
  return randomBytes(32).toString('base64url')
}

/** Encrypts with the newest key, and decrypts with any. */
export class RecordCipher {
  readonly #source: KeySource

  constructor(source: KeySource) {
    this.#source = source
  }

  /** Returns JSON text that only these keys decrypt, and only with the same name. */
  encrypt(name: string, text: string): string {
    const { id, cipher: key } = this.#newest()
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
    const parts = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return `"e1.${id}.${Buffer.concat(parts).toString('base64url')}"`
  }

  /** Throws an `EncryptionError` if the text is not encrypted, belongs to another record, was changed, or has an unknown key. */
  decrypt(name: string, encrypted: string): string {
    const [, id, data = ''] = encryptedPayload.exec(encrypted) ?? []
    const key = this.#source.keys().find(candidate => candidate.id === id)
    if (!key) {
      throw new EncryptionError(
        id === undefined
          ? `${name} is not encrypted.`
          : `${name} is encrypted with the key ${id}, which is not among the keys.`,
      )
    }
    const bytes = Buffer.from(data, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key.cipher, bytes.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    })
    decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-tagBytes))
    try {
      return decipher.update(bytes.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      throw new EncryptionError(`${name} was changed, or belongs to another record.`)
    }
  }

  /** Whether the text was encrypted with the newest key. */
  isCurrent(encrypted: string): boolean {
    return encryptedPayload.exec(encrypted)?.[1] === this.#newest().id
  }

  /** What is stored in place of a name that must be findable but not readable: one for each key, the newest key's first. */
  pseudonyms(name: string): readonly [string, ...string[]] {
    const pseudonym = ({ mac }: SecretKey) => createHmac('sha256', mac).update(name).digest('base64url')
    const [newest, ...older] = this.#source.keys()
    if (!newest) throw new EncryptionError('There is no key to encrypt with.')
    return [pseudonym(newest), ...older.map(pseudonym)]
  }

  #newest(): SecretKey {
    const [newest] = this.#source.keys()
    if (!newest) throw new EncryptionError('There is no key to encrypt with.')
    return newest
  }
}
