/** Records whose secrets are encrypted at rest. */
import { type Awaitable, then } from '../../base/awaitable.ts'
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../base/records.ts'
import type { RecordChange } from '../../engine/plan/transaction.ts'
import type { RecordCipher } from './record-cipher.ts'

/** The kinds whose payloads contain a secret, or lead to one. */
export const encryptedKinds: ReadonlySet<string> = new Set([
  'SigningKeys',
  'Totp',
  'RecoveryCode',
  // Their payloads contain secrets of forms and the ids of pending requests.
  'Session',
  'Interaction',
  'PushedAuthorizationRequest',
  'ProviderSignIn',
  'DeviceCode',
  // During the first start, the administrator's password and API key.
  'FirstStart',
  'WebhookSecret',
  // Responses to writes, some of which contain a new secret.
  'IdempotencyKey',
  'ShownOnce',
])

/** Kinds whose alias is also a secret: the code that a device displays. */
const hiddenAliases: ReadonlySet<string> = new Set(['DeviceCode'])

/** The associated data of an encrypted payload: it can be decrypted only in the record to which it belongs. */
export function nameOf({ kind, id }: RecordKey): string {
  return `${kind}/${id}`
}

/**
 * Encrypts the payloads of `encryptedKinds`, and replaces secret aliases by pseudonyms. Other records pass through
 * unchanged.
 */
export class EncryptedRecords implements Records {
  readonly #inner: Records
  readonly #cipher: RecordCipher

  constructor(inner: Records, recordCipher: RecordCipher) {
    this.#inner = inner
    this.#cipher = recordCipher
  }

  get(kind: string, id: string): Awaitable<StoredRecord | undefined> {
    const stored = this.#inner.get(kind, id)
    return encryptedKinds.has(kind) ? then(stored, record => this.#decryptIfEncrypted(record)) : stored
  }

  byAlias(kind: string, alias: string): Awaitable<StoredRecord | undefined> {
    if (hiddenAliases.has(kind))
      return this.#byPseudonym(kind, this.#cipher.pseudonyms(nameOf({ kind, id: alias })))
    return then(this.#inner.byAlias(kind, alias), record => this.#decryptIfEncrypted(record))
  }

  byOwner(kind: string, owner: string): Awaitable<readonly StoredRecord[]> {
    return this.#decryptAll(kind, this.#inner.byOwner(kind, owner))
  }

  all(kind: string): Awaitable<readonly StoredRecord[]> {
    return this.#decryptAll(kind, this.#inner.all(kind))
  }

  after(kind: string, id: string, limit: number): Awaitable<readonly StoredRecord[]> {
    return this.#decryptAll(kind, this.#inner.after(kind, id, limit))
  }

  put(record: NewRecord): Promise<void> {
    return this.#inner.put(this.#encrypt(record))
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#inner.add(this.#encrypt(record))
  }

  async swap(key: RecordKey, before: string, after: string): Promise<boolean> {
    if (!encryptedKinds.has(key.kind)) return this.#inner.swap(key, before, after)
    // Each encryption of a text is different, so the stored payload has to be decrypted to compare it.
    const stored = await this.#inner.get(key.kind, key.id)
    const name = nameOf(key)
    if (!stored || this.#cipher.decrypt(name, stored.payload) !== before) return false
    return this.#inner.swap(key, stored.payload, this.#cipher.encrypt(name, after))
  }

  /** A change of a transaction, encrypted as it is to be stored. */
  change(change: RecordChange): RecordChange {
    if (change.kind === 'add' || change.kind === 'put') {
      return { kind: change.kind, record: this.#encrypt(change.record) }
    }
    if (change.kind === 'swap' && encryptedKinds.has(change.key.kind)) {
      // Each encryption of a text is different, and a transaction cannot read the record to compare it.
      throw new TypeError(`a transaction cannot swap ${change.key.kind}, which is encrypted`)
    }
    return change
  }

  consume(kind: string, id: string): Promise<boolean> {
    return this.#inner.consume(kind, id)
  }

  delete(kind: string, id: string): Promise<boolean> {
    return this.#inner.delete(kind, id)
  }

  deleteGrant(grant: string): Promise<number> {
    return this.#inner.deleteGrant(grant)
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#inner.deleteOwned(owner, kinds)
  }

  version(kind: string): number {
    return this.#inner.version(kind)
  }

  async #byPseudonym(kind: string, names: readonly string[]): Promise<StoredRecord | undefined> {
    for (const name of names) {
      const record = await this.#inner.byAlias(kind, name)
      if (record) return this.#decryptIfEncrypted(record)
    }
    return undefined
  }

  #decryptAll(kind: string, stored: Awaitable<readonly StoredRecord[]>): Awaitable<readonly StoredRecord[]> {
    return encryptedKinds.has(kind)
      ? then(stored, records => records.map(record => this.#decrypt(record)))
      : stored
  }

  #decryptIfEncrypted(record: StoredRecord | undefined): StoredRecord | undefined {
    return record && encryptedKinds.has(record.kind) ? this.#decrypt(record) : record
  }

  #decrypt(record: StoredRecord): StoredRecord {
    return { ...record, payload: this.#cipher.decrypt(nameOf(record), record.payload) }
  }

  #encrypt(record: NewRecord): NewRecord {
    const { kind, alias, payload } = record
    if (!encryptedKinds.has(kind)) return record
    const hidesAlias = alias !== undefined && hiddenAliases.has(kind)
    return {
      ...record,
      payload: this.#cipher.encrypt(nameOf(record), payload),
      alias: hidesAlias ? this.#cipher.pseudonyms(nameOf({ kind, id: alias }))[0] : alias,
    }
  }
}
