/** What the service and a reader process say to each other: one job at a time. */
import type { ResultRow, SqlValue } from '../../values.ts'

/** A statement that only reads, with the values of its parameters by number. */
export interface ReaderQuery {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** Runs in one read transaction. */
export interface ReaderJob {
  readonly id: number
  readonly queries: readonly ReaderQuery[]
}

/** The rows of each query. `ms`: how much processor time they took. */
export interface ReaderRows {
  readonly results: readonly (readonly ResultRow[])[]
  readonly ms: number
}

/** SQLite's failure: see `failure.ts`. */
export interface ReaderFailure {
  readonly message: string
  /** Undefined: not one of SQLite's. */
  readonly errcode: number | undefined
  /** The file is not the one that the service has open. */
  readonly isMoved: boolean
}

export type ReaderReply =
  | { readonly id: number; readonly rows: ReaderRows }
  | { readonly id: number; readonly failure: ReaderFailure }

/** What a reader process is started with, as JSON in its first argument. */
export interface ReaderOrders {
  readonly file: string
  /** What `FileIdentity.expected` says of the file and of its log. */
  readonly identities: readonly (readonly [path: string, identity: string])[]
  /** How long a statement waits for a lock, in milliseconds. */
  readonly busyTimeoutMs: number
}

/** The descriptor of a pipe that the service holds open: its end tells the process that the service has ended. */
export const lifelineDescriptor = 4
