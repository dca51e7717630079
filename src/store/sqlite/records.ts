/** Records on SQLite. */
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../records.ts'
import { type Sql, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import type { Version, Versions } from '../versions.ts'
import type { Connection, Statement } from './connection.ts'
import type { Writer } from './writer.ts'

const columns = sql`"kind", "id", "payload", "expires_at", "consumed_at", "grant_id", "alias", "owner"`
const select = sql`SELECT ${columns} FROM "_records" WHERE`
const alive = sql`("expires_at" IS NULL OR "expires_at" > ${slot(0)})`
const insert = sql`INSERT INTO "_records" ("kind", "id", "payload", "expires_at", "grant_id", "alias", "owner") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)})`

interface Parts {
  readonly connection: Connection
  readonly writer: Writer
  readonly versions: Versions
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

function versionName(kind: string): string {
  return `_records/${kind}`
}

function recordOf(row: readonly SqlValue[]): StoredRecord {
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

function valuesOf({ kind, id, payload, expiresAt, grant, alias, owner }: NewRecord): SqlValue[] {
  return [kind, id, payload, expiresAt, grant ?? null, alias ?? null, owner ?? null]
}

export class SqliteRecords implements Records {
  readonly #connection: Connection
  readonly #writer: Writer
  readonly #versions: Versions
  readonly #now: () => number
  readonly #statements = new Map<Sql, Statement>()
  /** Asked for with each request that brings a token. */
  readonly #cells = new Map<string, Version>()

  constructor({ connection, writer, versions, now }: Parts) {
    this.#connection = connection
    this.#writer = writer
    this.#versions = versions
    this.#now = now
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#read(byId, [kind, id])[0]
  }

  byAlias(kind: string, alias: string): StoredRecord | undefined {
    return this.#read(byAlias, [kind, alias])[0]
  }

  byOwner(kind: string, owner: string): readonly StoredRecord[] {
    return this.#read(byOwner, [kind, owner])
  }

  all(kind: string): readonly StoredRecord[] {
    return this.#read(byKind, [kind])
  }

  after(kind: string, id: string, limit: number): readonly StoredRecord[] {
    return this.#read(afterId, [kind, id, limit])
  }

  put(record: NewRecord): Promise<void> {
    return this.#write(() => {
      const values = valuesOf(record)
      if (this.#all(addIfNew, values).length > 0) return { value: undefined, changed: none }
      this.#all(replace, values)
      return { value: undefined, changed: [record.kind] }
    })
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#write(() => {
      // One whose time is over does not hold its id.
      this.#all(removeExpired, [this.#now(), record.kind, record.id])
      return { value: this.#all(addIfNew, valuesOf(record)).length > 0, changed: none }
    })
  }

  swap({ kind, id }: RecordKey, before: string, after: string): Promise<boolean> {
    return this.#write(() => this.#changed(swap, [kind, id, before, after], [kind]))
  }

  consume(kind: string, id: string): Promise<boolean> {
    return this.#write(() => this.#changed(consume, [this.#now(), kind, id], [kind]))
  }

  delete(kind: string, id: string): Promise<boolean> {
    return this.#write(() => this.#changed(remove, [kind, id], [kind]))
  }

  deleteGrant(grant: string): Promise<number> {
    return this.#write(() => {
      const kinds = this.#all(removeGrant, [grant]).map(([kind]) => String(kind))
      return { value: kinds.length, changed: kinds }
    })
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#write(() => {
      const gone = kinds.flatMap(kind => this.#all(removeOwned, [kind, owner]).map(() => kind))
      return { value: gone.length, changed: gone }
    })
  }

  version(kind: string): number {
    this.#connection.hold()
    let cell = this.#cells.get(kind)
    if (cell === undefined) {
      cell = this.#versions.cell(versionName(kind))
      this.#cells.set(kind, cell)
    }
    return cell.value
  }

  #read(query: Sql, keys: readonly SqlValue[]): readonly StoredRecord[] {
    this.#connection.hold()
    return this.#all(query, [this.#now(), ...keys]).map(recordOf)
  }

  #write<T>(work: () => Work<T>): Promise<T> {
    return this.#writer.work(() => {
      const { value, changed } = work()
      return { value, changed: new Set(changed.map(versionName)) }
    })
  }

  #changed(query: Sql, slots: readonly SqlValue[], kinds: readonly string[]): Work<boolean> {
    const done = this.#all(query, slots).length > 0
    return { value: done, changed: done ? kinds : none }
  }

  #all(query: Sql, slots: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
    let statement = this.#statements.get(query)
    if (statement === undefined) {
      statement = this.#connection.prepare(query)
      this.#statements.set(query, statement)
    }
    return statement.all({ args: [], userId: null, slots })
  }
}

interface Work<T> {
  readonly value: T
  /** The kinds of which something else than a new record changed. */
  readonly changed: readonly string[]
}

const none: readonly string[] = []

const byId = sql`${select} "kind" = ${slot(1)} AND "id" = ${slot(2)} AND ${alive}`
const byAlias = sql`${select} "kind" = ${slot(1)} AND "alias" = ${slot(2)} AND ${alive}`
const byOwner = sql`${select} "kind" = ${slot(1)} AND "owner" = ${slot(2)} AND ${alive} ORDER BY "id"`
const byKind = sql`${select} "kind" = ${slot(1)} AND ${alive} ORDER BY "id"`
const afterId = sql`${select} "kind" = ${slot(1)} AND "id" > ${slot(2)} AND ${alive} ORDER BY "id" LIMIT ${slot(3)}`
const addIfNew = sql`${insert} ON CONFLICT ("kind", "id") DO NOTHING RETURNING 1`
const replace = sql`${insert} ON CONFLICT ("kind", "id") DO UPDATE SET "payload" = excluded."payload", "expires_at" = excluded."expires_at", "grant_id" = excluded."grant_id", "alias" = excluded."alias", "owner" = excluded."owner" RETURNING 1`
const swap = sql`UPDATE "_records" SET "payload" = ${slot(3)} WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} AND "payload" = ${slot(2)} RETURNING 1`
const consume = sql`UPDATE "_records" SET "consumed_at" = ${slot(0)} WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "consumed_at" IS NULL AND ${alive} RETURNING 1`
const remove = sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} RETURNING 1`
const removeExpired = sql`DELETE FROM "_records" WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "expires_at" <= ${slot(0)} RETURNING 1`
const removeGrant = sql`DELETE FROM "_records" WHERE "grant_id" = ${slot(0)} RETURNING "kind"`
const removeOwned = sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1`
