/**
 * What the service remembers beside the model's items: sessions, codes, tokens, keys, each with an end.
 * Written in the same commits as everything else; those whose time is over are never given out.
 */
import type { Awaitable } from './plan/answer.ts'

export interface RecordKey {
  /** What it is, e.g. `AccessToken`; ids are unique within a kind. */
  readonly kind: string
  /** Of a secret, its hash: whoever reads the database must not be able to use it. */
  readonly id: string
}

export interface NewRecord extends RecordKey {
  /** JSON text, given back as it is. */
  readonly payload: string
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null
  /** What it is deleted with: see `deleteGrant`. */
  readonly grant?: string | undefined
  /** A second name, unique within the kind. */
  readonly alias?: string | undefined
  /** The id of the user whose it is, and with whom it goes. */
  readonly owner?: string | undefined
}

export interface StoredRecord {
  readonly kind: string
  readonly id: string
  readonly payload: string
  readonly expiresAt: number | null
  /** When it was used up, in milliseconds since 1970; null: not yet. */
  readonly consumedAt: number | null
  readonly grant: string | null
  readonly alias: string | null
  readonly owner: string | null
}

/** Writes settle only after the commit is durable, and reject with an `ApiError` when nothing was changed. */
export interface Records {
  get(kind: string, id: string): Awaitable<StoredRecord | undefined>
  byAlias(kind: string, alias: string): Awaitable<StoredRecord | undefined>
  /** All of an owner's, in the order of their ids; `kind` undefined: of every kind. */
  byOwner(kind: string, owner: string): Awaitable<readonly StoredRecord[]>
  /** All of a kind, in the order of their ids. */
  all(kind: string): Awaitable<readonly StoredRecord[]>
  /** Those of a kind whose ids come after `id`, in the same order, so many at most. */
  after(kind: string, id: string, limit: number): Awaitable<readonly StoredRecord[]>
  /** Stores it in place of one with the same kind and id; one that is used up stays so. */
  put(record: NewRecord): Promise<void>
  /** Stores it unless the id is taken. Of many at once exactly one hears true. */
  add(record: NewRecord): Promise<boolean>
  /** Stores the payload `after` in place of `before`. Whether it was still `before`; nothing else of it changes. */
  swap(key: RecordKey, before: string, after: string): Promise<boolean>
  /** Uses it up. Of many at once exactly one hears true; whoever comes later, or finds none, hears false. */
  consume(kind: string, id: string): Promise<boolean>
  /** Whether there was one. */
  delete(kind: string, id: string): Promise<boolean>
  /** Deletes every record of the grant, of all kinds. Returns how many. */
  deleteGrant(grant: string): Promise<number>
  /** Deletes an owner's records of these kinds. Returns how many. */
  deleteOwned(owner: string, kinds: readonly string[]): Promise<number>
  /**
   * Grows when a record of the kind was replaced, used up or deleted before its time, whichever process did it.
   * A record that was read stays as it was while the version stays the same. New records do not count.
   */
  version(kind: string): number
}
