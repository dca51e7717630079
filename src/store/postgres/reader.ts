/** Runs guarded reads: one trip each, answers remembered while they stay true. */
import type { Awaitable, CompositeAnswer, ReadAnswer } from '../../plan/answer.ts'
import type { GuardedCompositeRead, GuardedList, GuardedRead } from '../../plan/guarded.ts'
import type { TotalMode } from '../../plan/plan.ts'
import { type Answer, keyOf, type ReadShape, type ShapeAnswers } from '../answers.ts'
import {
  absent,
  type CursorWindow,
  counted,
  cursorAnswer,
  cursorSlice,
  pageAnswer,
  type Total,
} from '../lists.ts'
import { once } from '../once.ts'
import { compositeSql } from '../sql/composite.ts'
import { estimated, estimateSql } from '../sql/estimate.ts'
import { countSql, itemSql, listSql, parentSql } from '../sql/read.ts'
import { sql } from '../sql/writer.ts'
import { type Inputs, noSlots, slotted } from '../values.ts'
import { stampOf, type Version } from '../versions.ts'
import type { Ask, ReadContext, Remembering } from './context.ts'
import { limited } from './limited.ts'
import { type PageRows, pageReader } from './pages.ts'
import type { Pool } from './pool.ts'
import type { Replicas } from './replicas.ts'
import type { Security } from './security.ts'
import { type Query, type Row, statementOf } from './statement.ts'

type Run = (inputs: Inputs) => Promise<Answer>

interface ReaderParts extends Remembering {
  readonly pool: Pool
  /** They answer what Portico does not read for itself. */
  readonly replicas?: Replicas | undefined
}

/** An answer that is on its way: whoever asks the same meanwhile, with nothing changed, gets the same. */
interface Coming {
  readonly stamp: number
  readonly answer: Promise<Answer>
}

interface ShapeReader {
  readonly answers: ShapeAnswers
  readonly coming: Map<number | string, Coming>
  readonly reads: readonly Version[]
  readonly personal: boolean
  readonly run: Run
}

export class Reader {
  readonly #readerOf: (shape: ReadShape) => ShapeReader
  /** For what Portico reads for itself. */
  readonly #ownReaderOf: (shape: ReadShape) => ShapeReader
  readonly #security: Security
  /** Reads that were answered from memory, and from the database. */
  readonly counts = { hits: 0, misses: 0 }

  constructor({ pool, replicas, ...rest }: ReaderParts) {
    this.#security = rest.security
    const readers = (ask: (shape: ReadShape) => Ask) =>
      once((shape: ReadShape) => readerOf(shape, { ...rest, ask: ask(shape) }))
    this.#ownReaderOf = readers(() => queries => pool.bundle(queries))
    this.#readerOf =
      replicas === undefined
        ? this.#ownReaderOf
        : readers(
            ({ reads }) =>
              queries =>
                replicas.bundle(queries, reads),
          )
  }

  /** Answers at once what is remembered. The versions are taken before the database is asked, so never too new. */
  read(plan: GuardedRead): Awaitable<ReadAnswer>
  read(plan: GuardedCompositeRead): Awaitable<CompositeAnswer>
  read({ shape, args, principal }: GuardedRead | GuardedCompositeRead): Awaitable<Answer> {
    const reader = principal.access.system ? this.#ownReaderOf(shape) : this.#readerOf(shape)
    const { userId } = principal
    const stamp = stampOf(reader.reads)
    const key = keyOf(args, userId, reader.personal)
    const known = reader.answers.get(key, stamp)
    if (known !== undefined) {
      this.counts.hits++
      return known
    }
    const coming = reader.coming.get(key)
    if (coming?.stamp === stamp) return coming.answer
    this.counts.misses++
    const actor = this.#security.actor(principal)
    return this.#ask(reader, key, stamp, { args, userId, slots: noSlots, actor })
  }

  #ask(reader: ShapeReader, key: number | string, stamp: number, inputs: Inputs): Promise<Answer> {
    const { coming, answers, run } = reader
    const answer = run(inputs)
    const own = { stamp, answer }
    coming.set(key, own)
    const over = (): void => {
      if (coming.get(key) === own) coming.delete(key)
    }
    answer.then(made => {
      answers.set(key, stamp, made)
      over()
    }, over)
    return answer
  }
}

function readerOf(shape: ReadShape, context: ReadContext): ShapeReader {
  const { answers, versions, security } = context
  const reads = shape.reads.map(collection => versions.cell(collection))
  const run = runOf(shape, context)
  // What is locked for one user is not remembered for another, even where the guard has forgotten a rule.
  const personal = shape.personal || security.isOn
  return { answers: answers.shape(), coming: new Map(), reads, personal, run }
}

function runOf(shape: ReadShape, context: ReadContext): Run {
  const { dialect } = context.security
  switch (shape.kind) {
    case 'item': {
      const statement = statementOf(itemSql(shape, dialect))
      return textReader(
        inputs => statement.with(inputs),
        context,
        text => ({ kind: 'item', text }),
      )
    }
    case 'composite': {
      const query = limited(dialect, each => compositeSql(shape, each))
      return textReader(query, context, text => ({ kind: 'composite', text: text ?? '{}' }))
    }
    case 'list':
      return listReader(shape, context)
  }
}

function textReader(
  query: (inputs: Inputs) => Query,
  { ask }: ReadContext,
  answer: (text: string | null) => Answer,
): Run {
  return async inputs => {
    const [rows] = await ask([query(inputs)])
    const cell = rows?.[0]?.[0]
    return answer(typeof cell === 'string' ? cell : null)
  }
}

/** Rows, total and parent are of one snapshot. */
function listReader(shape: GuardedList, context: ReadContext): Run {
  const { window, within } = shape
  const rows =
    window.kind === 'page' ? pageReader(shape, window, context) : cursorRows(shape, window, context)
  const parent = within && statementOf(parentSql(within, context.security.dialect))
  const total = window.kind === 'page' ? totalQuery(shape, window.total, context.security) : undefined
  return async inputs => {
    const others = [parent?.with(inputs), total?.query(inputs)].filter(query => query !== undefined)
    const [page = [], ...results] = await rows(inputs, others)
    if (parent !== undefined && results.shift()?.length === 0) return absent(window)
    if (window.kind === 'cursor') return cursorAnswer(page, Number(inputs.args[window.limit]), shape.sort)
    return pageAnswer(page, total?.of(results.shift()?.[0]), window, inputs.args)
  }
}

interface TotalQuery {
  query(inputs: Inputs): Query
  /** What the query's row says. */
  of(row: Row | undefined): Total
}

/** Whole collections are counted as they change: see `addTotals`. Undefined where no total is asked for. */
function totalQuery(
  shape: GuardedList,
  mode: TotalMode,
  { isOn, dialect }: Security,
): TotalQuery | undefined {
  if (mode === 'none') return undefined
  const { collection, rows, within } = shape
  if (rows.kind !== 'always' || within !== undefined) {
    const isExact = mode === 'exact'
    const statement = statementOf((isExact ? countSql : estimateSql)(shape, dialect))
    return { query: inputs => statement.with(inputs), of: isExact ? counted : estimated }
  }
  if (isOn) return { query: inputs => totals.with({ ...inputs, slots: [collection.name] }), of: counted }
  const query = totals.with(slotted([collection.name]))
  return { query: () => query, of: counted }
}

const totals = statementOf(
  sql`SELECT coalesce(sum("n"), 0)::bigint FROM "_totals" WHERE "collection" = ${{ from: 'slot', slot: 0 }}`,
)

function cursorRows(shape: GuardedList, window: CursorWindow, { ask, security }: ReadContext): PageRows {
  const query = limited(security.dialect, dialect =>
    listSql(shape, cursorSlice(shape, window, dialect), dialect),
  )
  return (inputs, others) => ask([query(inputs), ...others])
}
