/** Sealing by AES-256-GCM (NIST SP 800-38D), under keys that the database does not hold. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** A key in the forms that are used of it; none tells another, or the text that it was made of. */
export interface SecretKey {
  /** Stands in what it has sealed. */
  readonly id: string
  readonly cipher: Buffer
  readonly mac: Buffer
}

/** Where keys come from, the one that seals first. They may change while the service runs. */
export interface KeySource {
  keys(): readonly SecretKey[]
}

/** A sealed value cannot be opened, or there is no key. Its sentence is for whoever runs the service. */
export class SealError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SealError'
  }
}

const FORM = /^"s1\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{38,})"$/
const IV = 12
const TAG = 16

/** `text`: random, at least 32 characters of it. */
export function secretKey(text: string): SecretKey {
  const derived = (purpose: string, length: number) =>
    Buffer.from(hkdfSync('sha256', text, '', `portico ${purpose}`, length))
  return {
    id: derived('key id', 6).toString('base64url'),
    cipher: derived('sealing', 32),
    mac: derived('names', 32),
  }
}

export function newKeyText(): string {
  return randomBytes(32).toString('base64url')
}

/** Whether a payload is a sealed one, under whatever key. */
export function isSealed(payload: string): boolean {
  return FORM.test(payload)
}

export class Vault {
  readonly #source: KeySource

  constructor(source: KeySource) {
    this.#source = source
  }

  /** JSON text that only this vault opens, and only under the same name. */
  seal(name: string, text: string): string {
    const { id, cipher: key } = this.#newest()
    const iv = randomBytes(IV)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
    const parts = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return `"s1.${id}.${Buffer.concat(parts).toString('base64url')}"`
  }

  /** Throws a `SealError` for what is not sealed, is another record's, was changed, or has an unknown key. */
  open(name: string, sealed: string): string {
    const [, id, data = ''] = FORM.exec(sealed) ?? []
    const key = this.#source.keys().find(one => one.id === id)
    if (!key) {
      throw new SealError(
        id === undefined
          ? `${name} is not sealed.`
          : `${name} is sealed with the key ${id}, which is not there.`,
      )
    }
    const bytes = Buffer.from(data, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key.cipher, bytes.subarray(0, IV), {
      authTagLength: TAG,
    })
    decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-TAG))
    try {
      return decipher.update(bytes.subarray(IV, -TAG), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      throw new SealError(`${name} was changed, or is another record's.`)
    }
  }

  /** Whether the newest key has sealed it. */
  isCurrent(sealed: string): boolean {
    return FORM.exec(sealed)?.[1] === this.#newest().id
  }

  /** What stands for a name that must be found but not read: by each key, the newest first. */
  pseudonyms(name: string): readonly [string, ...string[]] {
    const made = ({ mac }: SecretKey) => createHmac('sha256', mac).update(name).digest('base64url')
    const [newest, ...older] = this.#source.keys()
    if (!newest) throw new SealError('There is no key to seal with.')
    return [made(newest), ...older.map(made)]
  }

  #newest(): SecretKey {
    const [newest] = this.#source.keys()
    if (!newest) throw new SealError('There is no key to seal with.')
    return newest
  }
}
