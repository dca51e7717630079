/** Records on PostgreSQL. Each change is one statement, or two that are sent together, in the next commit. */
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../records.ts'
import { type Sql, slot, sql } from '../sql/writer.ts'
import type { SqlValue } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { Pool } from './pool.ts'
import { type Row, type Statement, slotted, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'
import type { Writer } from './writer.ts'

interface Parts {
  readonly pool: Pool
  readonly writer: Writer
  readonly versions: Versions
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

interface Work<T> {
  readonly value: T
  /** The kinds of which something else than a new record changed. */
  readonly changed: readonly string[]
}

function versionName(kind: string): string {
  return `_records/${kind}`
}

/** Works on one record are ordered by it, so that nodes lock the rows in one order. */
function keyOf(kind: string, id: string): string {
  return `${versionName(kind)}/${id}`
}

function recordOf([kind, id, payload, expiresAt, consumedAt, grant, alias, owner]: Row): StoredRecord {
  return {
    kind: String(kind),
    id: String(id),
    payload: String(payload),
    expiresAt: numberOr(expiresAt),
    consumedAt: numberOr(consumedAt),
    grant: textOr(grant),
    alias: textOr(alias),
    owner: textOr(owner),
  }
}

function numberOr(value: Row[number] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}

function textOr(value: Row[number] | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

function valuesOf({ kind, id, payload, expiresAt, grant, alias, owner }: NewRecord): SqlValue[] {
  return [kind, id, payload, expiresAt, grant ?? null, alias ?? null, owner ?? null]
}

export class PostgresRecords implements Records {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    return (await this.#read(byId, [kind, id]))[0]
  }

  async byAlias(kind: string, alias: string): Promise<StoredRecord | undefined> {
    return (await this.#read(byAlias, [kind, alias]))[0]
  }

  byOwner(kind: string, owner: string): Promise<readonly StoredRecord[]> {
    return this.#read(byOwner, [kind, owner])
  }

  all(kind: string): Promise<readonly StoredRecord[]> {
    return this.#read(byKind, [kind])
  }

  after(kind: string, id: string, limit: number): Promise<readonly StoredRecord[]> {
    return this.#read(afterId, [kind, id, limit])
  }

  put(record: NewRecord): Promise<void> {
    const { kind, id } = record
    return this.#write(keyOf(kind, id), async scope => {
      const [row] = await scope.rows(put, slotted(valuesOf(record)))
      return { value: undefined, changed: row?.[0] === 1 ? none : [kind] }
    })
  }

  add(record: NewRecord): Promise<boolean> {
    const { kind, id } = record
    return this.#write(keyOf(kind, id), async scope => {
      // One whose time is over does not hold its id.
      scope.queue(removeExpired, slotted([this.#parts.now(), kind, id]))
      const added = await scope.rows(addIfNew, slotted(valuesOf(record)))
      return { value: added.length > 0, changed: none }
    })
  }

  swap({ kind, id }: RecordKey, before: string, after: string): Promise<boolean> {
    return this.#change(swap, [kind, id, before, after], kind, id)
  }

  consume(kind: string, id: string): Promise<boolean> {
    return this.#change(consume, [this.#parts.now(), kind, id], kind, id)
  }

  delete(kind: string, id: string): Promise<boolean> {
    return this.#change(remove, [kind, id], kind, id)
  }

  deleteGrant(grant: string): Promise<number> {
    return this.#write(undefined, async scope => {
      const kinds = (await scope.rows(removeGrant, slotted([grant]))).map(([kind]) => String(kind))
      return { value: kinds.length, changed: kinds }
    })
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#write(undefined, async scope => {
      const removed = kinds.map(kind => scope.rows(removeOwned, slotted([kind, owner])))
      const gone = (await Promise.all(removed)).flatMap((rows, at) => rows.map(() => kinds[at] ?? ''))
      return { value: gone.length, changed: gone }
    })
  }

  version(kind: string): number {
    return this.#parts.versions.cell(versionName(kind)).value
  }

  async #read(query: Statement, keys: readonly SqlValue[]): Promise<readonly StoredRecord[]> {
    // PostgreSQL refuses a text with U+0000, so no record has one.
    if (keys.some(key => String(key).includes('\0'))) return []
    const { pool, now } = this.#parts
    return (await pool.rows(query, slotted([now(), ...keys]))).map(recordOf)
  }

  #change(query: Statement, slots: readonly SqlValue[], kind: string, id: string): Promise<boolean> {
    if (id.includes('\0')) return Promise.resolve(false)
    return this.#write(keyOf(kind, id), async scope => {
      const done = (await scope.rows(query, slotted(slots))).length > 0
      return { value: done, changed: done ? [kind] : none }
    })
  }

  #write<T>(key: string | undefined, work: (scope: Scope) => Promise<Work<T>>): Promise<T> {
    return this.#parts.writer.work(async scope => {
      const { value, changed } = await work(scope)
      return { value, changed: new Set(changed.map(versionName)) }
    }, key)
  }
}

const none: readonly string[] = []

const columns = sql`"kind", "id", "payload", "expires_at", "consumed_at", "grant_id", "alias", "owner"`
const select = sql`SELECT ${columns} FROM "_records" WHERE`
const alive = sql`("expires_at" IS NULL OR "expires_at" > ${slot(0)})`
const insert = sql`INSERT INTO "_records" ("kind", "id", "payload", "expires_at", "grant_id", "alias", "owner") VALUES (${slot(0)}, ${slot(1)}, ${slot(2)}, ${slot(3)}, ${slot(4)}, ${slot(5)}, ${slot(6)})`

function selectBy(condition: Sql, end: Sql = sql``): Statement {
  return statementOf(sql`${select} "kind" = ${slot(1)} AND ${condition} AND ${alive} ORDER BY "id"${end}`)
}

const byId = selectBy(sql`"id" = ${slot(2)}`)
const byAlias = selectBy(sql`"alias" = ${slot(2)}`)
const byOwner = selectBy(sql`"owner" = ${slot(2)}`)
const byKind = selectBy(sql`TRUE`)
const afterId = selectBy(sql`"id" > ${slot(2)}`, sql` LIMIT ${slot(3)}`)
const addIfNew = statementOf(sql`${insert} ON CONFLICT ("kind", "id") DO NOTHING RETURNING 1`)
/** Whether it is new: of a row that was replaced, xmax is the transaction that locked it. */
const put = statementOf(
  sql`${insert} ON CONFLICT ("kind", "id") DO UPDATE SET "payload" = excluded."payload", "expires_at" = excluded."expires_at", "grant_id" = excluded."grant_id", "alias" = excluded."alias", "owner" = excluded."owner" RETURNING "xmax" = 0`,
)
const swap = statementOf(
  sql`UPDATE "_records" SET "payload" = ${slot(3)} WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} AND "payload" = ${slot(2)} RETURNING 1`,
)
const consume = statementOf(
  sql`UPDATE "_records" SET "consumed_at" = ${slot(0)} WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "consumed_at" IS NULL AND ${alive} RETURNING 1`,
)
const remove = statementOf(
  sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "id" = ${slot(1)} RETURNING 1`,
)
const removeExpired = statementOf(
  sql`DELETE FROM "_records" WHERE "kind" = ${slot(1)} AND "id" = ${slot(2)} AND "expires_at" <= ${slot(0)}`,
)
const removeGrant = statementOf(sql`DELETE FROM "_records" WHERE "grant_id" = ${slot(0)} RETURNING "kind"`)
const removeOwned = statementOf(
  sql`DELETE FROM "_records" WHERE "kind" = ${slot(0)} AND "owner" = ${slot(1)} RETURNING 1`,
)
