/** Records on every database: their rows, their statements, and their changes. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import type { NewRecord, RecordKey, StoredRecord } from '../../base/records.ts'
import type { RecordChange as RecordStep } from '../plan/transaction.ts'
import { type Sql, slot, sql } from './sql/writer.ts'
import { type Inputs, type ResultRow, type SqlValue, slotInputs } from './values.ts'
import type { QuerySteps, StepQuery } from './write/steps.ts'
import type { WorkResult, WorkSteps } from './write/work.ts'

/** The result of a change of records. */
interface RecordChangeResult<T> {
  readonly value: T
  /** The kinds of the records that were replaced, changed or deleted: new ones invalidate nothing. */
  readonly kinds: readonly string[]
}

/** The part of changes of records that differs between databases. */
export interface RecordWriter<S> {
  prepare(fragment: Sql): S
  now(): EpochMs
  /** Stores the record in the slots, and replaces one with its key. Returns whether there was one. */
  put(inputs: Inputs): QuerySteps<S, boolean>
  /** See `doWork`. Work with the same key runs one after the other. */
  work<T>(steps: WorkSteps<S, T>, key: string | undefined): Promise<T>
}

const noKinds: readonly string[] = []

/** The changes of records, on every database. */
export class RecordChanges<S> {
  readonly #writer: RecordWriter<S>
  readonly #statements = new Map<Sql, S>()

  constructor(writer: RecordWriter<S>) {
    this.#writer = writer
  }

  /** A change as a step of a transaction: whether it was made, and the versions that grow. */
  *steps(change: RecordStep): QuerySteps<S, WorkResult<boolean>> {
    const { value, kinds } = yield* this.#stepsOf(change)
    return { value, changed: new Set(kinds.map(versionName)) }
  }

  async put(record: NewRecord): Promise<void> {
    await this.#change(record, () => this.#put(record))
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#change(record, () => this.#add(record))
  }

  swap(key: RecordKey, before: string, after: string): Promise<boolean> {
    return this.#change(key, () => this.#swap(key, before, after))
  }

  consume(kind: string, id: string): Promise<boolean> {
    const key = { kind, id }
    return this.#change(key, () => this.#changeOne(recordSql.consume, key, [this.#writer.now(), kind, id]))
  }

  delete(kind: string, id: string): Promise<boolean> {
    const key = { kind, id }
    return this.#change(key, () => this.#delete(key))
  }

  deleteGrant(grant: string): Promise<number> {
    const query = this.#query(recordSql.removeGrant, [grant])
    return this.#change(undefined, function* (): QuerySteps<S, RecordChangeResult<number>> {
      const [deleted = []] = yield [query]
      return { value: deleted.length, kinds: deleted.map(([kind]) => String(kind)) }
    })
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#change(undefined, () => this.#deleteOwned(owner, kinds))
  }

  #stepsOf(change: RecordStep): QuerySteps<S, RecordChangeResult<boolean>> {
    switch (change.kind) {
      case 'add':
        return this.#add(change.record)
      case 'put':
        return this.#put(change.record)
      case 'swap':
        return this.#swap(change.key, change.before, change.after)
      case 'delete':
        return this.#delete(change.key)
      case 'deleteOwned':
        return this.#deleteAnyOwned(change.owner, change.kinds)
    }
  }

  *#put(record: NewRecord): QuerySteps<S, RecordChangeResult<boolean>> {
    const isReplaced = yield* this.#writer.put(slotInputs(valuesOf(record)))
    return { value: true, kinds: isReplaced ? [record.kind] : noKinds }
  }

  *#add(record: NewRecord): QuerySteps<S, RecordChangeResult<boolean>> {
    const { kind, id } = record
    const [, added = []] = yield [
      this.#query(recordSql.removeExpired, [this.#writer.now(), kind, id]),
      this.#query(recordSql.addIfNew, valuesOf(record)),
    ]
    return { value: added.length > 0, kinds: noKinds }
  }

  #swap(key: RecordKey, before: string, after: string): QuerySteps<S, RecordChangeResult<boolean>> {
    return this.#changeOne(recordSql.swap, key, [key.kind, key.id, before, after])
  }

  #delete(key: RecordKey): QuerySteps<S, RecordChangeResult<boolean>> {
    return this.#changeOne(recordSql.remove, key, [key.kind, key.id])
  }

  *#deleteOwned(owner: string, kinds: readonly string[]): QuerySteps<S, RecordChangeResult<number>> {
    const deletedKinds = (yield kinds.map(kind => this.#query(recordSql.removeOwned, [kind, owner]))).flatMap(
      (rows, index) => rows.map(() => kinds[index] ?? ''),
    )
    return { value: deletedKinds.length, kinds: deletedKinds }
  }

  *#deleteAnyOwned(owner: string, kinds: readonly string[]): QuerySteps<S, RecordChangeResult<boolean>> {
    const { value, kinds: changed } = yield* this.#deleteOwned(owner, kinds)
    return { value: value > 0, kinds: changed }
  }

  /** A statement that returns a row where it has changed the record. */
  *#changeOne(
    fragment: Sql,
    key: RecordKey,
    slots: readonly SqlValue[],
  ): QuerySteps<S, RecordChangeResult<boolean>> {
    // PostgreSQL refuses texts with U+0000, so no record has such an id.
    if (key.id.includes('\0')) return { value: false, kinds: noKinds }
    const [rows = []] = yield [this.#query(fragment, slots)]
    return { value: rows.length > 0, kinds: rows.length > 0 ? [key.kind] : noKinds }
  }

  /** `key`: of the record. Changes are ordered by it, so that all nodes lock the rows in the same order. */
  #change<T>(key: RecordKey | undefined, steps: () => QuerySteps<S, RecordChangeResult<T>>): Promise<T> {
    return this.#writer.work(
      function* () {
        const { value, kinds } = yield* steps()
        return { value, changed: new Set(kinds.map(versionName)) }
      },
      key && `${versionName(key.kind)}/${key.id}`,
    )
  }

  #query(fragment: Sql, slots: readonly SqlValue[]): StepQuery<S> {
    let statement = this.#statements.get(fragment)
    if (statement === undefined) {
      statement = this.#writer.prepare(fragment)
      this.#statements.set(fragment, statement)
    }
    return { statement, inputs: slotInputs(slots) }
  }
}

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
function valuesOf({ kind, id, payload, expiresAt, grant, alias, owner }: NewRecord): SqlValue[] {
  return [kind, id, payload, expiresAt, grant ?? null, alias ?? null, owner ?? null]
}

const columns = sql`"kind", "id", "payload", "expires_at", "consumed_at", "grant_id", "alias", "owner"`
const select = sql`SELECT ${columns} FROM "_records" WHERE`
const alive = sql`("expires_at" IS NULL OR "expires_at" > ${slot(0)})`
const insert = sql`INSERT INTO "_records" ("kind", "id", "payload", "expires_at", "grant_id", "alias", "owner") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)})`

/** The distinct kinds, by a loose index scan (https://wiki.postgresql.org/wiki/Loose_indexscan). */
const kinds = sql`WITH RECURSIVE "kinds" ("kind") AS (SELECT min("kind") FROM "_records" UNION ALL SELECT (SELECT min("kind") FROM "_records" WHERE "kind" > "kinds"."kind") FROM "kinds" WHERE "kinds"."kind" IS NOT NULL) SELECT "kind" FROM "kinds"`

export const recordSql = {
  byId: sql`${select} "kind" = ${slot(1)} AND "id" = ${slot(2)} AND ${alive}`,
  byAlias: sql`${select} "kind" = ${slot(1)} AND "alias" = ${slot(2)} AND ${alive}`,
  byOwner: sql`${select} "kind" = ${slot(1)} AND "owner" = ${slot(2)} AND ${alive} ORDER BY "id"`,
  byKind: sql`${select} "kind" = ${slot(1)} AND ${alive} ORDER BY "id"`,
  afterId: sql`${select} "kind" = ${slot(1)} AND "id" > ${slot(2)} AND ${alive} ORDER BY "id" LIMIT ${slot(3)}`,
  addIfNew: sql`${insert} ON CONFLICT ("kind", "id") DO NOTHING RETURNING 1`,
  /** Inserts, or replaces. */
  put: sql`${insert} ON CONFLICT ("kind", "id") DO UPDATE SET "payload" = excluded."payload", "expires_at" = excluded."expires_at", "grant_id" = excluded."grant_id", "alias" = excluded."alias", "owner" = excluded."owner"`,
  swap: sql`UPDATE "_records" SET "payload" = ${slot(3)} WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} AND "payload" = ${slot(2)} RETURNING 1`,
  consume: sql`UPDATE "_records" SET "consumed_at" = ${slot(0)} WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "consumed_at" IS NULL AND ${alive} RETURNING 1`,
  remove: sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} RETURNING 1`,
  /** An expired record does not reserve its id. */
  removeExpired: sql`DELETE FROM "_records" WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "expires_at" <= ${slot(0)}`,
  removeGrant: sql`DELETE FROM "_records" WHERE "grant_id" = ${slot(0)} RETURNING "kind"`,
  removeOwned: sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1`,
  /** Of every kind. The index of owners begins with the kind, so it is searched once per kind. */
  removeOwner: sql`DELETE FROM "_records" WHERE "owner" = ${slot(0)} AND "kind" IN (${kinds}) RETURNING "kind"`,
} as const

const ownedRecords = sql`FROM "_records" WHERE "owner" IS NOT NULL AND ("kind", "owner") > (${slot(0)}, ${slot(1)}) ORDER BY "kind", "owner"`

/**
 * Records of deleted users that were stored during the deletion. One step of a round over all records that have an owner.
 */
export const removeOrphans = sql`DELETE FROM "_records" WHERE ("kind", "id") IN (SELECT "kind", "id" ${ownedRecords} LIMIT ${slot(2)}) AND NOT EXISTS (SELECT 1 FROM "users" WHERE "users"."id" = CAST("_records"."owner" AS bigint)) RETURNING 1`

/** The kind and owner at which the step ends; no row where the round ends. */
export const lastOwned = sql`SELECT "kind", "owner" ${ownedRecords} LIMIT 1 OFFSET ${slot(2)} - 1`

/** The position of a round: the last kind and owner that it has checked. */
export class Round {
  readonly #step: number
  #after: ResultRow = ['', '']

  constructor(step: number) {
    this.#step = step
  }

  /** The slots of both statements. */
  get slots(): readonly SqlValue[] {
    return [...this.#after, this.#step]
  }

  /** A step that removed records is repeated: more of the same owner may be left. */
  advance(removedCount: number, last: ResultRow | undefined): void {
    if (removedCount === 0) this.#after = last ?? ['', '']
  }
}
