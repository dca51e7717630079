/** Statements that run on the event loop. */
import type { Inputs, ResultRow } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { Totals } from './totals.ts'

/** `total`: the number of rows of the list, if known. */
export interface InlineStatement {
  get(inputs: Inputs): ResultRow | undefined
  all(inputs: Inputs, total?: number): readonly ResultRow[]
}

export interface InlineQuery {
  readonly statement: InlineStatement
  readonly inputs: Inputs
}

export interface InlineContext {
  readonly connection: Connection
  readonly totals: Totals
  /** How many rows of a list are walked for conditions on related rows: see `related-rows.ts`. */
  readonly walkedRows: number
}
