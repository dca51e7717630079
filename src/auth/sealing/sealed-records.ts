/** Records of which nobody learns anything who only reads the database. */
import { type Awaitable, then } from '../../plan/answer.ts'
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../records.ts'
import type { Vault } from './vault.ts'

/** The kinds whose payloads hold, or lead to, what is worth something by itself. */
export const sealedKinds: ReadonlySet<string> = new Set([
  'SigningKeys',
  'Totp',
  'RecoveryCode',
  // Their payloads hold secrets of forms and the ids of requests that are under way.
  'Session',
  'Interaction',
  'PushedAuthorizationRequest',
  'DeviceCode',
  // While a first start is under way, the administrator's password and key.
  'FirstStart',
])

/** Kinds that are found by a second name which somebody must not read: the code that a device shows. */
const hiddenAliases: ReadonlySet<string> = new Set(['DeviceCode'])

/** What a payload is sealed under: it opens in no other record. */
export function nameOf({ kind, id }: RecordKey): string {
  return `${kind}/${id}`
}

export class SealedRecords implements Records {
  readonly #inner: Records
  readonly #vault: Vault

  constructor(inner: Records, vault: Vault) {
    this.#inner = inner
    this.#vault = vault
  }

  get(kind: string, id: string): Awaitable<StoredRecord | undefined> {
    const found = this.#inner.get(kind, id)
    return sealedKinds.has(kind) ? then(found, record => this.#opened(record)) : found
  }

  byAlias(kind: string, alias: string): Awaitable<StoredRecord | undefined> {
    if (hiddenAliases.has(kind))
      return this.#byHidden(kind, this.#vault.pseudonyms(nameOf({ kind, id: alias })))
    return then(this.#inner.byAlias(kind, alias), record => this.#opened(record))
  }

  byOwner(kind: string, owner: string): Awaitable<readonly StoredRecord[]> {
    return this.#all(kind, this.#inner.byOwner(kind, owner))
  }

  all(kind: string): Awaitable<readonly StoredRecord[]> {
    return this.#all(kind, this.#inner.all(kind))
  }

  put(record: NewRecord): Promise<void> {
    return this.#inner.put(this.#sealed(record))
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#inner.add(this.#sealed(record))
  }

  async swap(key: RecordKey, before: string, after: string): Promise<boolean> {
    if (!sealedKinds.has(key.kind)) return this.#inner.swap(key, before, after)
    // The same text is sealed otherwise each time: what is there has to be looked at.
    const stored = await this.#inner.get(key.kind, key.id)
    const name = nameOf(key)
    if (!stored || this.#vault.open(name, stored.payload) !== before) return false
    return this.#inner.swap(key, stored.payload, this.#vault.seal(name, after))
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

  async #byHidden(kind: string, names: readonly string[]): Promise<StoredRecord | undefined> {
    for (const name of names) {
      const found = await this.#inner.byAlias(kind, name)
      if (found) return this.#opened(found)
    }
    return undefined
  }

  #all(kind: string, found: Awaitable<readonly StoredRecord[]>): Awaitable<readonly StoredRecord[]> {
    return sealedKinds.has(kind) ? then(found, records => records.map(one => this.#open(one))) : found
  }

  #opened(record: StoredRecord | undefined): StoredRecord | undefined {
    return record && sealedKinds.has(record.kind) ? this.#open(record) : record
  }

  #open(record: StoredRecord): StoredRecord {
    return { ...record, payload: this.#vault.open(nameOf(record), record.payload) }
  }

  #sealed(record: NewRecord): NewRecord {
    const { kind, alias, payload } = record
    if (!sealedKinds.has(kind)) return record
    const hidden = alias !== undefined && hiddenAliases.has(kind)
    return {
      ...record,
      payload: this.#vault.seal(nameOf(record), payload),
      alias: hidden ? this.#vault.pseudonyms(nameOf({ kind, id: alias }))[0] : alias,
    }
  }
}
