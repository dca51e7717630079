/** Statements on the event loop, and what they are made with. */
import type { Inputs, ResultRow } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { Totals } from './totals.ts'

/** `total`: how many rows the list has, where that is known. */
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
  /** How many rows of a list are walked along for conditions on related rows: see `related-rows.ts`. */
  readonly walkedRows: number
}
