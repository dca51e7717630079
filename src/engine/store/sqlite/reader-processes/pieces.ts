/** Long values of an answer are sent in pieces: see `LongValue`. */
import type { SqlValue } from '../../values.ts'
import type { LongValue, ReaderRows, SentRows } from './messages.ts'

/** In characters. */
const maxPieceLength = 262_144

/** Sends the pieces of long values; returns what is sent after them. */
export function sendPieces({ results, ms }: ReaderRows, send: (piece: string) => void): SentRows {
  const sentValue = (value: SqlValue): SqlValue | LongValue => {
    if (typeof value !== 'string' || value.length <= maxPieceLength) return value
    for (let start = 0; start < value.length; start += maxPieceLength) {
      send(value.slice(start, start + maxPieceLength))
    }
    return { pieces: Math.ceil(value.length / maxPieceLength) }
  }
  return { results: results.map(rows => rows.map(row => row.map(sentValue))), ms }
}

/** The rows with the pieces, which are in the order in which they came. */
export function joinPieces({ results, ms }: SentRows, pieces: readonly string[]): ReaderRows {
  let position = 0
  const value = (sent: SqlValue | LongValue): SqlValue => {
    if (typeof sent !== 'object' || sent === null || !('pieces' in sent)) return sent
    const start = position
    position += sent.pieces
    return pieces.slice(start, position).join('')
  }
  return { results: results.map(rows => rows.map(row => row.map(value))), ms }
}
