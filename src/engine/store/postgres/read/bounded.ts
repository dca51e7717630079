/**
 * Statements whose answers have a maximum size. The rows of an answer are discarded as soon as there are too many bytes. If
 * there may be many times too many, the database adds up the sizes of the texts first, which does not read them.
 */
import { setImmediate } from 'node:timers/promises'
import type { AnswerBound } from '../../../plan/answer-bound.ts'
import type { RunQueries } from '../../read/batched.ts'
import type { SliceSize } from '../../read/database.ts'
import type { LargestAnswer } from '../../read/largest-answer.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { measuring } from '../../sql/measuring.ts'
import type { Sql } from '../../sql/writer.ts'
import type { Inputs, ResultRows } from '../../values.ts'
import { type BoundStatement, tooLargeRows } from '../connections/statement.ts'
import { limited } from './limited.ts'

/**
 * An answer that can be larger than this many times its bound is measured first: in rows that are discarded as they arrive, or
 * in one row, which arrives as a whole.
 */
const maxUnmeasured = { rows: 4, row: 1 }

type BindQuery = (inputs: Inputs) => BoundStatement

/** `largest`: of the answer, if the statement makes one, in rows if it has a `size`. `build`: see `limited`. */
export function boundedQuery(
  dialect: Dialect,
  build: (dialect: Dialect) => Sql,
  largest: LargestAnswer | undefined,
  size?: SliceSize,
): BindQuery {
  const of = size === undefined ? 'row' : 'rows'
  const query = limited(dialect, build)
  if (largest === undefined) return query
  let sizes: BindQuery | undefined
  return inputs => {
    const { answerBound, args } = inputs
    if (answerBound === undefined) return query(inputs)
    if (largest(args) <= maxUnmeasured[of] * answerBound.leftBytes) return { ...query(inputs), answerBound }
    sizes ??= limited(measuring(dialect), build)
    return { ...query(inputs), answerBound, sizes: sizes(inputs), maxRows: size?.rows(inputs) }
  }
}

/** Runs the queries of `boundedQuery`. Throws ANSWER_TOO_LARGE. */
export function boundedQueries(run: RunQueries<BoundStatement>): RunQueries<BoundStatement> {
  return async queries => {
    for (const { sizes, answerBound, maxRows } of queries) {
      if (sizes === undefined || answerBound === undefined) continue
      const [rows = []] = await run([sizes])
      requireSize(rows, answerBound, maxRows)
    }
    const results = await run(queries)
    const index = results.indexOf(tooLargeRows)
    if (index !== -1) throw queries[index]?.answerBound?.refusal()
    // Receiving a long text blocks the event loop. What becomes of it has a turn of its own.
    if (results.some(hasLongText)) await setImmediate()
    return results
  }
}

/** The last of `maxRows` rows may only show that a page follows. */
function requireSize(rows: ResultRows, answerBound: AnswerBound, maxRows: number | undefined): void {
  const counted = rows.length === maxRows ? rows.slice(0, -1) : rows
  const bytes = counted.reduce((sum, [size]) => sum + Number(size), 0)
  if (bytes > answerBound.leftBytes) throw answerBound.refusal()
}

/** In characters. */
const maxTextOfTurn = 1024 * 1024

function hasLongText(rows: ResultRows): boolean {
  return rows.some(([text]) => typeof text === 'string' && text.length > maxTextOfTurn)
}
