/** Runs guarded reads: each shape's statements are prepared once, answers remembered while they stay true. */
import type { CompositeAnswer, ItemAnswer, ListAnswer, ReadAnswer } from '../../plan/answer.ts'
import type {
  GuardedComposite,
  GuardedCompositeRead,
  GuardedItem,
  GuardedList,
  GuardedRead,
} from '../../plan/guarded.ts'
import { type Answer, keyOf, type ReadShape, type ShapeAnswers } from '../answers.ts'
import { absent, type CursorWindow, cursorAnswer, cursorSlice } from '../lists.ts'
import { once } from '../once.ts'
import { compositeSql } from '../sql/composite.ts'
import { itemSql, listSql, parentSql } from '../sql/read.ts'
import { sqlite } from '../sql/sqlite.ts'
import { type Inputs, noSlots, type ResultRow } from '../values.ts'
import { stampOf, type Version } from '../versions.ts'
import type { ReadContext } from './context.ts'
import { pageReader } from './pages.ts'

type Run = (inputs: Inputs) => Answer

interface ShapeReader {
  readonly answers: ShapeAnswers
  readonly reads: readonly Version[]
  readonly personal: boolean
  readonly run: Run
}

export class Reader {
  readonly #context: ReadContext
  readonly #readerOf: (shape: ReadShape) => ShapeReader
  /** Reads that were answered from memory, and from the database. */
  readonly counts = { hits: 0, misses: 0 }

  constructor(context: ReadContext) {
    this.#context = context
    this.#readerOf = once(shape => readerOf(shape, context))
  }

  /** Answers from what is remembered, or from the database. */
  read(plan: GuardedRead): ReadAnswer
  read(plan: GuardedCompositeRead): CompositeAnswer
  read({ shape, args, principal }: GuardedRead | GuardedCompositeRead): Answer {
    this.#context.connection.hold()
    const { answers, reads, personal, run } = this.#readerOf(shape)
    const { userId } = principal
    const stamp = stampOf(reads)
    const key = keyOf(args, userId, personal)
    const known = answers.get(key, stamp)
    if (known !== undefined) {
      this.counts.hits++
      return known
    }
    this.counts.misses++
    const answer = run({ args, userId, slots: noSlots })
    answers.set(key, stamp, answer)
    return answer
  }
}

function readerOf(shape: ReadShape, context: ReadContext): ShapeReader {
  const { answers, versions } = context
  const reads = shape.reads.map(collection => versions.cell(collection))
  return { answers: answers.shape(), reads, personal: shape.personal, run: runOf(shape, context) }
}

function runOf(shape: ReadShape, context: ReadContext): Run {
  switch (shape.kind) {
    case 'item':
      return itemReader(shape, context)
    case 'list':
      return listReader(shape, context)
    case 'composite':
      return compositeReader(shape, context)
  }
}

function compositeReader(shape: GuardedComposite, { connection }: ReadContext): (inputs: Inputs) => Answer {
  const statement = connection.prepare(compositeSql(shape, sqlite))
  return inputs => ({ kind: 'composite', text: textOf(statement.get(inputs)) ?? '{}' })
}

function itemReader(shape: GuardedItem, { connection }: ReadContext): (inputs: Inputs) => ItemAnswer {
  const statement = connection.prepare(itemSql(shape, sqlite))
  return inputs => ({ kind: 'item', text: textOf(statement.get(inputs)) })
}

function textOf(row: ResultRow | undefined): string | null {
  const text = row?.[0]
  return typeof text === 'string' ? text : null
}

function listReader(shape: GuardedList, context: ReadContext): (inputs: Inputs) => ListAnswer {
  const { window, within } = shape
  const rows =
    window.kind === 'page' ? pageReader(shape, window, context) : cursorReader(shape, window, context)
  if (within === undefined) return rows
  const parent = context.connection.prepare(parentSql(within, sqlite))
  return inputs => (parent.get(inputs) === undefined ? absent(window) : rows(inputs))
}

function cursorReader(
  shape: GuardedList,
  window: CursorWindow,
  { connection }: ReadContext,
): (inputs: Inputs) => ListAnswer {
  const statement = connection.prepare(listSql(shape, cursorSlice(shape, window, sqlite), sqlite))
  return inputs => cursorAnswer(statement.all(inputs), Number(inputs.args[window.limit]), shape.sort)
}
