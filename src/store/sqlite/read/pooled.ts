/** Reads of one shape in a reader process: the same statements, in one transaction, and the same answers. */
import type { ListAnswer } from '../../../plan/answer.ts'
import type { GuardedList } from '../../../plan/guarded.ts'
import type { PageWindow } from '../../../plan/plan.ts'
import { SHALLOW } from '../../anchors.ts'
import type { Answer, ReadShape } from '../../answers.ts'
import { absent, counted, cursorAnswer, cursorSlice, pageAnswer, type Total } from '../../lists.ts'
import { compositeSql } from '../../sql/composite.ts'
import type { RelatedForm } from '../../sql/condition.ts'
import { estimated, estimateSql } from '../../sql/estimate.ts'
import { countSql, itemSql, listSql, parentSql, type Slice } from '../../sql/read.ts'
import { sqlite } from '../../sql/sqlite.ts'
import { arg, compile, type Sql } from '../../sql/writer.ts'
import { bound, type Inputs, type ResultRow, slotted } from '../../values.ts'
import type { Connection } from '../connection.ts'
import type { ReadContext } from '../context.ts'
import type { ReaderQuery } from '../readers/messages.ts'
import { converted } from '../values.ts'
import {
  anchorsSql,
  fromAnchor,
  fromStart,
  isPlain,
  remember,
  type ShapeAnchors,
  withSlots,
} from './pages.ts'
import { relatedForm } from './related-rows.ts'
import { isCounted } from './route.ts'
import { totalSql } from './totals.ts'

type Results = readonly (readonly ResultRow[])[]

/** Runs queries in one snapshot that is begun after the call. */
export type AskPool = (queries: readonly ReaderQuery[]) => Promise<Results>

export type PooledRead = (inputs: Inputs, ask: AskPool) => Promise<Answer>

interface PooledContext extends Pick<ReadContext, 'totals' | 'walkedRows'> {
  readonly connection: Pick<Connection, 'look'>
  /** Of a shape that has pages by number. */
  readonly anchors: ShapeAnchors | undefined
}

/** `shape`'s statements are compiled when they are first needed. */
export function pooledRead(shape: ReadShape, context: PooledContext): PooledRead {
  if (shape.kind === 'list') return pooledList(shape, context)
  const isItem = shape.kind === 'item'
  const query = querier(isItem ? itemSql(shape, sqlite) : compositeSql(shape, sqlite))
  return async (inputs, ask) => {
    const [rows] = await ask([query(inputs)])
    const cell = rows?.[0]?.[0]
    const text = typeof cell === 'string' ? cell : null
    return isItem ? { kind: 'item', text } : { kind: 'composite', text: text ?? '{}' }
  }
}

type Querier = (inputs: Inputs) => ReaderQuery

function querier(fragment: Sql): Querier {
  const { text, binds } = compile(fragment, sqlite.sign)
  return inputs => ({ sql: text, values: binds.map(bind => bound(bind, inputs, converted)) })
}

/** A list's statement in the form that suits the sizes of the collections at the time. */
function listQuerier(
  shape: GuardedList,
  context: PooledContext,
  build: (related: RelatedForm) => Sql,
): Querier {
  const queriers = new Map<RelatedForm, Querier>()
  return inputs => {
    const form = relatedForm(shape, context)
    const known = queriers.get(form) ?? querier(build(form))
    queriers.set(form, known)
    return known(inputs)
  }
}

/** Rows, total and parent are of one snapshot. */
function pooledList(shape: GuardedList, context: PooledContext): PooledRead {
  const { window, within, sort } = shape
  const parent = within && querier(parentSql(within, sqlite))
  const total = totalQuerier(shape, context)
  const page = pagesOf(shape, context)
  return async (inputs, ask): Promise<ListAnswer> => {
    const others = [parent?.(inputs), total?.query(inputs)].filter(each => each !== undefined)
    const { query, again, along } = page(inputs)
    const before = others.length + 1
    const asked = [query, ...others, ...(along === undefined ? [] : [along])]
    let [rows = [], ...results] = await ask(asked)
    const whole = again(rows, results[before - 1] ?? [])
    if (whole !== undefined) [rows = [], ...results] = await ask([whole, ...others])
    if (parent !== undefined && results.shift()?.length === 0) return absent(window)
    if (window.kind === 'cursor') return cursorAnswer(rows, Number(inputs.args[window.limit]), sort)
    return pageAnswer(rows, total?.of(results.shift()?.[0]), window, inputs.args)
  }
}

interface TotalQuerier {
  readonly query: Querier
  of(row: ResultRow | undefined): Total
}

/** Undefined where no total is asked for. */
function totalQuerier(shape: GuardedList, context: PooledContext): TotalQuerier | undefined {
  const { window, collection } = shape
  if (window.kind !== 'page' || window.total === 'none') return undefined
  if (!isCounted(shape)) {
    const total = querier(totalSql)
    return { query: inputs => total({ ...inputs, slots: [collection.name] }), of: counted }
  }
  const isExact = window.total === 'exact'
  const build = isExact ? countSql : estimateSql
  const query = listQuerier(shape, context, related => build(shape, sqlite, related))
  return { query, of: isExact ? counted : estimated }
}

/**
 * A page's query. `along`: that for the anchors on the way to it. `again` takes the rows of both, and returns the query
 * to run instead where they may be of another page.
 */
type Pages = (inputs: Inputs) => {
  readonly query: ReaderQuery
  readonly along?: ReaderQuery | undefined
  readonly again: (rows: readonly ResultRow[], along: readonly ResultRow[]) => ReaderQuery | undefined
}

const never = (): undefined => undefined

function pagesOf(shape: GuardedList, context: PooledContext): Pages {
  const { window } = shape
  const { anchors } = context
  const list = (slice: Slice) =>
    listQuerier(shape, context, related => listSql(shape, { ...slice, related }, sqlite))
  if (window.kind === 'cursor' || anchors === undefined) {
    if (window.kind !== 'cursor') throw new TypeError('pages by number need anchors')
    const cursor = list(cursorSlice(shape, window, sqlite))
    return inputs => ({ query: cursor(inputs), again: never })
  }
  const shallow = list(fromStart(window, arg(window.offset, 'number')))
  const deep = deepPages(shape, list, window, anchors, context.connection)
  return inputs =>
    anchors.offsetOf(inputs) < SHALLOW ? { query: shallow(inputs), again: never } : deep(inputs)
}

function deepPages(
  shape: GuardedList,
  list: (slice: Slice) => Querier,
  window: PageWindow,
  shapeAnchors: ShapeAnchors,
  connection: Pick<Connection, 'look'>,
): Pages {
  const first = list(fromAnchor(shape, window, true))
  const later = list(fromAnchor(shape, window, false))
  const along = isPlain(shape) ? querier(anchorsSql(shape)) : undefined
  return inputs => {
    const { stamp } = shapeAnchors
    const offset = shapeAnchors.offsetOf(inputs)
    const from = shapeAnchors.of(inputs).before(offset)
    const query = (from === undefined ? first : later)(withSlots(inputs, offset - (from?.offset ?? 0), from))
    const again: ReturnType<Pages>['again'] = (rows, found) => {
      // The process may have read a commit that came after the anchor was taken: then the positions are others.
      connection.look()
      if (shapeAnchors.stamp !== stamp) {
        return from === undefined ? undefined : first(withSlots(inputs, offset, undefined))
      }
      const anchors = shapeAnchors.of(inputs)
      for (const [at, ...position] of found) anchors.add({ offset: Number(at), position })
      remember(anchors, offset, rows)
      return undefined
    }
    return { query, again, along: along?.(slotted([from?.offset ?? 0, from?.position[0] ?? 0, offset])) }
  }
}
