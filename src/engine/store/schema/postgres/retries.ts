/** Statements that wait for locks only briefly, and are retried: later statements of others queue behind a waiting one. */
import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { MigrationError } from '../refusal.ts'

/** Runs a part of a step. An error names the step. */
export async function runStep(sentence: string, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (cause) {
    if (isLocked(cause)) throw cause
    const reason = reasonOf(cause)
    throw new MigrationError(`Nothing was changed. This step failed: ${sentence} (${reason})`, { cause })
  }
}

/**
 * Runs statements without a transaction, and retries all of them together. `CONCURRENTLY` cannot run in a transaction, and
 * waits without a lock that blocks others.
 */
export function runWithRetries(client: pg.Client, ...texts: readonly string[]): Promise<void> {
  return withRetries(async () => {
    for (const text of texts) {
      const timeout = text.includes(' CONCURRENTLY ') || text.includes(' VALIDATE ') ? 0 : lockTimeoutMs
      await client.query(`SET lock_timeout = ${timeout}`)
      await client.query(text)
    }
  })
}

/** In milliseconds. */
export const lockTimeoutMs = 500
const maxLockTries = 40

/** `prefix`: begins the error after the last try, and tells whether something was changed. */
export async function withRetries(run: () => Promise<void>, prefix = ''): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (cause) {
      if (!isLocked(cause)) throw cause
      if (tries === maxLockTries) {
        const reason = `others hold locks on the tables: ${reasonOf(cause)}`
        throw new MigrationError(`${prefix}${reason}. Try again when the database is less busy.`, { cause })
      }
      await wait(500 + Math.random() * 500)
    }
  }
}

/** lock_not_available, deadlock_detected. */
export function isLocked(cause: unknown): boolean {
  return cause instanceof pg.DatabaseError && (cause.code === '55P03' || cause.code === '40P01')
}

export function reasonOf(cause: unknown): string {
  if (cause instanceof pg.DatabaseError && cause.detail !== undefined)
    return `${cause.message}: ${cause.detail}`
  return cause instanceof Error ? cause.message : String(cause)
}
