/** Records on SQLite. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { RecordChanges, recordOf, recordSql, versionName } from '../records.ts'
import type { Sql } from '../sql/writer.ts'
import { type SqlValue, slotInputs } from '../values.ts'
import type { Version, Versions } from '../versions.ts'
import type { QuerySteps } from '../write/steps.ts'
import type { Connection } from './connection.ts'
import type { Statement } from './statement.ts'
import type { Writer } from './write/writer.ts'

interface RecordsParts {
  readonly connection: Connection
  readonly writer: Writer
  readonly versions: Versions
  readonly now: () => EpochMs
}

export class SqliteRecords extends RecordChanges<Statement> implements Records {
  readonly #connection: Connection
  readonly #versions: Versions
  readonly #now: () => number
  readonly #statements = new Map<Sql, Statement>()
  /** Every request with a token reads a version. */
  readonly #cells = new Map<string, Version>()

  constructor({ connection, writer, versions, now }: RecordsParts) {
    const [addIfNew, replace] = [connection.prepare(recordSql.addIfNew), connection.prepare(recordSql.put)]
    super({
      prepare: fragment => connection.prepare(fragment),
      now,
      work: steps => writer.work(steps),
      *put(inputs): QuerySteps<Statement, boolean> {
        const [added = []] = yield [{ statement: addIfNew, inputs }]
        if (added.length > 0) return false
        yield [{ statement: replace, inputs }]
        return true
      },
    })
    this.#connection = connection
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
    let statement = this.#statements.get(query)
    if (statement === undefined) {
      statement = this.#connection.prepare(query)
      this.#statements.set(query, statement)
    }
    return statement.all(slotInputs([this.#now(), ...keys])).map(recordOf)
  }
}
