/** The messages between the service and a reader process, which runs one job at a time. */
import type { ResultRows, SqlValue } from '../../values.ts'

/** A statement that only reads, with the values of its numbered parameters. */
export interface ReaderQuery {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** Runs in one read transaction. */
export interface ReaderJob {
  readonly id: number
  readonly queries: readonly ReaderQuery[]
  /** Undefined: any size. */
  readonly maxAnswerBytes: number | undefined
}

/** The rows of each query. `ms`: their processor time. */
export interface ReaderRows {
  readonly results: readonly ResultRows[]
  readonly ms: number
}

/** A failed job. */
export interface ReaderFailure {
  readonly message: string
  /** SQLite's result code; undefined: another failure. */
  readonly errcode: number | undefined
  /** Whether the database file is not the one that the service has open. */
  readonly isMoved: boolean
  /** Whether the answer has more bytes than the job allows. */
  readonly isTooLarge: boolean
}

/**
 * A long value comes ahead of its reply, in pieces, so that the service takes in a large answer in many short turns of its event
 * loop. In the reply it is replaced by the number of its pieces.
 */
export interface LongValue {
  readonly pieces: number
}

/** The next piece of the reply's long values. */
export interface ReaderPiece {
  readonly id: number
  readonly piece: string
}

/** `ReaderRows` as they are sent. */
export interface SentRows {
  readonly results: readonly (readonly (readonly (SqlValue | LongValue)[])[])[]
  readonly ms: number
}

export type ReaderReply =
  | { readonly id: number; readonly rows: SentRows }
  | { readonly id: number; readonly failure: ReaderFailure }

/** The options of a reader process: JSON in its first argument. */
export interface ReaderProcessOptions {
  readonly file: string
  /** `FileIdentity.expected` of the file and of its log. */
  readonly identities: readonly (readonly [path: string, identity: string])[]
  /** How long a statement waits for a lock, in milliseconds. */
  readonly busyTimeoutMs: number
}

/** The descriptor of a pipe that the service holds open. When the pipe ends, the service has ended. */
export const lifelineDescriptor = 4
