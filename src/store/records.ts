/** How records are stored on every database: what their rows hold, and the statements on them. */
import type { NewRecord, StoredRecord } from '../records.ts'
import { slot, sql } from './sql/writer.ts'
import type { ResultRow, SqlValue } from './values.ts'

/** What a change of records gives. */
export interface Work<T> {
  readonly value: T
  /** The kinds of which something else than a new record changed. */
  readonly changed: readonly string[]
}

export const none: readonly string[] = []

export function versionName(kind: string): string {
  return `_records/${kind}`
}

/** A row of all columns. */
export function recordOf(row: ResultRow): StoredRecord {
  const [kind, id, payload, expiresAt, consumedAt, grant, alias, owner] = row
  return {
    kind: String(kind),
    id: String(id),
    payload: String(payload),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    consumedAt: consumedAt === null ? null : Number(consumedAt),
    grant: grant === null ? null : String(grant),
    alias: alias === null ? null : String(alias),
    owner: owner === null ? null : String(owner),
  }
}

/** The slots of a new record. */
export function valuesOf({ kind, id, payload, expiresAt, grant, alias, owner }: NewRecord): SqlValue[] {
  return [kind, id, payload, expiresAt, grant ?? null, alias ?? null, owner ?? null]
}

const columns = sql`"kind", "id", "payload", "expires_at", "consumed_at", "grant_id", "alias", "owner"`
const select = sql`SELECT ${columns} FROM "_records" WHERE`
const alive = sql`("expires_at" IS NULL OR "expires_at" > ${slot(0)})`
const insert = sql`INSERT INTO "_records" ("kind", "id", "payload", "expires_at", "grant_id", "alias", "owner") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)})`

/** Each kind once, found by leaps (https://wiki.postgresql.org/wiki/Loose_indexscan). */
const kinds = sql`WITH RECURSIVE "kinds" ("kind") AS (SELECT min("kind") FROM "_records" UNION ALL SELECT (SELECT min("kind") FROM "_records" WHERE "kind" > "kinds"."kind") FROM "kinds" WHERE "kinds"."kind" IS NOT NULL) SELECT "kind" FROM "kinds"`

export const recordSql = {
  byId: sql`${select} "kind" = ${slot(1)} AND "id" = ${slot(2)} AND ${alive}`,
  byAlias: sql`${select} "kind" = ${slot(1)} AND "alias" = ${slot(2)} AND ${alive}`,
  byOwner: sql`${select} "kind" = ${slot(1)} AND "owner" = ${slot(2)} AND ${alive} ORDER BY "id"`,
  byKind: sql`${select} "kind" = ${slot(1)} AND ${alive} ORDER BY "id"`,
  afterId: sql`${select} "kind" = ${slot(1)} AND "id" > ${slot(2)} AND ${alive} ORDER BY "id" LIMIT ${slot(3)}`,
  addIfNew: sql`${insert} ON CONFLICT ("kind", "id") DO NOTHING RETURNING 1`,
  /** Replaces one that is there. */
  put: sql`${insert} ON CONFLICT ("kind", "id") DO UPDATE SET "payload" = excluded."payload", "expires_at" = excluded."expires_at", "grant_id" = excluded."grant_id", "alias" = excluded."alias", "owner" = excluded."owner"`,
  swap: sql`UPDATE "_records" SET "payload" = ${slot(3)} WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} AND "payload" = ${slot(2)} RETURNING 1`,
  consume: sql`UPDATE "_records" SET "consumed_at" = ${slot(0)} WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "consumed_at" IS NULL AND ${alive} RETURNING 1`,
  remove: sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} RETURNING 1`,
  /** One whose time is over does not hold its id. */
  removeExpired: sql`DELETE FROM "_records" WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "expires_at" <= ${slot(0)}`,
  removeGrant: sql`DELETE FROM "_records" WHERE "grant_id" = ${slot(0)} RETURNING "kind"`,
  removeOwned: sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1`,
  /** Of every kind. The index of owners begins with the kind, so it is asked once for each. */
  removeOwner: sql`DELETE FROM "_records" WHERE "owner" = ${slot(0)} AND "kind" IN (${kinds}) RETURNING "kind"`,
} as const

const owned = sql`FROM "_records" WHERE "owner" IS NOT NULL AND ("kind", "owner") > (${slot(0)}, ${slot(1)}) ORDER BY "kind", "owner"`

/**
 * What came too late for a user's deletion, or is from before it took such records along: a step of a round over all
 * that is somebody's.
 */
export const removeOrphans = sql`DELETE FROM "_records" WHERE ("kind", "id") IN (SELECT "kind", "id" ${owned} LIMIT ${slot(2)}) AND NOT EXISTS (SELECT 1 FROM "users" WHERE "users"."id" = CAST("_records"."owner" AS bigint)) RETURNING 1`

/** Where the step ends, if the round does not. */
export const lastOwned = sql`SELECT "kind", "owner" ${owned} LIMIT 1 OFFSET ${slot(2)} - 1`

/** How far a round is: after which kind and owner. */
export class Round {
  readonly #step: number
  #after: ResultRow = ['', '']

  constructor(step: number) {
    this.#step = step
  }

  /** Of both statements. */
  get slots(): readonly SqlValue[] {
    return [...this.#after, this.#step]
  }

  /** Where something went, more of the same owner may be left. */
  stepped(gone: number, last: ResultRow | undefined): void {
    if (gone === 0) this.#after = last ?? ['', '']
  }
}
