/** Pages by number. Beyond the first few hundred rows they begin at a remembered anchor. */
import type { GuardedList } from '../../plan/guarded.ts'
import type { PageWindow } from '../../plan/plan.ts'
import { AnchoredLists, type Anchors, SHALLOW } from '../anchors.ts'
import { pageLimit } from '../lists.ts'
import type { Dialect } from '../sql/dialect.ts'
import { listSql, type Slice } from '../sql/read.ts'
import { arg, type Bind, type Sql, slot, sql } from '../sql/writer.ts'
import type { Inputs, SqlValue } from '../values.ts'
import { stampOf } from '../versions.ts'
import { isTouched } from './checks.ts'
import type { ReadContext } from './context.ts'
import { limited } from './limited.ts'
import type { Query, Row, Rows } from './statement.ts'

/** The rows of a page, then those of other queries in the same snapshot. */
export type PageRows = (inputs: Inputs, others: readonly Query[]) => Promise<readonly Rows[]>

export function pageReader(shape: GuardedList, window: PageWindow, context: ReadContext): PageRows {
  const { ask, security } = context
  const { dialect } = security
  const slices = (offset: Bind | undefined) => (dialect: Dialect) =>
    listSql(shape, { after: undefined, limit: pageLimit(window, dialect), offset, keys: false }, dialect)
  const first = limited(dialect, slices(undefined))
  const shallow = limited(dialect, slices(arg(window.offset, 'number')))
  let deep: PageRows | undefined
  return (inputs, others) => {
    const offset = Number(inputs.args[window.offset])
    if (offset < SHALLOW) return ask([(offset === 0 ? first : shallow)(inputs), ...others])
    deep ??= deepReader(shape, window, context)
    return deep(inputs, others)
  }
}

/**
 * Reads pages from anchors that it remembers while nothing that the list is read from has changed. An anchor is
 * found and used in snapshots that a check has found to be without changes: a later one may have other rows before it.
 */
function deepReader(
  shape: GuardedList,
  window: PageWindow,
  { ask, checks, versions, security }: ReadContext,
): PageRows {
  const lists = new AnchoredLists(shape, window)
  const reads = shape.reads.map(collection => versions.cell(collection))
  const statements = deepStatements(shape, window, security.dialect)

  const anchored = async (
    anchors: Anchors,
    offset: number,
    inputs: Inputs,
    others: readonly Query[],
  ): Promise<readonly Rows[] | undefined> => {
    const from = anchors.before(offset)
    if (from === undefined) return undefined
    const query = statements.later({ ...inputs, slots: [offset - from.offset, ...from.position] })
    const [check, rows = [], ...results] = await ask([checks.query, query, ...others])
    if (isTouched(check?.[0], shape.reads)) return undefined
    remember(anchors, offset + rows.length, rows.at(-1))
    return [rows, ...results]
  }

  /** Asks for the row before the page too: its keys are an anchor for this very page. */
  const counted = async (anchors: Anchors, offset: number, inputs: Inputs, others: readonly Query[]) => {
    const query = statements.first({ ...inputs, slots: [offset - 1] })
    const [check, [before, ...rows] = [], ...results] = await ask([checks.query, query, ...others])
    if (!isTouched(check?.[0], shape.reads)) {
      remember(anchors, offset, before)
      remember(anchors, offset + rows.length, rows.at(-1))
    }
    return [rows, ...results]
  }

  return async (inputs, others) => {
    const anchors = lists.of(inputs, stampOf(reads))
    const offset = Number(inputs.args[window.offset])
    const results = await anchored(anchors, offset, inputs, others)
    return results ?? counted(anchors, offset, inputs, others)
  }
}

function remember(anchors: Anchors, offset: number, row: Row | undefined): void {
  if (row !== undefined) anchors.add({ offset, position: row.slice(1) satisfies readonly SqlValue[] })
}

interface DeepStatements {
  /** The page and the row before it, by counting. */
  first(inputs: Inputs): Query
  /** The page from an anchor on. */
  later(inputs: Inputs): Query
}

function deepStatements(shape: GuardedList, window: PageWindow, dialect: Dialect): DeepStatements {
  const position = shape.sort.map((_, index) => slot(index + 1))
  const slices = (after: Slice['after'], more: Sql) => (dialect: Dialect) =>
    listSql(
      shape,
      {
        after,
        limit: sql`${pageLimit(window, dialect)}${more}`,
        offset: slot(0),
        keys: true,
      },
      dialect,
    )
  return {
    first: limited(dialect, slices(undefined, [' + 1'])),
    later: limited(dialect, slices(position, [])),
  }
}
