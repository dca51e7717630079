/** Records on SQLite. */
import type { NewRecord, RecordKey, Records, StoredRecord } from '../../records.ts'
import { none, recordOf, recordSql, valuesOf, versionName, type Work } from '../records.ts'
import type { Sql } from '../sql/writer.ts'
import { type SqlValue, slotted } from '../values.ts'
import type { Version, Versions } from '../versions.ts'
import type { Connection, Statement } from './connection.ts'
import type { Writer } from './writer.ts'

interface Parts {
  readonly connection: Connection
  readonly writer: Writer
  readonly versions: Versions
  /** The time, in milliseconds since 1970. */
  readonly now: () => number
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
    return this.#read(recordSql.byId, [kind, id])[0]
  }

  byAlias(kind: string, alias: string): StoredRecord | undefined {
    return this.#read(recordSql.byAlias, [kind, alias])[0]
  }

  byOwner(kind: string, owner: string): readonly StoredRecord[] {
    return this.#read(recordSql.byOwner, [kind, owner])
  }

  all(kind: string): readonly StoredRecord[] {
    return this.#read(recordSql.byKind, [kind])
  }

  after(kind: string, id: string, limit: number): readonly StoredRecord[] {
    return this.#read(recordSql.afterId, [kind, id, limit])
  }

  put(record: NewRecord): Promise<void> {
    return this.#write(() => {
      const values = valuesOf(record)
      if (this.#all(recordSql.addIfNew, values).length > 0) return { value: undefined, changed: none }
      this.#all(recordSql.put, values)
      return { value: undefined, changed: [record.kind] }
    })
  }

  add(record: NewRecord): Promise<boolean> {
    return this.#write(() => {
      this.#all(recordSql.removeExpired, [this.#now(), record.kind, record.id])
      return { value: this.#all(recordSql.addIfNew, valuesOf(record)).length > 0, changed: none }
    })
  }

  swap({ kind, id }: RecordKey, before: string, after: string): Promise<boolean> {
    return this.#write(() => this.#changed(recordSql.swap, [kind, id, before, after], [kind]))
  }

  consume(kind: string, id: string): Promise<boolean> {
    return this.#write(() => this.#changed(recordSql.consume, [this.#now(), kind, id], [kind]))
  }

  delete(kind: string, id: string): Promise<boolean> {
    return this.#write(() => this.#changed(recordSql.remove, [kind, id], [kind]))
  }

  deleteGrant(grant: string): Promise<number> {
    return this.#write(() => {
      const kinds = this.#all(recordSql.removeGrant, [grant]).map(([kind]) => String(kind))
      return { value: kinds.length, changed: kinds }
    })
  }

  deleteOwned(owner: string, kinds: readonly string[]): Promise<number> {
    return this.#write(() => {
      const gone = kinds.flatMap(kind => this.#all(recordSql.removeOwned, [kind, owner]).map(() => kind))
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
    return statement.all(slotted(slots))
  }
}
