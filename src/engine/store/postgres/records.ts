/** Records on PostgreSQL. */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records, StoredRecord } from '../../../base/records.ts'
import { RecordChanges, recordOf, recordSql, versionName } from '../records.ts'
import { sql } from '../sql/writer.ts'
import { type SqlValue, slotInputs } from '../values.ts'
import type { Versions } from '../versions.ts'
import type { QuerySteps } from '../write/steps.ts'
import type { Pool } from './connections/pool.ts'
import { type Statement, statementOf } from './connections/statement.ts'
import type { Writer } from './write/writer.ts'

interface RecordsParts {
  readonly pool: Pool
  readonly writer: Writer
  readonly versions: Versions
  readonly now: () => EpochMs
}

export class PostgresRecords extends RecordChanges<Statement> implements Records {
  readonly #parts: RecordsParts

  constructor(parts: RecordsParts) {
    const { writer, now } = parts
    super({
      prepare: statementOf,
      now,
      work: (steps, key) => writer.work(steps, key),
      *put(inputs): QuerySteps<Statement, boolean> {
        const [rows] = yield [{ statement: put, inputs }]
        return rows?.[0]?.[0] !== 1
      },
    })
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

  version(kind: string): number {
    return this.#parts.versions.cell(versionName(kind)).value
  }

  async #read(query: Statement, keys: readonly SqlValue[]): Promise<readonly StoredRecord[]> {
    // PostgreSQL refuses U+0000 in texts, so no record has one.
    if (keys.some(key => String(key).includes('\0'))) return []
    const { pool, now } = this.#parts
    return (await pool.rows(query, slotInputs([now(), ...keys]))).map(recordOf)
  }
}

const statements = {
  byId: statementOf(recordSql.byId),
  byAlias: statementOf(recordSql.byAlias),
  byOwner: statementOf(recordSql.byOwner),
  byKind: statementOf(recordSql.byKind),
  afterId: statementOf(recordSql.afterId),
}

/** Returns whether the row is new: the xmax of a replaced row is the transaction that locked it, that of a new one is 0. */
const put = statementOf(sql`${recordSql.put} RETURNING "xmax" = 0`)
