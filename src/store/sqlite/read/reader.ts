/** Runs guarded reads: each shape's statements are prepared once, answers remembered while they stay true. */
import type { Awaitable, CompositeAnswer, ItemAnswer, ListAnswer, ReadAnswer } from '../../../plan/answer.ts'
import type {
  GuardedComposite,
  GuardedCompositeRead,
  GuardedItem,
  GuardedList,
  GuardedRead,
} from '../../../plan/guarded.ts'
import type { PageWindow } from '../../../plan/plan.ts'
import { type Answer, keyOf, type ReadShape, type ShapeAnswers } from '../../answers.ts'
import { absent, type CursorWindow, cursorAnswer, cursorSlice } from '../../lists.ts'
import { once } from '../../once.ts'
import { compositeSql } from '../../sql/composite.ts'
import { itemSql, parentSql } from '../../sql/read.ts'
import { pacedSqlite, sqlite } from '../../sql/sqlite.ts'
import { type Inputs, noSlots, type ResultRow } from '../../values.ts'
import { stampOf, type Version } from '../../versions.ts'
import type { Connection } from '../connection.ts'
import type { ReadContext } from '../context.ts'
import type { ReaderPool } from '../readers/pool.ts'
import type { ReadBudget } from './budget.ts'
import { pageReader, ShapeAnchors } from './pages.ts'
import { type PooledRead, pooledRead } from './pooled.ts'
import { listRows } from './related-rows.ts'
import { plannedRoute, ShapeRoute } from './route.ts'

type Run = (inputs: Inputs) => Answer

/** An answer that is on its way: whoever asks the same meanwhile, with nothing changed, gets the same. */
interface Coming {
  readonly stamp: number
  readonly answer: Promise<Answer>
}

interface ShapeReader {
  readonly answers: ShapeAnswers
  readonly reads: readonly Version[]
  readonly personal: boolean
  /** On the event loop, however long it takes. */
  readonly run: Run
  /** Undefined where every read of the shape is quick, or there is no pool. */
  readonly slow: SlowShape | undefined
}

/** A shape that some of its reads take long for. */
interface SlowShape {
  readonly route: ShapeRoute
  /** As `run`, with statements that end when the budget is spent. */
  readonly paced: Run
  readonly anchors: ShapeAnchors | undefined
  readonly pooled: PooledRead
  readonly coming: Map<number | string, Coming>
}

/** What slow reads run in. */
export interface SlowReads {
  readonly pool: Pick<ReaderPool, 'run'>
  readonly budget: ReadBudget
}

type ReaderParts = Omit<ReadContext, 'dialect'> & { readonly slow?: SlowReads | undefined }

/** A read that was not remembered. */
interface Miss {
  readonly reader: ShapeReader
  readonly key: number | string
  readonly stamp: number
  readonly inputs: Inputs
}

export class Reader {
  readonly #connection: Connection
  readonly #slow: SlowReads | undefined
  readonly #readerOf: (shape: ReadShape) => ShapeReader
  /** Reads that were answered from memory, and from the database. */
  readonly counts = { hits: 0, misses: 0 }

  constructor(parts: ReaderParts) {
    this.#connection = parts.connection
    this.#slow = parts.slow
    this.#readerOf = once(shape => readerOf(shape, parts))
  }

  /** Answers from what is remembered, or from the database: later only where a reader process is asked. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  read(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  read({ shape, args, principal }: GuardedRead | GuardedCompositeRead): Awaitable<Answer> {
    this.#connection.hold()
    const reader = this.#readerOf(shape)
    const { userId } = principal
    const stamp = stampOf(reader.reads)
    const key = keyOf(args, userId, reader.personal)
    const known = reader.answers.get(key, stamp)
    if (known !== undefined) {
      this.counts.hits++
      return known
    }
    this.counts.misses++
    const inputs = { args, userId, slots: noSlots }
    // What Portico asks for itself is answered at once: it asks by keys.
    if (reader.slow !== undefined && !principal.access.system) {
      return this.#routed({ reader, key, stamp, inputs }, reader.slow, principal.budgetKey)
    }
    const answer = reader.run(inputs)
    reader.answers.set(key, stamp, answer)
    return answer
  }

  #routed(miss: Miss, slow: SlowShape, caller: string): Awaitable<Answer> {
    const { reader, key, stamp, inputs } = miss
    const route = slow.route.of(inputs, slow.anchors?.skipped(inputs) ?? 0)
    if (route === 'pool') return this.#pooled(miss, slow, caller)
    const answer = route === 'inline' ? reader.run(inputs) : this.#slow?.budget.run(() => slow.paced(inputs))
    if (answer === undefined) {
      slow.route.overran()
      return this.#pooled(miss, slow, caller)
    }
    reader.answers.set(key, stamp, answer)
    return answer
  }

  /**
   * The stamp was taken before the process is asked, so it is never too new: what the process reads is at least as new,
   * and remembered under a stamp that is gone if it is newer.
   */
  #pooled({ reader, key, stamp, inputs }: Miss, slow: SlowShape, caller: string): Promise<Answer> {
    const { coming, pooled, route } = slow
    const known = coming.get(key)
    if (known?.stamp === stamp) return known.answer
    const answer = pooled(inputs, async queries => {
      const { results, ms } = await requirePool(this.#slow).run(caller, queries)
      route.took(ms)
      return results
    })
    const own = { stamp, answer }
    coming.set(key, own)
    const over = (): void => {
      if (coming.get(key) === own) coming.delete(key)
    }
    answer.then(made => {
      reader.answers.set(key, stamp, made)
      over()
    }, over)
    return answer
  }
}

function requirePool(slow: SlowReads | undefined): SlowReads['pool'] {
  if (slow === undefined) throw new TypeError('there are no reader processes')
  return slow.pool
}

function readerOf(shape: ReadShape, parts: ReaderParts): ShapeReader {
  const { answers, versions, slow } = parts
  const planned = slow === undefined ? () => 'inline' as const : plannedRoute(shape, parts)
  const paged = shape.kind === 'list' && shape.window.kind === 'page'
  const anchors = paged ? new ShapeAnchors(shape, shape.window as PageWindow, parts) : undefined
  const route = new ShapeRoute(shape, planned, slow?.budget.isNone !== true)
  const isSlow = slow !== undefined && route.canBeSlow(anchors !== undefined)
  return {
    answers: answers.shape(),
    reads: shape.reads.map(collection => versions.cell(collection)),
    personal: shape.personal,
    run: runOf(shape, { ...parts, dialect: sqlite }, anchors),
    slow: isSlow ? slowShape(shape, route, anchors, parts) : undefined,
  }
}

function slowShape(
  shape: ReadShape,
  route: ShapeRoute,
  anchors: ShapeAnchors | undefined,
  parts: ReaderParts,
): SlowShape {
  let run: Run | undefined
  const paced = (inputs: Inputs): Answer => {
    run ??= runOf(shape, { ...parts, dialect: pacedSqlite }, anchors)
    return run(inputs)
  }
  const pooled = pooledRead(shape, { ...parts, anchors })
  return { route, paced, anchors, pooled, coming: new Map() }
}

function runOf(shape: ReadShape, context: ReadContext, anchors: ShapeAnchors | undefined): Run {
  switch (shape.kind) {
    case 'item':
      return itemReader(shape, context)
    case 'list':
      return listReader(shape, context, anchors)
    case 'composite':
      return compositeReader(shape, context)
  }
}

function compositeReader(
  shape: GuardedComposite,
  { connection, dialect }: ReadContext,
): (inputs: Inputs) => Answer {
  const statement = connection.prepare(compositeSql(shape, dialect))
  return inputs => ({ kind: 'composite', text: textOf(statement.get(inputs)) ?? '{}' })
}

function itemReader(
  shape: GuardedItem,
  { connection, dialect }: ReadContext,
): (inputs: Inputs) => ItemAnswer {
  const statement = connection.prepare(itemSql(shape, dialect))
  return inputs => ({ kind: 'item', text: textOf(statement.get(inputs)) })
}

function textOf(row: ResultRow | undefined): string | null {
  const text = row?.[0]
  return typeof text === 'string' ? text : null
}

function listReader(
  shape: GuardedList,
  context: ReadContext,
  anchors: ShapeAnchors | undefined,
): (inputs: Inputs) => ListAnswer {
  const { window, within } = shape
  const rows =
    window.kind === 'page'
      ? pageReader(shape, window, context, anchors ?? new ShapeAnchors(shape, window, context))
      : cursorReader(shape, window, context)
  if (within === undefined) return rows
  const parent = context.connection.prepare(parentSql(within, sqlite))
  return inputs => (parent.get(inputs) === undefined ? absent(window) : rows(inputs))
}

function cursorReader(
  shape: GuardedList,
  window: CursorWindow,
  context: ReadContext,
): (inputs: Inputs) => ListAnswer {
  const size = { rows: ({ args }: Inputs) => Number(args[window.limit]) + 1, skipped: () => 0 }
  const rows = listRows(shape, cursorSlice(shape, window, sqlite), size, context)
  return inputs => cursorAnswer(rows.all(inputs), Number(inputs.args[window.limit]), shape.sort)
}
