/**
 * A name for the primary's timeline that only its standbys can know: it is stored in a row that was written after this server
 * became the primary. After a promotion, another standby of the old primary may be ahead on a timeline that has ended: its
 * positions mean nothing, and it lacks the name.
 */
import { randomUUID } from 'node:crypto'
import { slot, sql } from '../../sql/writer.ts'
import { noInputs, slotInputs } from '../../values.ts'
import type { Pool } from '../connections/pool.ts'
import { type BoundStatement, statementOf } from '../connections/statement.ts'
import type { Writer } from '../write/writer.ts'

const storedName = sql`(SELECT "value" FROM "_portico" WHERE "key" = 'timeline')`

/** Unique to each cluster and each promotion. */
const readTimeline = statementOf(
  sql`SELECT (SELECT "system_identifier"::text FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), ${storedName}`,
)

const storeName = statementOf(
  sql`INSERT INTO "_portico" AS "p" ("key", "value") VALUES ('timeline', ${slot(0)}) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value" WHERE NOT starts_with("p"."value", ${slot(1)})`,
)

/** The position up to which a standby has replayed the timeline of that name; null on any other server. To be sent before the snapshot. */
const readReplayed = statementOf(
  sql`SELECT CASE WHEN pg_is_in_recovery() AND ${storedName} = ${slot(0)} THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END`,
)

const noNames: ReadonlySet<string> = new Set()
const maxTries = 3

export class Timeline {
  readonly #primary: Pool
  readonly #writer: Writer
  #name = ''
  #server = {}
  #learning: Promise<void> | undefined

  constructor(primary: Pool, writer: Writer) {
    this.#primary = primary
    this.#writer = writer
  }

  /** Reads the position up to which a standby has replayed the WAL; null: it is no standby. Only later snapshots include it. */
  get replayed(): BoundStatement {
    return readReplayed.with(slotInputs([this.#name]))
  }

  /** Another server may be the primary from now on. No standby is recognised until its timeline's name is known. */
  forget(): void {
    this.#name = ''
    this.#server = {}
  }

  /** Rejects with an `ApiError` if the primary does not answer. */
  async learn(): Promise<void> {
    if (this.#name !== '') return
    this.#learning ??= this.#learn().finally(() => {
      this.#learning = undefined
    })
    await this.#learning
  }

  async #learn(): Promise<void> {
    const server = this.#server
    for (let tries = 0; tries < maxTries; tries++) {
      const [current, stored] = (await this.#primary.ask([readTimeline.with(noInputs)]))[0]?.[0] ?? []
      if (server !== this.#server) return
      if (String(stored).startsWith(`${current}/`)) this.#name = String(stored)
      else await this.#write(`${current}/`)
      if (this.#name !== '') return
    }
  }

  /** If several nodes write a name, the first one stays. */
  #write(prefix: string): Promise<void> {
    return this.#writer.work(function* () {
      yield [{ statement: storeName, inputs: slotInputs([prefix + randomUUID(), prefix]) }]
      return { value: undefined, changed: noNames }
    }, 'timeline')
  }
}
