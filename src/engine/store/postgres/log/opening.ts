/**
 * Prepares a log for writing: stores its bounds, and continues above the numbers of a log that this one has replaced. A
 * database that was restored from a dump or to a point in time, or promoted from a standby, has another identity.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type pg from 'pg'
import { basesKey, identityKey, prunedKey, restoredKey } from '../../log/keys.ts'
import { parseBases } from '../../log/pruning.ts'
import { baseAbove, withBase } from '../../log/restored.ts'
import { inTransaction } from '../../schema/postgres/session.ts'
import { literal } from '../../schema/quoted.ts'
import { MigrationError } from '../../schema/refusal.ts'
import { noInputs } from '../../values.ts'
import type { Connection } from '../connections/connection.ts'
import { isMissingPrivilege } from '../connections/failure.ts'
import { statementOf } from '../connections/statement.ts'
import { drawnText, heldText } from './event-log.ts'

/** Stands for a part of an identity that cannot be read. It matches any value. */
const unknownPart = '-'
/** Every user may call this function by default, but an operator may have revoked it. */
const systemIdSql = `(SELECT "system_identifier"::text FROM pg_control_system())`
/** It increases with every promotion and every recovery to a point in time. A standby is not written to. */
const timelineSql = `CASE WHEN pg_is_in_recovery() THEN '${unknownPart}' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END`
const databaseIdSql = `(SELECT "oid"::text FROM pg_database WHERE "datname" = current_database())`

/** How long to wait for unfinished commits, and how often to check for them, in milliseconds. */
const settleMs = 30_000
const settlePauseMs = 10

const storedText = (key: string) => `(SELECT "value" FROM "_portico" WHERE "key" = ${literal(key)})`
/** The current identity and the stored one; the pruned number; whether the database was restored from a backup. */
const stateSql = (systemText: string) =>
  `SELECT concat_ws('/', ${systemText}, ${timelineSql}, ${databaseIdSql}), ${storedText(identityKey)}, ${storedText(prunedKey)}, ${storedText(restoredKey)} IS NOT NULL`
const stateSqls = [stateSql(systemIdSql), stateSql(literal(unknownPart))] as const
const [readState, readStateWithoutSystem] = stateSqls.map(text => statementOf([text]))

interface StoredLogState {
  /** The statement that read it. */
  readonly text: string
  readonly identity: string
  readonly stored: string | null
  readonly pruned: string | null
  readonly isRestored: boolean
}

/** The database must have Portico's own tables. If several nodes start at once, one opens the log. `now`: in milliseconds. */
export async function openLog(client: pg.Client, now: () => number): Promise<void> {
  const state = await logState(client)
  if (isOpen(state)) return
  await inTransaction(client, async () => {
    await lockBounds(client)
    const { identity, stored, isRestored } = await logStateBy(client, state.text)
    if (isRestored || (stored !== null && !isSame(stored, identity))) await raise(client, now())
    await store(client, identityKey, identity)
  })
}

/** The log continues far above its present numbers, and no reader may resume from one of them. */
export async function raiseLog(client: pg.Client, now: () => number): Promise<void> {
  const { identity } = await logState(client)
  await inTransaction(client, async () => {
    await lockBounds(client)
    await raise(client, now())
    await store(client, identityKey, identity)
  })
}

/** Whether a connection leads to the server whose log was opened: after a failover it leads to another one. */
export async function isOpenFor(connection: Connection): Promise<boolean> {
  for (const statement of [readState, readStateWithoutSystem]) {
    if (statement === undefined) continue
    const { results, error } = await connection.run([statement.with(noInputs)])
    if (error !== undefined && isMissingPrivilege(error)) continue
    if (error !== undefined) throw error
    return isOpen(logStateIn(statement.text, results[0]?.[0] ?? []))
  }
  return true
}

function isOpen({ identity, stored, pruned, isRestored }: StoredLogState): boolean {
  return !isRestored && pruned !== null && stored !== null && isSame(stored, identity)
}

/** Whether two identities may belong to the same server. */
function isSame(stored: string, identity: string): boolean {
  const [before, after] = [stored.split('/'), identity.split('/')]
  return before.every(
    (part, index) => part === after[index] || part === unknownPart || after[index] === unknownPart,
  )
}

async function logState(client: pg.Client): Promise<StoredLogState> {
  try {
    return await logStateBy(client, stateSqls[0])
  } catch (error) {
    if (!isMissingPrivilege(error)) throw error
    return logStateBy(client, stateSqls[1])
  }
}

async function logStateBy(client: pg.Client, text: string): Promise<StoredLogState> {
  const [row] = await rows(client, text)
  return logStateIn(text, row ?? [])
}

function logStateIn(
  text: string,
  [identity, stored, pruned, isRestored]: readonly unknown[],
): StoredLogState {
  return {
    text,
    identity: String(identity),
    stored: textOf(stored),
    pruned: textOf(pruned),
    // `Connection` returns true as 1.
    isRestored: isRestored === true || isRestored === 1,
  }
}

/** Stores the bounds of a new log, and locks them against other nodes that open or prune the log. */
async function lockBounds(client: pg.Client): Promise<void> {
  await client.query(
    `INSERT INTO "_portico" ("key", "value") VALUES ($1, '0') ON CONFLICT ("key") DO NOTHING`,
    [prunedKey],
  )
  await client.query('SELECT 1 FROM "_portico" WHERE "key" = $1 FOR UPDATE', [prunedKey])
}

async function raise(client: pg.Client, now: number): Promise<void> {
  const [row] = await rows(
    client,
    `SELECT ${drawnText}, ${storedText(basesKey)}, (SELECT min("id") FROM "_events")`,
  )
  const [drawn, bases, oldest] = row ?? []
  const base = baseAbove(Number(drawn), now)
  const newBases = withBase(parseBases(textOf(bases)), base, oldest === null ? undefined : Number(oldest))
  await client.query(`SELECT setval('"_events_id_seq"', $1)`, [base])
  await waitUntilSettled(client, base)
  await store(client, prunedKey, String(base))
  await store(client, basesKey, JSON.stringify(newBases))
  await client.query('DELETE FROM "_portico" WHERE "key" = $1', [restoredKey])
}

/** Waits until no commit can add a number below the base: readers that resume above it would miss that event. */
async function waitUntilSettled(client: pg.Client, base: number): Promise<void> {
  const deadline = performance.now() + settleMs
  for (;;) {
    const [held] = (await rows(client, heldText))[0] ?? []
    if (held === null || Number(held) >= base) return
    if (performance.now() > deadline) {
      throw new MigrationError(`Events were not committed within ${settleMs / 1000} seconds. Try again.`)
    }
    await wait(settlePauseMs)
  }
}

async function store(client: pg.Client, key: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO "_portico" ("key", "value") VALUES ($1, $2) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"',
    [key, value],
  )
}

async function rows(client: pg.Client, text: string): Promise<readonly (readonly unknown[])[]> {
  return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}
