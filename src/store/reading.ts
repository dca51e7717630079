/** What the readers of single shapes share. */
import type { Answers } from './answers.ts'
import type { Connection, ResultRow } from './connection.ts'
import type { Totals } from './totals.ts'
import type { Versions } from './versions.ts'

export interface ReadContext {
  readonly connection: Connection
  readonly answers: Answers
  readonly versions: Versions
  /** Versions that stay the same while rows are only added at the end or changed in place. */
  readonly orders: Versions
  readonly totals: Totals
}

/** The JSON array of the first `size` rows' texts. */
export function arrayText(rows: readonly ResultRow[], size = rows.length): string {
  let text = '['
  for (let index = 0; index < size; index++) {
    if (index > 0) text += ','
    text += String(rows[index]?.[0])
  }
  return `${text}]`
}
