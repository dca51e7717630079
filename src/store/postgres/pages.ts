/** Pages by number. Beyond the first few hundred rows they begin at a remembered anchor. */
import type { GuardedList } from '../../plan/guarded.ts'
import { type Anchor, Anchors } from '../anchors.ts'
import { postgres } from '../sql/postgres.ts'
import { listSql, type Slice } from '../sql/read.ts'
import { arg, slot, sql } from '../sql/writer.ts'
import type { Inputs, SqlValue } from '../values.ts'
import { stampOf } from '../versions.ts'
import { isTouched } from './checks.ts'
import type { ReadContext } from './reader.ts'
import { type Query, type Row, type Rows, type Statement, statementOf } from './statement.ts'

type PageWindow = Extract<GuardedList['window'], { kind: 'page' }>

/** The rows of a page, then those of other queries in the same snapshot. */
export type PageRows = (inputs: Inputs, others: readonly Query[]) => Promise<readonly Rows[]>

/** Below this offset, counting rows is as cheap as looking for an anchor. */
const SHALLOW = 200
/** Anchored lists per shape: arguments and users differ. */
const MAX_LISTS = 20
const MAX_ANCHORS = 20_000

export function pageReader(shape: GuardedList, window: PageWindow, context: ReadContext): PageRows {
  const { pool } = context
  const limit = [arg(window.limit, 'number')]
  const slice = { after: undefined, limit, offset: arg(window.offset, 'number'), keys: false }
  const shallow = statementOf(listSql(shape, slice, postgres))
  let deep: PageRows | undefined
  return (inputs, others) => {
    if (Number(inputs.args[window.offset]) < SHALLOW) return pool.bundle([shallow.with(inputs), ...others])
    deep ??= deepReader(shape, window, context)
    return deep(inputs, others)
  }
}

/**
 * Reads pages from anchors that it remembers while nothing that the list is read from has changed. An anchor is
 * used in a snapshot that a check has found to be without changes: a later one may have other rows before it.
 */
function deepReader(
  shape: GuardedList,
  window: PageWindow,
  { pool, checks, versions }: ReadContext,
): PageRows {
  const lists = new Map<string, Anchors>()
  const reads = shape.reads.map(collection => versions.cell(collection))
  const statements = deepStatements(shape, window)
  let stamp = -1

  const anchored = async (from: Anchor, offset: number, inputs: Inputs, others: readonly Query[]) => {
    const query = statements.later.with({ ...inputs, slots: [offset - from.offset, ...from.position] })
    const [check, ...results] = await pool.bundle([checks.query, query, ...others])
    return isTouched(check?.[0], shape.reads) ? undefined : results
  }

  /** Asks for the row before the page too: its keys are an anchor for this very page. */
  const counted = async (anchors: Anchors, offset: number, inputs: Inputs, others: readonly Query[]) => {
    const [rows = [], ...results] = await pool.bundle([
      statements.first.with({ ...inputs, slots: [offset - 1] }),
      ...others,
    ])
    remember(anchors, offset, rows[0])
    return [rows.slice(1), ...results]
  }

  return async (inputs, others) => {
    const now = stampOf(reads)
    if (now !== stamp || lists.size > MAX_LISTS) lists.clear()
    stamp = now
    const anchors = anchorsOf(lists, shape, window, inputs)
    const offset = Number(inputs.args[window.offset])
    const from = anchors.before(offset)
    const results = from && (await anchored(from, offset, inputs, others))
    const [rows = [], ...more] = results ?? (await counted(anchors, offset, inputs, others))
    remember(anchors, offset + rows.length, rows.at(-1))
    return [rows, ...more]
  }
}

function remember(anchors: Anchors, offset: number, row: Row | undefined): void {
  if (row !== undefined) anchors.add({ offset, position: row.slice(1) satisfies readonly SqlValue[] })
}

interface DeepStatements {
  /** The page and the row before it, by counting. */
  readonly first: Statement
  /** The page from an anchor on. */
  readonly later: Statement
}

function deepStatements(shape: GuardedList, window: PageWindow): DeepStatements {
  const limit = arg(window.limit, 'number')
  const position = shape.sort.map((_, index) => slot(index + 1))
  const first: Slice = { after: undefined, limit: sql`${limit} + 1`, offset: slot(0), keys: true }
  const later: Slice = { after: position, limit: [limit], offset: slot(0), keys: true }
  return {
    first: statementOf(listSql(shape, first, postgres)),
    later: statementOf(listSql(shape, later, postgres)),
  }
}

function anchorsOf(
  lists: Map<string, Anchors>,
  shape: GuardedList,
  window: PageWindow,
  { args, userId }: Inputs,
): Anchors {
  const others = args.map((value, index) =>
    index === window.offset || index === window.limit ? null : value,
  )
  const key = JSON.stringify(shape.personal ? [userId, others] : others)
  const known = lists.get(key)
  if (known !== undefined && known.size < MAX_ANCHORS) return known
  const made = new Anchors()
  lists.set(key, made)
  return made
}
