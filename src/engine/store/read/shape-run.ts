/** Runs the reads of one shape, on any database: its statements, and the answers from their rows. */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { CompositeAnswer, ItemAnswer } from '../../plan/answer.ts'
import type { GuardedAggregate, GuardedList } from '../../plan/guarded.ts'
import type { PageWindow } from '../../plan/plan.ts'
import { aggregateSql } from '../sql/aggregate.ts'
import { compositeSql } from '../sql/composite.ts'
import { itemSql, parentSql } from '../sql/read.ts'
import type { Inputs, ResultRow } from '../values.ts'
import type { Answer, GuardedReadShape } from './answers.ts'
import type { ListRows, Snapshot, Statements } from './database.ts'
import { largestAnswer } from './largest-answer.ts'
import type { ListCache } from './list-cache.ts'
import { absent, type CursorWindow, cursorAnswer, cursorSlice, pageAnswer } from './lists.ts'
import { Pages } from './pages.ts'

/** Synchronous if the snapshot is. */
export type ShapeRun<Q> = (inputs: Inputs, snapshot: Snapshot<Q>) => Awaitable<Answer>

/** `lists`: for a shape that has pages by number. Its reads throw ANSWER_TOO_LARGE. */
export function shapeRun<Q>(
  shape: GuardedReadShape,
  statements: Statements<Q>,
  lists: ListCache | undefined,
): ShapeRun<Q> {
  const run = unboundedRun(shape, statements, lists)
  return (inputs, snapshot) =>
    then(run(inputs, snapshot), answer => {
      inputs.answerBound?.require(answer.text)
      return answer
    })
}

function unboundedRun<Q>(
  shape: GuardedReadShape,
  statements: Statements<Q>,
  lists: ListCache | undefined,
): ShapeRun<Q> {
  switch (shape.kind) {
    case 'item': {
      const query = statements.prepare(dialect => itemSql(shape, dialect), largestAnswer(shape))
      return (inputs, snapshot) => then(snapshot.row(query(inputs)), itemAnswer)
    }
    case 'composite': {
      const query = statements.prepare(dialect => compositeSql(shape, dialect), largestAnswer(shape))
      return (inputs, snapshot) => then(snapshot.row(query(inputs)), compositeAnswer)
    }
    case 'aggregate':
      return aggregateRun(shape, statements)
    case 'list':
      return listRun(shape, statements, lists)
  }
}

function aggregateRun<Q>(shape: GuardedAggregate, statements: Statements<Q>): ShapeRun<Q> {
  const { within, aggregation } = shape
  const { offset, limit } = aggregation
  const window: PageWindow = { kind: 'page', offset, limit, total: 'none' }
  const parent = within && statements.prepare(dialect => parentSql(within, dialect))
  const groups = statements.count(shape, aggregateSql)
  return (inputs, snapshot) => {
    const result = snapshot.list({ rows: groups(inputs), parent: parent?.(inputs), isChecked: false })
    return then(result, ({ rows }: ListRows) =>
      rows === undefined ? absent(window) : pageAnswer(rows, undefined, window, inputs.args),
    )
  }
}

function listRun<Q>(
  shape: GuardedList,
  statements: Statements<Q>,
  lists: ListCache | undefined,
): ShapeRun<Q> {
  const { window, within } = shape
  const parent = within && statements.prepare(dialect => parentSql(within, dialect))
  if (window.kind === 'cursor') return cursorRun(shape, window, statements, parent)
  if (lists === undefined) throw new TypeError('pages by number need `lists`')
  const pages = new Pages({ shape, window, statements, parent, lists })
  return (inputs, snapshot) => pages.read(inputs, snapshot)
}

function cursorRun<Q>(
  shape: GuardedList,
  window: CursorWindow,
  statements: Statements<Q>,
  parent: ((inputs: Inputs) => Q) | undefined,
): ShapeRun<Q> {
  const sizeOf = ({ args }: Inputs) => Number(args[window.limit])
  const size = { rows: (inputs: Inputs) => sizeOf(inputs) + 1, skipped: () => 0 }
  const slice = statements.slice(shape, dialect => cursorSlice(shape, window, dialect), size)
  return (inputs, snapshot) => {
    const result = snapshot.list({ rows: slice(inputs), parent: parent?.(inputs), isChecked: false })
    return then(result, ({ rows }: ListRows) =>
      rows === undefined ? absent(window) : cursorAnswer(rows, sizeOf(inputs), shape.sort),
    )
  }
}

function itemAnswer(row: ResultRow | undefined): ItemAnswer {
  return { kind: 'item', text: textOf(row) }
}

function compositeAnswer(row: ResultRow | undefined): CompositeAnswer {
  return { kind: 'composite', text: textOf(row) ?? '{}' }
}

function textOf(row: ResultRow | undefined): string | null {
  const text = row?.[0]
  return typeof text === 'string' ? text : null
}
