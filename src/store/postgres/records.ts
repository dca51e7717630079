/** Records on PostgreSQL. Each change is one statement, or two that are sent together, in the next commit. */
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../records.ts'
import { none, recordOf, recordSql, valuesOf, versionName, type Work } from '../records.ts'
import { sql } from '../sql/writer.ts'
import { type SqlValue, slotted } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { Pool } from './pool.ts'
import { type Statement, statementOf } from './statement.ts'
import type { Scope } from './transaction.ts'
import type { Writer } from './writer.ts'

interface Parts {
  readonly pool: Pool
  readonly writer: Writer
  readonly versions: Versions
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
}

/** Works on one record are ordered by it, so that nodes lock the rows in one order. */
function keyOf(kind: string, id: string): string {
  return `${versionName(kind)}/${id}`
}

export class PostgresRecords implements Records {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    return (await this.#read(statements.byId, [kind, id]))[0]
  }

  async byAlias(kind: string, alias: string): Promise<StoredRecord | undefined> {
    return (await this.#read(statements.byAlias, [kind, alias]))[0]
  }

  byOwner(kind: string, owner: string): Promise<readonly StoredRecord[]> {
    return this.#read(statements.byOwner, [kind, owner])
  }

  all(kind: string): Promise<readonly StoredRecord[]> {
    return this.#read(statements.byKind, [kind])
  }

  after(kind: string, id: string, limit: number): Promise<readonly StoredRecord[]> {
    return this.#read(statements.afterId, [kind, id, limit])
  }

  put(record: NewRecord): Promise<void> {
    const { kind, id } = record
    return this.#write(keyOf(kind, id), async scope => {
      const [row] = await scope.rows(statements.put, slotted(valuesOf(record)))
      return { value: undefined, changed: row?.[0] === 1 ? none : [kind] }
    })
  }

  add(record: NewRecord): Promise<boolean> {
    const { kind, id } = record
    return this.#write(keyOf(kind, id), async scope => {
      scope.queue(statements.removeExpired, slotted([this.#parts.now(), kind, id]))
      const added = await scope.rows(statements.addIfNew, slotted(valuesOf(record)))
      return { value: added.length > 0, changed: none }
    })
  }

  swap({ kind, id }: RecordKey, before: string, after: string): Promise<boolean> {
    return this.#change(statements.swap, [kind, id, before, after], kind, id)
  }

  consume(kind: string, id: string): Promise<boolean> {
    return this.#change(statements.consume, [this.#parts.now(), kind, id], kind, id)
  }

  delete(kind: string, id: string): Promise<boolean> {
    return this.#change(statements.remove, [kind, id], kind, id)
  }

  deleteGrant(grant: string): Promise<number> {
    return this.#write(undefined, async scope => {
      const kinds = (await scope.rows(statements.removeGrant, slotted([grant]))).map(([kind]) => String(kind))
      return { value: kinds.length, changed: kinds }
    })
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#write(undefined, async scope => {
      const removed = kinds.map(kind => scope.rows(statements.removeOwned, slotted([kind, owner])))
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

const statements = {
  byId: statementOf(recordSql.byId),
  byAlias: statementOf(recordSql.byAlias),
  byOwner: statementOf(recordSql.byOwner),
  byKind: statementOf(recordSql.byKind),
  afterId: statementOf(recordSql.afterId),
  addIfNew: statementOf(recordSql.addIfNew),
  /** Whether it is new: of a row that was replaced, xmax is the transaction that locked it. */
  put: statementOf(sql`${recordSql.put} RETURNING "xmax" = 0`),
  swap: statementOf(recordSql.swap),
  consume: statementOf(recordSql.consume),
  remove: statementOf(recordSql.remove),
  removeExpired: statementOf(recordSql.removeExpired),
  removeGrant: statementOf(recordSql.removeGrant),
  removeOwned: statementOf(recordSql.removeOwned),
}
