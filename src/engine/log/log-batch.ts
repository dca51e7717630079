/** Batches in which the log is read. */
import type { LoggedChange } from '../plan/change-feed.ts'

/** A reader of the log ends a batch after the row that makes it reach this size. */
export const maxBatchBytes = 2 * 1024 * 1024

/** A character takes up to three bytes; field names and the overhead of a row fit in the rest. */
const smallBatchCharacters = maxBatchBytes / 8

/**
 * Whether `changes`, read by `after` with this limit and `maxBatchBytes`, reach the end of the log: neither bound can have
 * cut them. False if this is unknown.
 */
export function isLogEnd(changes: readonly LoggedChange[], limit: number): boolean {
  const characters = changes.reduce((sum, { row, before }) => sum + row.length + (before?.length ?? 0), 0)
  return changes.length === 0 || (changes.length < limit && characters < smallBatchCharacters)
}
